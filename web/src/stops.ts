/** What of a record can be shown: the traced module, the passes, the listings. */

import type { LlvmIndex, Manifest, Step } from "./data";
import { GENERATION, llvmStops } from "./llvm";
import type { Stop } from "./store";

const LISTINGS: Record<string, { title: string; rank: number }> = {
  "llvm-ir": { title: "LLVM IR", rank: 0 },
  ptx: { title: "PTX", rank: 1 },
  sass: { title: "SASS", rank: 2 },
};
const SUFFIXES: Record<string, string> = { ll: "llvm-ir", ptx: "ptx", sass: "sass" };

/**
 * `chunks` are the names of what the page holds; it may hold less than the manifest speaks of, or no manifest. `llvm` are
 * the passes that ran inside of one.
 */
export function stopsOf(manifest: Manifest | null, chunks: readonly string[], llvm: LlvmIndex | null = null): Stop[] {
  const stages = new Set<number>();
  for (const name of chunks) if (name.startsWith("stage:")) stages.add(Number(name.slice("stage:".length)));
  const steps = new Map<number, Step>((manifest?.steps ?? []).map((step) => [step.index, step]));
  const indices = [...new Set([...stages, ...steps.keys()])].sort((a, b) => a - b);
  const found: Stop[] = [];
  let chunk: string | null = null;
  if (indices[0] !== 0) indices.unshift(0);
  for (const index of indices) {
    const step = steps.get(index) ?? null;
    if (stages.has(index)) chunk = `stage:${index}`;
    // Changed, but the page was cut off before it: an earlier module is not what this pass left.
    else if (step?.changed === true && step.status === "ok") chunk = null;
    found.push({
      id: String(index),
      kind: index === 0 ? "traced" : "pass",
      title: index === 0 ? "traced module" : (step?.name ?? `pass ${index}`),
      step,
      chunk: step?.status === "failed" && !stages.has(index) ? null : chunk,
      first: null,
      row: null,
    });
    if (llvm !== null && step?.name === GENERATION) found.push(...llvmStops(llvm, index));
  }
  const listings = listingsOf(manifest, chunks);
  for (const { name, title, file } of listings) {
    const several = listings.filter((each) => each.title === title).length > 1;
    const shown = several ? `${title} ${file}` : title;
    found.push({ id: name, kind: "listing", title: shown, step: null, chunk: name, first: null, row: null });
  }
  found.push(...timelineStops(chunks));
  if (chunks.includes("proof")) found.push({ id: "proof", kind: "proof", title: "Proof", step: null, chunk: null, first: null, row: null });
  return found;
}

function timelineStops(chunks: readonly string[]): Stop[] {
  const names = chunks.filter((name) => name.startsWith("timeline:"));
  return names.map((id, number) => {
    const title = names.length === 1 ? "Timeline" : `Timeline ${number + 1}`;
    return { id, kind: "timeline", title, step: null, chunk: null, first: null, row: null };
  });
}

/** The listings among `chunks`, in their order: what a file is called there, and what it is. */
export function listingsOf(manifest: Manifest | null, chunks: readonly string[]): { file: string; name: string; title: string }[] {
  return chunks
    .filter((name) => name.startsWith("listing:"))
    .map((name) => {
      const file = name.slice("listing:".length);
      const kind = manifest?.artifacts.find((each) => each.file === file)?.kind;
      const known = LISTINGS[kind ?? SUFFIXES[file.slice(file.lastIndexOf(".") + 1)] ?? ""];
      return { file, name, title: known?.title ?? file, rank: known?.rank ?? 3 };
    })
    .sort((a, b) => a.rank - b.rank);
}

/** What a stop is compared with when nothing else was chosen: the module before the pass; nothing for a listing. */
export function defaultBase(stops: readonly Stop[], id: string): Stop | null {
  const index = stops.findIndex((stop) => stop.id === id);
  const own = stops[index];
  if (own === undefined || own.kind === "listing") return null;
  if (own.llvm !== undefined) return stops.find((each) => each.id === own.llvm?.base) ?? null;
  return stops.slice(0, index).findLast((each) => each.kind !== "llvm") ?? null;
}

/** Every stop with a text of its own: of two records that of the first, and that of the second. */
export function textsOf(stops: readonly Stop[]): Stop[] {
  return stops.flatMap((stop) => (stop.first === null ? [stop] : [stop.first, stop]));
}
