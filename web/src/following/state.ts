/** The value that is followed, and what the page knows of it. */

import { batch, computed, effect, signal } from "@preact/signals";
import { load } from "../chunks";
import type { Place, Stage } from "../data";
import { type Document, allPlaces } from "../documents";
import { becomesCode } from "../panels/fate";
import { historyOf, ptx, reveal, sass } from "../panels/state";
import { openSide } from "../layout";
import { notice, selected, sideTab, stop, stops, type Stop, value } from "../store";
import { userLineOf } from "../panels/chains";
import { type Chain, chainOf } from "./chain";
import { Linked, type Links } from "./links";

/** What became of the value; null where none is followed, or while it is worked out. */
export const chain = signal<Chain | null>(null);

/** The pass that left the text of a stop; null of a listing. */
export function stageOf({ chunk }: Stop): number | null {
  return chunk?.startsWith("stage:") === true ? Number(chunk.slice("stage:".length)) : null;
}

/** The passes that changed the module, 0 for the traced one. */
const stages = computed(() => [...new Set(stops.value.map(stageOf))].filter((each) => each !== null));

const known = new Map<number, Linked | null>();

async function loadLinks(): Promise<void> {
  for (const step of stages.peek()) {
    if (known.has(step)) continue;
    const links = await load<Links>(`links:${step}`);
    known.set(step, links === null ? null : new Linked(links));
  }
}

/** Where the value's instructions are, and how they are known. */
export interface Instructions {
  document: Document;
  lines: number[];
  /** Other operations of the last module that are of the same place: their instructions are not told apart. */
  others: number;
}

interface End {
  /** Of the value in the last module that has it: those of its own line, if any are. */
  own: Place[];
  /** The places of that module's operations. */
  places: Place[];
  /** The pass that took it out of the module; null where it is in the last one. */
  step: number | null;
  /** How many operations it was. */
  count: number;
}

/** Of the last operations that the value was, as code generation saw them. */
const end = signal<End | null>(null);

/** The pass that made code of the value; null where none did. */
export const codeStep = computed(() => {
  const last = end.value;
  const user = last?.own[0] && userLineOf(last.own[0]);
  const line = user && historyOf(user.file, user.line);
  const event = line?.events.find((each) => each.step === last?.step);
  return line && event && becomesCode(line, event) ? event.step : null;
});

/** The value's instructions, by listing. */
export const instructions = computed<Instructions[]>(() => {
  const last = end.value;
  if (last === null || (last.step !== null && codeStep.value === null)) return [];
  return [...ptx.value, ...sass.value].map((document) => {
    const key = samePlace(document.kind !== "sass");
    const wanted = new Set(last.own.map(key));
    const operations = last.places.filter((each) => wanted.has(key(each))).length;
    return { document, lines: linesAt(document, key, wanted), others: Math.max(0, operations - last.count) };
  });
});

/** What places are compared by; SASS has no columns. */
const samePlace = (withColumns: boolean) => (place: Place) =>
  JSON.stringify(withColumns ? place : place.map(([file, line]) => [file, line]));

function linesAt({ kind, table, places, listing }: Document, key: (place: Place) => string, wanted: ReadonlySet<string>): number[] {
  const numbers = new Set([...table.keys()].filter((each) => wanted.has(key(table[each] as Place))));
  const found: number[] = [];
  for (let line = 0; line < places.length; line++)
    if (numbers.has(places[line] as number) && (kind !== "sass" || (listing?.classes[line] ?? 0) >= 0)) found.push(line);
  return found;
}

/** Lines of a document that are the value. */
export function valueLines({ stop: id }: Document): readonly number[] {
  if (chain.value === null) return [];
  const found = stops.value.find((each) => each.id === id);
  const stage = found === undefined ? null : stageOf(found);
  if (stage !== null) return chain.value.lines.get(stage) ?? [];
  return instructions.value.find((each) => each.document.stop === id)?.lines ?? [];
}

/** Follow what the line `line` (from 0) of the stop `id` makes. */
export function follow(id: string, line: number): void {
  const found = stops.peek().find((each) => each.id === id);
  const stage = found === undefined ? null : stageOf(found);
  if (stage === null) {
    notice.value = "values are followed from a stage: put the caret on an operation of one";
    return;
  }
  batch(() => {
    value.value = { stage, line };
    sideTab.value = "value";
    openSide(true);
  });
}

