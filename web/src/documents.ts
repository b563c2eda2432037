/** The texts of stops, parsed; the last few that were looked at are kept. */

import { chunkNames, load } from "./chunks";
import type { Listing, Place, Stage } from "./data";
import { whenIdle } from "./idle";
import type { Side } from "./pair/sides";
import type { Stop } from "./store";

/** A stop's text with the place of every line. */
export interface Document {
  stop: string;
  kind: "mlir" | "ptx" | "sass" | "llvm-ir" | "machine-ir";
  lines: string[];
  /** For each line an index into `table`, -1 for none. Lines count from 0. */
  places: ArrayLike<number>;
  table: Place[];
  /** The listing that it comes from, with instruction classes and functions; null of a stage. */
  listing: Listing | null;
  /** Of two records: whose it is. */
  side?: Side;
}

const MOST_KEPT = 6;
const kept = new Map<string, Promise<Document | null>>();

/** The document of a stop; null where the page does not hold it. */
export function documentOf(stop: Stop): Promise<Document | null> {
  if (stop.chunk === null) return Promise.resolve(null);
  const name = stop.chunk;
  const found = kept.get(name) ?? open(stop, name);
  kept.delete(name);
  kept.set(name, found);
  if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value as string);
  return found;
}

/** What the name of a chunk begins with that is one record's of two, empty where there is one record. */
function prefixOf(chunk: string): "" | "a:" | "b:" {
  return chunk.startsWith("a:") ? "a:" : chunk.startsWith("b:") ? "b:" : "";
}

async function open(stop: Stop, chunk: string): Promise<Document | null> {
  const prefix = prefixOf(chunk);
  const of = prefix === "" ? {} : { side: prefix.charAt(0) as Side };
  if (stop.kind === "listing" || stop.kind === "llvm") {
    const listing = await load<Listing>(chunk);
    if (listing === null) return null;
    const { kind, text, places, table } = listing;
    return { stop: stop.id, kind, lines: text.split("\n"), places, table, listing, ...of };
  }
  const [stage, table] = await Promise.all([load<Stage>(chunk), allPlaces(prefix)]);
  if (stage === null) return null;
  if (stop.row !== null) {
    // The last modules hold the assembler's log, in which no two compilations are the same.
    const text = stage.text.replace(/(Compile time =) [\d.]+ ms/g, "$1 … ms");
    return { stop: stop.id, kind: "mlir", lines: text.split("\n"), places: stage.places, table, listing: null, ...of };
  }
  return { stop: stop.id, kind: "mlir", lines: stage.text.split("\n"), places: stage.places, table, listing: null };
}

const places = new Map<string, Promise<Place[]>>();

/** The places that stages number, over all `places:N` chunks in order. */
export function allPlaces(prefix = ""): Promise<Place[]> {
  const found = places.get(prefix) ?? gather(`${prefix}places:`);
  places.set(prefix, found);
  return found;
}

async function gather(start: string): Promise<Place[]> {
  const numbers = chunkNames()
    .filter((name) => name.startsWith(start))
    .map((name) => Number(name.slice(start.length)))
    .sort((a, b) => a - b);
  const parts = await Promise.all(numbers.map((number) => load<Place[]>(`${start}${number}`)));
  return parts.flatMap((part) => part ?? []);
}

/** Open what a reader is likely to look at next, while the page is idle. */
export function prefetch(stops: readonly Stop[], shown: Stop): void {
  const index = stops.indexOf(shown);
  const near = [stops[index + 1], stops[index - 1]]
    .flatMap((stop) => [stop, stop?.first])
    .filter((stop) => stop?.chunk != null && !kept.has(stop.chunk))
    // A row of two records has a text of each.
    .slice(0, shown.row === null ? 1 : 2);
  if (near.length > 0) whenIdle(() => near.forEach((stop) => void documentOf(stop as Stop)));
}
