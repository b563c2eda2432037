/** The linked view: Python, stage and code side by side, what is coloured and what follows. */

import { computed, effect, signal } from "@preact/signals";
import type { Listing } from "../data";
import { leftOpen } from "../layout";
import { lineKey } from "../panels/chains";
import { files, shortName } from "../panels/state";
import { history, stops } from "../store";

/** Whether Python, stage and code stand side by side. */
export const linked = signal(false);
/** Whether every line of Python that has code has a colour, wherever its operations and instructions are. */
export const coloured = signal(false);
/** Whether what one text shows is brought into view in the others. */
export const following = signal(true);

/** The id of the listing on the right; null: the last there is, which is SASS. */
const chosenCode = signal<string | null>(null);
const listings = computed(() => stops.value.filter((each) => each.kind === "listing" && each.chunk !== null));

export const codeStops = listings;
export const codeStop = computed(
  () => listings.value.find((each) => each.id === chosenCode.value) ?? listings.value.at(-1) ?? null,
);

export function chooseCode(id: string | null): void {
  chosenCode.value = id;
}

/** Three columns of code need the room of the list. */
const ROOM = 1500;
let closedList = false;
effect(() => {
  if (linked.value) {
    closedList = leftOpen.peek() && window.innerWidth < ROOM;
    if (closedList) leftOpen.value = false;
  } else if (closedList) {
    leftOpen.value = true;
  }
});

export function toggleLinked(): void {
  linked.value = !linked.value;
}

/** A line of the user's. */
export interface UserLine {
  file: string;
  line: number;
}

/** Colours there are: `--hue-N` and `--hue-edge-N` of `linked.css`. */
const HUES = 8;

/** By line its colour: lines near each other have different ones, and each the same in every stage and listing. */
const hues = computed(() => new Map((history.value?.lines ?? []).map((each, at) => [lineKey(each.file, each.line), at % HUES])));

export function hueOf({ file, line }: UserLine): number {
  return hues.value.get(lineKey(file, line)) ?? line % HUES;
}

/** How a line is called beside code: its number; of another file than the first one, with the file's name. */
export function shortLine({ file, line }: UserLine): string {
  const all = files.value;
  return file === all[0] ? String(line) : `${shortName(file, all).replace(/\.py$/, "").slice(-8)}:${line}`;
}

/** Whether a line of a listing is an instruction; of a stage every line with a place is an operation. */
export function isCode(listing: Listing | null, line: number): boolean {
  return listing?.kind !== "sass" || (listing.classes[line] ?? 0) >= 0;
}
