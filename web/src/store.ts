/** What is shown: signals that the components read, and the few actions that change several of them at once. */

import { computed, signal } from "@preact/signals";
import type { History, LlvmRow, Manifest, Step, Verdict } from "./data";
import type { Pair, PassPair } from "./pair/data";

/**
 * Something with lines that the middle of the page can show: a module after a pass, or a listing.
 * `id` is `"0"` for the traced module, `"12"` for the module after pass 12, `"listing:FILE"` for a listing,
 * `"timeline:0"` for a timeline, and `"proof"` for proofs, which have no text,
 * `"49.07"` for the code after the seventh of LLVM's passes, `"49.00"` for that before them, that ran in pass 49. Of two records
 * (`pair/rows.ts`) it is what both have there: `chunk` is the second one's, and `first` the same of the first one.
 */
export interface Stop {
  id: string;
  kind: "traced" | "pass" | "llvm" | "listing" | "overview" | "timeline" | "proof";
  title: string;
  /** Of a pass. */
  step: Step | null;
  /** The chunk that holds the text, null where the page has none: of a pass that changed nothing, an earlier one's. */
  chunk: string | null;
  /** Of two records: what the first one has there. */
  first: Stop | null;
  /** Of two records: how the pass went in both; null for what is no pass, and always on the page of one record. */
  row: PassPair | null;
  /** Of a pass of LLVM; `base` is the id of the stop with the code before it, `partly` as in the index. */
  llvm?: LlvmRow & { base: string | null; partly: boolean };
}

/** Two records side by side, where the page is of two. */
export const pair = signal<Pair | null>(null);

export const manifest = signal<Manifest | null>(null);

/** What to know first; a page that grows has none yet. */
export const verdict = signal<Verdict | null>(null);

/** The traced module, the passes, the listings, in order. */
export const stops = signal<Stop[]>([]);

/** Id of the stop that is shown. */
export const selected = signal("0");

export const stop = computed(() => stops.value.find((each) => each.id === selected.value) ?? null);

/** How the middle shows it: alone, or against another one. Of two records, `first` is the first one's text. */
export const mode = signal<Mode>("text");
export type Mode = "first" | "text" | "split" | "unified";

/** How it is shown when nothing else is chosen. */
export const usualMode = computed<Mode>(() => (pair.value === null ? "text" : "split"));

/** Id of the stop to compare with; null: the one before. */
export const base = signal<string | null>(null);

/** Name of the function (kernel) that is shown, null for the whole module. */
export const shownFunction = signal<string | null>(null);

/** A line that someone clicked on or went to: `line` counts from 0 in the text of `stop`. Scrolled to when it changes. */
export const place = signal<{ stop: string; line: number } | null>(null);

/** The user's line that everything else follows, `line` from 1; of two records it is the second one's, unless `side` says otherwise. */
export const userLine = signal<{ file: string; line: number; side?: "a" | "b" } | null>(null);

/** The operation that is followed: its line, from 0, of the module after pass `stage`. */
export const value = signal<{ stage: number; line: number } | null>(null);

/** Whether only what belongs to the selected line is shown of a text or a diff. */
export const onlyLine = signal(false);

/** Which tab of the details is open. */
export const sideTab = signal<SideTab>("history");
export const SIDE_TABS = ["history", "value", "heat", "instructions", "resources", "remarks", "functions"] as const;
export type SideTab = (typeof SIDE_TABS)[number];

/** Title of the measure that columns show, `""` for none; null: nobody chose yet. */
export const heat = signal<string | null>(null);

export const filter = signal("");
/** Whose files and lines are listed. */
export const whose = signal<"all" | "mine" | "library">("all");
export const hideUnchanged = signal(false);
/** Whether the list leaves out LLVM's own passes. */
export const hideLlvm = signal(false);
/** CuTe types folded. */
export const foldTypes = signal(true);
export const theme = signal<"system" | "light" | "dark">("system");

/** What the history panel and the pass list share; loaded behind the first paint. */
export const history = signal<History | null>(null);

/** A short message in the status line, for people and screen readers. */
export const notice = signal("");

/** Show `line` (from 0) of the stop `id`; of two records, `first:ID` is what the first one has there. */
export function goTo(id: string, line: number): void {
  const isFirst = id.startsWith(FIRST);
  selected.value = isFirst ? id.slice(FIRST.length) : id;
  mode.value = isFirst ? "first" : "text";
  place.value = { stop: id, line };
}

/** What the ids of stops of the first of two records begin with. */
export const FIRST = "first:";