export function unfollow(): void {
  value.value = null;
}

/** Show the value where the next pass, or the one before, did something to it. */
export function stepValue(by: 1 | -1): void {
  const current = chain.peek();
  if (current === null) {
    notice.value = "no value is followed: v follows that of the caret's line";
    return;
  }
  const here = positionOf(stop.peek());
  const isEvent = (step: number) =>
    current.links.some((link) => link.step === step && link.happened.some((each) => each.kind !== "unchanged"));
  const first = Math.min(...current.lines.keys());
  const ends = stops.peek().filter((each) => {
    const stage = stageOf(each);
    if (stage === null) return instructions.peek().some((one) => one.document.stop === each.id && one.lines.length > 0);
    return each.id === String(stage) && (stage === first || isEvent(stage)) && (current.lines.get(stage)?.length ?? 0) > 0;
  });
  const next = by > 0 ? ends.find((each) => positionOf(each) > here) : ends.findLast((each) => positionOf(each) < here);
  if (next === undefined) notice.value = by > 0 ? "this is the value's end" : "this is where the value begins";
  else showValue(next);
}

const positionOf = (wanted: Stop | null) => (wanted === null ? -1 : stops.peek().indexOf(wanted));

/** Show a stop at the value. */
export function showValue(wanted: Stop, view: "text" | "unified" = "text"): void {
  const stage = stageOf(wanted);
  const lines =
    stage === null
      ? instructions.peek().find((each) => each.document.stop === wanted.id)?.lines
      : chain.peek()?.lines.get(stage);
  const line = lines?.[0];
  if (line === undefined) selected.value = wanted.id;
  else reveal(wanted.id, line, view);
  notice.value = `${wanted.title}: ${lines?.length ?? 0} lines of the value`;
}

/** The texts of the value's operations after a pass, each once it is read: a module may have 37,000 lines. */
export async function textsOf(stage: number, lines: readonly number[]): Promise<string[]> {
  const found = await load<Stage>(`stage:${stage}`);
  const all = found?.text.split("\n") ?? [];
  return lines.map((line) => all[line]?.trim() ?? "");
}

async function findChain(stage: number, line: number): Promise<void> {
  await loadLinks();
  if (value.peek()?.stage !== stage || value.peek()?.line !== line) return;
  const found = chainOf(stages.peek(), stage, line, (step) => known.get(step) ?? null);
  chain.value = found;
  const last = [...found.lines.keys()].filter((each) => found.lines.get(each)?.length).sort((a, b) => a - b).at(-1);
  const ended = last === undefined ? null : await endOf(last, found, { stage, line });
  if (chain.peek() === found) end.value = ended;
}

/** What of the value there is last; null where that has no place. */
async function endOf(last: number, found: Chain, { stage, line }: { stage: number; line: number }): Promise<End | null> {
  const [text, start, table] = await Promise.all([load<Stage>(`stage:${last}`), load<Stage>(`stage:${stage}`), allPlaces()]);
  const placesOf = (of: Stage | null, lines: readonly number[]) => lines.flatMap((each) => [table[of?.places[each] ?? -1] ?? []].filter((place) => place.length > 0));
  const lines = found.lines.get(last) ?? [];
  const all = placesOf(text, lines);
  if (text === null || all.length === 0) return null;
  const keyOf = (place: Place) => JSON.stringify(userLineOf(place));
  const [first] = placesOf(start, [line]);
  const own = all.filter((place) => first !== undefined && keyOf(place) === keyOf(first));
  const places = text.places.filter((number) => number >= 0).map((number) => table[number] as Place);
  const ends = found.links.find((link) => link.after.length === 0);
  return { own: own.length > 0 ? own : all, places, step: ends?.step ?? null, count: own.length > 0 ? own.length : lines.length };
}

/** Called once: the chain follows the value. */
export function startFollowing(): void {
  effect(() => {
    const wanted = value.value;
    chain.value = end.value = null;
    if (wanted !== null && stages.value.includes(wanted.stage)) void findChain(wanted.stage, wanted.line);
  });
}
