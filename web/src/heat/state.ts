/** Which measures there are, which one columns show, and its values. */

import { computed, effect, signal } from "@preact/signals";
import { load } from "../chunks";
import type { Measure, Points } from "../data";
import type { Document } from "../documents";
import { whenIdle } from "../idle";
import { chains, ptx, sass } from "../panels/state";
import { heat, sideTab } from "../store";
import { type Listed, Values } from "./values";

export const measures = signal<Measure[]>([]);
/** By the number of the measure, once it was asked for. */
const points = signal<ReadonlyMap<number, Points[]>>(new Map());

/** The number of the measure that is shown; -1 for none. What was measured of a run is shown without being asked for. */
export const chosen = computed(() => {
  const title = heat.value;
  return measures.value.findIndex((each) => (title === null ? each.is_static !== true : each.title === title));
});

const listings = computed<Listed[]>(() => [...sass.value, ...ptx.value].flatMap(listed));

function listed({ listing, places, table }: Document): Listed[] {
  return listing === null ? [] : [{ file: listing.file, places, table, classes: listing.classes }];
}

/** By the number of the measure, of the listings and chains that there are. */
const made = computed(() => {
  void [listings.value, chains.value];
  return new Map<number, Values>();
});

/** Null until they are loaded. */
function valuesOf(number: number): Values | null {
  const [measure, found] = [measures.value[number], points.value.get(number)];
  if (measure === undefined || found === undefined) return null;
  if (measure.level !== "line" && listings.value.length === 0) return null;
  const kept = made.value;
  let known = kept.get(number);
  if (known === undefined) kept.set(number, (known = new Values(measure, found, listings.value, chains.value)));
  return known;
}

/** Those of the measure that is shown. */
export const values = computed(() => valuesOf(chosen.value));

/** Those of all measures, as far as they are loaded. */
export const allValues = computed(() => measures.value.map((_, number) => valuesOf(number)).filter((each) => each !== null));

async function need(numbers: readonly number[]): Promise<void> {
  const missing = numbers.filter((number) => !points.peek().has(number));
  if (missing.length === 0) return;
  const found = await Promise.all(missing.map((number) => load<Points[]>(`measure:${number}`)));
  points.value = new Map([...points.peek(), ...missing.map((number, at): [number, Points[]] => [number, found[at] ?? []])]);
}

/** Have the samples loaded. */
export function needSamples(): void {
  void need(measures.peek().flatMap((each, number) => (each.is_sampled === true ? [number] : [])));
}

/** Called once, when the manifest is there. */
export function startHeat(): void {
  whenIdle(() => {
    void load<Measure[]>("measures").then((found) => (measures.value = found ?? []));
  });
  effect(() => {
    if (chosen.value >= 0) void need([chosen.value]);
  });
  effect(() => {
    // The panel shows all numbers of a line.
    if (sideTab.value === "heat") void need(measures.value.map((_, number) => number));
  });
}
