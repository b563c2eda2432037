/** What the panels share: who is selected, and what of the page is loaded for them. */

import { batch, computed, effect, signal } from "@preact/signals";
import { load } from "../chunks";
import type { CallFrame, KernelMix, Layouts, LineHistory, Mix, Place, UserLines } from "../data";
import { type Document, documentOf } from "../documents";
import { whenIdle } from "../idle";
import { chainsOf as chainsOfSide, selectedLine } from "../pair/sides";
import { history, manifest, mode, notice, place, selected, stop, stops, userLine } from "../store";
import { Chains, lineKey, userLineOf } from "./chains";
import { LineIndex } from "./line-index";
import { startRoofline } from "./roofline";

export const userLines = signal<UserLines | null>(null);
export const chains = computed(() => new Chains(userLines.value));
export const layouts = signal<Layouts | null>(null);
export const mix = signal<Mix | null>(null);

/** The document in the middle. */
export const shown = signal<Document | null>(null);
/** Listings, once they are loaded. */
export const ptx = signal<Document[]>([]);
export const sass = signal<Document[]>([]);

/** The place of the operation or instruction that was picked last, with its chains. */
export const picked = signal<{ place: Place; chains: CallFrame[][] } | null>(null);

const indices = new WeakMap<Document, { index: LineIndex; chains: Chains }>();

/** The call chains of the record that a document is of. */
export function chainsOf({ side }: Document): Chains {
  return side === undefined ? chains.value : chainsOfSide[side].value;
}

/** The selected line of the user's in the record that a document is of. */
export function selectedLineOf({ side }: Document): { file: string; line: number } | null {
  return side === undefined ? userLine.value : selectedLine[side].value;
}

/** The index of a document, made when it is first asked for. */
export function indexOf(document: Document): LineIndex {
  const known = indices.get(document);
  const chains = chainsOf(document);
  if (known !== undefined && known.chains === chains) return known.index;
  const { listing } = document;
  const counts = listing?.kind === "sass" ? (line: number) => (listing.classes[line] ?? 0) >= 0 : undefined;
  const index = new LineIndex(document.places, document.table, chains, counts);
  indices.set(document, { index, chains });
  return index;
}

/** The place of a line of a document, null for none. */
export function placeOf(document: Document, line: number): Place | null {
  const number = document.places[line] ?? -1;
  return number >= 0 ? (document.table[number] ?? null) : null;
}

const histories = computed(() => new Map((history.value?.lines ?? []).map((each) => [lineKey(each.file, each.line), each])));

export function historyOf(file: string, line: number): LineHistory | null {
  return histories.value.get(lineKey(file, line)) ?? null;
}

/** Lines of a document that belong to the selected line of the user's. */
export function litLines(document: Document): Int32Array {
  const line = userLine.value;
  return line === null ? new Int32Array(0) : indexOf(document).lines(line.file, line.line);
}

/** Instructions of a line by kind. */
export function instructionsOf(file: string, line: number, documents: readonly Document[]): number {
  let found = 0;
  for (const document of documents) found += indexOf(document).count(file, line);
  return found;
}

/** Counts up when a line was selected outside of the text in the middle, which then goes to what it has there. */
export const asked = signal(0);

/** Select a line of the user's, or with null none; the text in the middle goes to its first lit line. */
export function select(line: { file: string; line: number } | null): void {
  batch(() => {
    userLine.value = line;
    picked.value = null;
    if (line !== null) asked.value++;
  });
}

/** The name of a pass by its number. */
export function passName(index: number): string {
  return manifest.value?.steps.find((step) => step.index === index)?.name ?? (index === 0 ? "the trace" : `pass ${index}`);
}

/** The kernels' instruction counts. */
export const kernels = computed<KernelMix[]>(() => mix.value?.kernels ?? []);

/** How a file is shown: its last part, with more in front of it where two would be the same. */
export function shortName(file: string, among: readonly string[]): string {
  const parts = file.split("/");
  for (let count = 1; count < parts.length; count++) {
    const short = parts.slice(-count).join("/");
    if (among.every((other) => other === file || !other.endsWith(`/${short}`))) return short;
  }
  return file;
}

export const files = computed(() => orderedFiles(userLines.value, manifest.value?.source ?? null));

/** Files that are not the user's own. */
export const library = computed(() => new Set(userLines.value?.library ?? []));

/** Files with a source: the user's own first, of these the kernel's. */
function orderedFiles(lines: UserLines | null, source: string | null): string[] {
  const names = Object.keys(lines?.sources ?? {});
  const own = (source ?? "").replace(/:[^/:]*$/, "");
  const outermost = new Map<string, number>();
  for (const chain of lines?.chains ?? []) {
    const file = chain[chain.length - 1]?.[0];
    if (file !== undefined) outermost.set(file, (outermost.get(file) ?? 0) + 1);
  }
  const rank = (name: string) =>
    own !== "" && (name === own || name.endsWith(`/${own}`) || own.endsWith(`/${name}`))
      ? -Infinity
      : -(outermost.get(name) ?? 0);
  const libraries = new Set(lines?.library ?? []);
  const group = (name: string) => Number(libraries.has(name));
  return names.sort((a, b) => group(a) - group(b) || rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** Load what the panels need, and follow what is picked in the middle. */
export function startPanels(): void {
  // The address may name a line of the source alone.
  if (userLine.peek() !== null && place.peek() === null) asked.value++;
  void load<UserLines>("user-lines").then((found) => (userLines.value = found));
  effect(() => {
    const current = stop.value;
    if (current === null) {
      shown.value = null;
      return;
    }
    void documentOf(current).then((document) => {
      if (stop.peek() === current) shown.value = document;
    });
  });
  whenIdle(() => {
    // Of an unfinished page the chunk may be empty.
    void load<Layouts>("layouts").then((found) => (layouts.value = found?.pictures ? found : null));
    void load<Mix>("mix").then((found) => (mix.value = found));
    startRoofline();
    void loadListings();
  });
  effect(() => {
    const at = place.value;
    if (at !== null) void follow(at.stop, at.line);
  });
}

async function loadListings(): Promise<void> {
  const found: Document[] = [];
  for (const each of stops.peek()) {
    if (each.kind !== "listing") continue;
    const document = await documentOf(each);
    if (document !== null) found.push(document);
  }
  batch(() => {
    ptx.value = found.filter((each) => each.kind === "ptx");
    sass.value = found.filter((each) => each.kind === "sass");
  });
}

let own = false;

/** Show a line (from 0) of a document in the middle, without selecting another line of the user's. */
export function reveal(id: string, line: number, view: "text" | "split" | "unified" = "text"): void {
  own = true;
  batch(() => {
    selected.value = id;
    mode.value = view;
    place.value = { stop: id, line };
  });
}

/** A line of a document was picked: its line of the user's becomes the selected one. */
async function follow(id: string, line: number): Promise<void> {
  if (own) {
    own = false;
    return;
  }
  const each = stops.peek().find((stop) => stop.id === id);
  const document = each ? await documentOf(each) : null;
  if (document === null || place.peek()?.stop !== id || place.peek()?.line !== line) return;
  const found = placeOf(document, line);
  const user = found && userLineOf(found);
  if (found === null || user === null) {
    if (document.table.length > 0) notice.value = "this line belongs to no line of the source";
    return;
  }
  batch(() => {
    userLine.value = user;
    picked.value = { place: found, chains: chains.peek().of(found) };
  });
}
