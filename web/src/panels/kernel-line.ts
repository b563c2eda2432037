/** Where in a file the kernel begins whose module is shown. */

import type { Text } from "@codemirror/state";
import type { Document } from "../documents";
import { functionsOf } from "../functions";
import type { Chains } from "./chains";

/** Operations of the kernel that are asked for the function that they come from. */
const MOST = 400;

/** The line, from 1, of the decorator or the `def` of the kernel; null where the file has none of it. */
export function kernelLine(shown: Document | null, chains: Chains, file: string, text: Text): number | null {
  const kernel = shown === null ? undefined : functionsOf(shown).find((each) => each.kernel);
  if (shown === null || kernel === undefined) return null;
  const counts = new Map<number, number>();
  const known = new Map<number, number | null>();
  for (let line = kernel.first + 1; line <= Math.min(kernel.last, kernel.first + MOST); line++) {
    const place = shown.places[line] ?? -1;
    if (place < 0) continue;
    let start = known.get(place);
    if (start === undefined) {
      const outermost = chains.of(shown.table[place] ?? [])[0]?.at(-1);
      start = outermost?.[0] === file ? definitionOf(text, outermost[1]) : null;
      known.set(place, start);
    }
    if (start !== null) counts.set(start, (counts.get(start) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? null;
}

const indent = (line: string) => /^\s*/.exec(line)?.[0].length ?? 0;

/** The first line of the outermost function around a line, decorators included; null outside of all. */
function definitionOf(text: Text, line: number): number | null {
  if (line > text.lines) return null;
  let depth = indent(text.line(line).text);
  let found: number | null = null;
  for (let number = line; number >= 1 && depth > 0; number--) {
    const { text: each } = text.line(number);
    // The end of a signature over several lines is as far in as its `def`.
    if (each.trim() === "" || indent(each) >= depth || /^\s*[)\]#]/.test(each)) continue;
    depth = indent(each);
    if (/^\s*(?:async\s+)?def\s/.test(each)) found = number;
  }
  if (found === null) return null;
  while (found > 1 && text.line(found - 1).text.trim().startsWith("@")) found--;
  return found;
}
