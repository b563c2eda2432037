/** How often code has what one operation became: unrolled, or in parts. */

import type { Document } from "../documents";

const COPIES = /^×(\d+)$/;
const OPCODE = /^(?:\/\*\w+\*\/\s*)?(?:@!?[\w%]+\s+)?(\S+)/;

/** By opcode, of so many of these lines' instructions as are copies; the most first. */
export function copiesOf({ lines, listing }: Document, numbers: Iterable<number>): [opcode: string, copies: number][] {
  const found = new Map<string, number>();
  for (const number of numbers) {
    const copies = COPIES.exec(listing?.detail_names?.[listing.details?.[number] ?? -1] ?? "");
    const opcode = OPCODE.exec((lines[number] ?? "").trim())?.[1]?.replace(/;$/, "");
    if (copies !== null && opcode !== undefined) found.set(opcode, Math.max(found.get(opcode) ?? 0, Number(copies[1])));
  }
  return [...found].sort(([, a], [, b]) => b - a);
}
