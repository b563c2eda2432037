/** What became of a line that has nothing in the text that is shown. */

import type { Copies, HistoryEvent, LineHistory } from "../data";

/**
 * In words why a line has no operation after pass `step` (null: in PTX and SASS); empty where nothing is known of it.
 * `name` gives a pass's name by its number.
 */
export function fateOf(history: LineHistory | null, step: number | null, name: (step: number) => string): string {
  if (history === null) return "";
  const unrolled = history.copies?.find((each) => each.body !== undefined && isThere(each, step));
  if (unrolled !== undefined) return unrolledBy(unrolled, name);
  const events = history.events.filter((event) => step === null || event.step <= step);
  const last = events.findLast((event) => event.after === 0 && event.before > 0);
  if (last !== undefined && events.every((event) => event.step <= last.step || event.after === 0)) {
    const by = name(last.step);
    if (becomesCode(history, last)) return `turned into code by ${by}`;
    if (last.kind === "merged") return `merged into other operations by ${by}`;
    return `${last.kind === "removed" ? "removed" : "folded away"} by ${by}`;
  }
  const first = history.events[0];
  if (history.traced === 0 && first?.kind === "appeared" && step !== null && step < first.step)
    return `comes with ${name(first.step)}`;
  if (step === null && history.traced > 0) return "its operations became no instructions of their own";
  return "";
}

/** Whether a line's operations leave the module in an event because they are code from there on. */
export function becomesCode(history: LineHistory, event: HistoryEvent): boolean {
  return event.after === 0 && event === history.events.at(-1) && history.ptx + history.sass > 0;
}

/** Whether copies are in the module after pass `step`; null: in PTX and SASS. */
function isThere({ by, step: made }: Copies, step: number | null): boolean {
  return step === null || by === "trace" || (by === "pass" && (made ?? 0) <= step);
}

/** In words how many copies there are, and who made them. */
export function unrolledBy({ by, times, step }: Copies, name: (step: number) => string): string {
  // Counts of code say no more than that: what is left over of a loop counts, and ptxas takes several for one.
  if (by === "LLVM") return `there ×${times} in PTX, as turns of its loop`;
  if (by === "ptxas") return `there ×${times} in SASS, as turns of its loop or several for one`;
  return `unrolled ×${times} by ${by === "pass" ? name(step ?? 0) : "the trace"}`;
}
