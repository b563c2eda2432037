/** What of two records can be shown: how they compare, every pass of either, and their code. */

import { listingsOf } from "../stops";
import { FIRST, type Stop } from "../store";
import type { Pair, PassRun } from "./data";

export const OVERVIEW = "overview";

/** `chunks` are the names of what the page holds; it may hold less than the comparison speaks of. */
export function rowsOfPair(pair: Pair, chunks: readonly string[]): Stop[] {
  const [ours, theirs] = [stagesOf("a", chunks), stagesOf("b", chunks)];
  const overview: Stop = { id: OVERVIEW, kind: "overview", title: "Overview", step: null, chunk: null, first: null, row: null };
  const passes = pair.passes.map((row): Stop => {
    const { a, b } = row;
    const id = `${a?.index ?? ""}-${b?.index ?? ""}`;
    const kind = (a ?? b)?.index === 0 ? "traced" : "pass";
    const stop = (run: PassRun | null, chunk: string | null): Stop => ({
      id,
      kind,
      title: kind === "traced" ? "traced module" : (run?.selector ?? ""),
      step: null,
      chunk,
      first: null,
      row,
    });
    const first = { ...stop(a ?? b, chunkOf("a", a, ours)), id: FIRST + id };
    return { ...stop(b ?? a, chunkOf("b", b, theirs)), first };
  });
  return [overview, ...passes, ...listings(chunks)];
}

/** The positions of the passes after which the page has a module. */
function stagesOf(side: "a" | "b", chunks: readonly string[]): number[] {
  const start = `${side}:stage:`;
  return chunks
    .filter((name) => name.startsWith(start))
    .map((name) => Number(name.slice(start.length)))
    .sort((m, n) => m - n);
}

/** The chunk of the module after a pass: of one that changed nothing, an earlier one's. */
function chunkOf(side: "a" | "b", run: PassRun | null, stages: readonly number[]): string | null {
  if (run === null || run.state === "failed" || run.state === "not run") return null;
  const last = stages.findLast((index) => index <= run.index);
  // A page that was cut off: an earlier module is not what this pass left.
  if (last === undefined || (last < run.index && run.state === "changed")) return null;
  return `${side}:stage:${last}`;
}

/** Code of the same kind stands beside each other, in its order. */
function listings(chunks: readonly string[]): Stop[] {
  const of = (side: "a" | "b") =>
    listingsOf(null, chunks.filter((name) => name.startsWith(`${side}:listing:`)).map((name) => name.slice(2)));
  const [ours, theirs] = [of("a"), of("b")];
  const titles = [...new Set([...ours, ...theirs].map((each) => each.title))];
  return titles.flatMap((title) => {
    const [left, right] = [ours, theirs].map((side) => side.filter((each) => each.title === title)) as [typeof ours, typeof ours];
    const count = Math.max(left.length, right.length);
    return Array.from({ length: count }, (_, i): Stop => {
      const name = count > 1 ? `${title} ${i + 1}` : title;
      const id = `listing:${name}`;
      const stop = (chunk: string | null): Stop => ({ id, kind: "listing", title: name, step: null, chunk, first: null, row: null });
      const [a, b] = [left[i], right[i]];
      return { ...stop(b ? `b:${b.name}` : null), first: { ...stop(a ? `a:${a.name}` : null), id: FIRST + id } };
    });
  });
}
