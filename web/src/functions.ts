/** Kernels and functions in a document. */

import type { Document } from "./documents";

export interface FunctionRange {
  name: string;
  /** Lines from 0, the last one included. */
  first: number;
  last: number;
  kernel: boolean;
}

const HEAD = /^( *)(cuda\.kernel|gpu\.func|func\.func|llvm\.func) (?:[a-z_]+ )*@("[^"]*"|[\w.$-]+)\(.*\{$/;

export function functionsOf(document: Document): FunctionRange[] {
  if (document.listing !== null)
    return document.listing.functions.map((each) => ({ ...each, kernel: true }));
  if (document.kind !== "mlir") return [];
  const found: FunctionRange[] = [];
  const { lines } = document;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    // Most lines are operations: cheap checks first.
    if (!line.endsWith("{") || !line.includes("@")) continue;
    const head = HEAD.exec(line);
    if (head === null) continue;
    const end = `${head[1]}}`;
    let last = i + 1;
    while (last < lines.length && !(lines[last] as string).startsWith(end)) last++;
    const name = (head[3] as string).replace(/^"|"$/g, "");
    const kernel = head[2] === "cuda.kernel" || / (?:gpu|nvvm|cuda)\.kernel\b|nvvm\.kernel/.test(line);
    found.push({ name, first: i, last: Math.min(last, lines.length - 1), kernel });
    i = last;
  }
  return found;
}
