/** The middle of the page: a stop's text, or two stops compared. */

import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Registers } from "./diff/registers";
import { type Rows, comparing } from "./diff/rows";
import { inTurns } from "./diff/slices";
import { type Document, documentOf, prefetch } from "./documents";
import { type Comparison, type Side, showSplit, showUnified } from "./editor/comparison";
import { type Narrowed, total } from "./editor/narrowing";
import { type Shown, showText } from "./editor/text";
import { type FunctionRange, functionsOf } from "./functions";
import { chains, litLines } from "./panels/state";
import { pattern } from "./searching";
import { type Spot, goToSpot, spotOf } from "./spot";
import { defaultBase } from "./stops";
import { FIRST, base, foldTypes, manifest, mode, notice, onlyLine, pair, place, selected, shownFunction, stop, stops, type Stop, userLine } from "./store";
import { Toolbar } from "./toolbar";
import { FailureNotice } from "./failure";
import { hasColumns, heads as headings, raw } from "./sass/choices";
import { rowsOf as sassRowsOf, showSass } from "./sass/view";
import { PairOverview } from "./pair/overview";
import { ProofView } from "./proof/view";
import { TimelineView } from "./timeline/view";
import { labelOfFirst, labelOfSecond, whyMissing } from "./pair/labels";
import { PairToolbar } from "./pair/toolbar";

/** Functions of the document that is shown. */
export const functions = signal<FunctionRange[]>([]);
/** Lines that differ in the comparison that is shown, null where there is none. */
export const differences = signal<number | null>(null);
/** Of the lines of the text or rows of the comparison those that are of the selected line; null where all are shown. */
export const narrowed = signal<Narrowed | null>(null);
/** What is shown in place of an editor. */
const message = signal("");
const comparingNow = signal(false);

let shown: Shown | null = null;
let shownDocument: Document | null = null;
let comparison: Comparison | null = null;
/** What the editors show, as `stop|base|mode|function`. */
let showing = "";

/** The comparison on the screen. */
export function currentComparison(): Comparison | null {
  return comparison;
}

/** Put the keyboard into the text. */
export function focusText(): void {
  shown?.views.at(-1)?.focus();
}

export function baseStop(): Stop | null {
  if (pair.value !== null) return stop.value?.first ?? null;
  const chosen = base.value;
  return chosen === null ? defaultBase(stops.value, selected.value) : (stops.value.find((each) => each.id === chosen) ?? null);
}

const MOST_ROWS_KEPT = 3;
const keptRows = new Map<string, Rows>();

/** Undefined when something else was chosen before the comparison ended. */
async function rowsOf(key: string, left: Side, right: Side, wanted: () => boolean): Promise<Rows | undefined> {
  let known = keptRows.get(key);
  if (known === undefined) {
    const size = (side: Side) => side.lines.length.toLocaleString("en");
    const since = performance.now();
    const tell = () => {
      // Most comparisons end before one could read this.
      if (message.value !== "" || performance.now() - since < 80) return;
      message.value = `Comparing ${size(left)} with ${size(right)} lines…`;
      comparingNow.value = true;
    };
    known = await inTurns(
      comparing(left.lines, right.lines, left.document.lines, right.document.lines, registersOf(left, right)),
      wanted,
      tell,
    );
    if (known === undefined) return undefined;
    message.value = "";
    comparingNow.value = false;
  }
  keptRows.delete(key);
  keptRows.set(key, known);
  if (keptRows.size > MOST_ROWS_KEPT) keptRows.delete(keptRows.keys().next().value as string);
  return known;
}

/** The registers of two listings of one kind. */
function registersOf(left: Side, right: Side): [Registers, Registers] | null {
  const of = ({ document: { kind, listing }, lines, offset }: Side): Registers | null =>
    kind === "ptx" || kind === "sass" ? { kind, values: listing?.values?.slice(offset, offset + lines.length) ?? [] } : null;
  const [ours, theirs] = [of(left), of(right)];
  return ours !== null && theirs !== null && ours.kind === theirs.kind ? [ours, theirs] : null;
}

function sideOf(document: Document, range: FunctionRange | undefined, label: string): Side {
  if (range === undefined) return { document, lines: document.lines, offset: 0, label };
  return { document, lines: document.lines.slice(range.first, range.last + 1), offset: range.first, label };
}

function functionOf(document: Document, name: string | null): FunctionRange | undefined {
  return name === null ? undefined : functionsOf(document).find((each) => each.name === name);
}

/** What `range` of one document is in another: the function of that name; of two records, where they name it otherwise, the one in its place. */
function counterpartOf(range: FunctionRange | undefined, document: Document, other: Document): FunctionRange | undefined {
  const found = functionOf(other, range?.name ?? null);
  if (range === undefined || found !== undefined || pair.peek() === null) return found;
  const [own, others] = [functionsOf(document), functionsOf(other)];
  return own.length === others.length ? others[own.findIndex((each) => each.name === range.name)] : undefined;
}

function labelOf(stop: Stop): string {
  if (pair.peek() !== null) return stop.id.startsWith(FIRST) ? labelOfFirst(stop) : labelOfSecond(stop);
  if (stop.kind === "llvm") return `After LLVM's ${stop.title}`;
  return stop.kind === "pass" ? `After pass ${stop.id}, ${stop.title}` : stop.title;
}

/** Where the reader was in the last text that was no comparison. */
let spot: Spot | null = null;

/** What went wrong is said where the text would be; the rest of the page goes on. */
async function updateSafely(host: HTMLElement): Promise<void> {
  try {
    await update(host);
  } catch (failure) {
    console.warn("the text cannot be shown", failure);
    comparingNow.value = false;
    message.value = `This text cannot be shown: ${failure instanceof Error ? failure.message : String(failure)}`;
  }
}

async function update(host: HTMLElement): Promise<void> {
  const chosen = stops.value.find((each) => each.id === selected.value);
  let stop = mode.value === "first" ? (chosen?.first ?? chosen) : chosen;
  let against = mode.value === "text" || mode.value === "first" ? null : baseStop();
  if (against !== null && pair.value !== null && (against.chunk === null || stop?.chunk === null)) {
    // What only one of two records has stands alone.
    if (stop?.chunk === null && against.chunk !== null) stop = against;
    against = null;
  }
  const wanted = [stop?.id, stop?.chunk, against?.id, mode.value, shownFunction.value, raw.value, headings.value].join("|");
  if (wanted === showing) return;
  showing = wanted;
  const [document, other] = await Promise.all([
    stop ? documentOf(stop) : null,
    against && stop && against.chunk !== stop.chunk ? documentOf(against) : null,
  ]);
  // Something else was chosen meanwhile.
  if (showing !== wanted) return;
  if (shown !== null && shownDocument !== null && comparison === null) spot = spotOf(shown, shownDocument);
  shown?.destroy();
  shown = shownDocument = comparison = null;
  differences.value = narrowed.value = null;
  message.value = "";
  comparingNow.value = false;
  // The switches of machine code stay while it is shown anew.
  if (document?.kind !== "sass" || against !== null) hasColumns.value = false;
  if (stop?.kind === "overview" || stop?.kind === "timeline" || stop?.kind === "proof") {
    functions.value = [];
    return;
  }
  if (stop === undefined || document === null) {
    functions.value = [];
    message.value = whyEmpty(stop);
    return;
  }
  functions.value = functionsOf(document);
  const range = functionOf(document, shownFunction.value);
  const side = sideOf(document, range, labelOf(stop));
  if (against !== null && against.chunk === stop.chunk) {
    message.value = `${labelOf(against)} and ${labelOf(stop)}: the same text.`;
    differences.value = 0;
    return;
  }
  if (against !== null && other !== null) {
    const left = sideOf(other, counterpartOf(range, document, other), labelOf(against));
    const key = [against.chunk, stop.chunk, shownFunction.value].join("|");
    const rows = await rowsOf(key, left, side, () => showing === wanted);
    if (rows === undefined) return;
    differences.value = rows.changes;
    const make = mode.value === "split" ? showSplit : showUnified;
    comparison = shown = make(host, left, side, rows, foldTypes.value);
    narrowShown();
    comparison.begin();
    if (rows.changes === 0) notice.value = "No differences besides the names of values";
  } else {
    if (pair.value !== null && (mode.value === "split" || mode.value === "unified"))
      notice.value = whyMissing(chosen as Stop, pair.value);
    else if (mode.value !== "text" && against !== null) notice.value = `This page does not hold the text of ${labelOf(against)}`;
    const lines: [number, number] = [side.offset, side.offset + side.lines.length - 1];
    const columns = document.kind === "sass" ? await sassRowsOf(document, lines) : null;
    if (showing !== wanted) return;
    hasColumns.value = columns !== null;
    shown =
      columns === null || raw.value
        ? showText(host, document, side.label, foldTypes.value, lines)
        : showSass(host, columns, side.label, foldTypes.value);
    narrowShown();
    if (place.peek() === null) goToSpot(shown, document, spot);
  }
  shownDocument = document;
  shown.setPattern(pattern.value);
  reveal();
  prefetch(stops.value, stop);
}

/** Show only what belongs to the selected line, if that is asked for. */
function narrowShown(): void {
  const wanted = onlyLine.value && userLine.value !== null;
  if (shown === null || (!wanted && narrowed.peek() === null)) return;
  const mine = shown.only(wanted ? litLines : null);
  narrowed.value = mine === null ? null : { shown: total(mine), of: mine.length };
}

/** Of the line that was gone to, where its text is on the screen. */
function reveal(): void {
  const wanted = place.peek();
  if (shown === null || wanted === null || wanted.stop !== shownStop()) return;
  shown.reveal(wanted.line, false);
}

function shownStop(): string {
  return mode.peek() === "first" ? FIRST + selected.peek() : selected.peek();
}

function whyEmpty(stop: Stop | undefined): string {
  if (stop === undefined) return "This page holds nothing to show.";
  if (pair.value !== null) return whyMissing(stop, pair.value) || "Neither of the two has this.";
  if (stop.step?.status === "failed") return "This pass failed: there is no module after it.";
  if (manifest.value === null) return "This page was cut off before its data.";
  if (manifest.value.failure?.stage === "trace") return "There is no module: the trace failed.";
  return "This page does not hold this text. It was cut off, or the compilation had not come so far.";
}

export function Viewer() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current as HTMLDivElement;
    const stopUpdating = effect(() => {
      // Read here, so that a change of any of them updates.
      void [stops.value, selected.value, mode.value, base.value, shownFunction.value, raw.value, headings.value];
      void updateSafely(element);
    });
    const stopFolding = effect(() => shown?.setFolding(foldTypes.value));
    const stopMarking = effect(() => {
      const wanted = pattern.value;
      shown?.setPattern(wanted);
    });
    const stopRevealing = effect(() => {
      if (place.value !== null) revealUnlessSeen();
    });
    const stopNarrowing = effect(() => {
      void [onlyLine.value, userLine.value, chains.value];
      narrowShown();
    });
    const leave = () => {
      // Another arrangement of the page makes it anew, at the same place.
      if (shown !== null && shownDocument !== null && comparison === null) spot = spotOf(shown, shownDocument);
      shown?.destroy();
      shown = shownDocument = comparison = null;
      showing = "";
    };
    return () => [leave, stopUpdating, stopFolding, stopMarking, stopRevealing, stopNarrowing].forEach((end) => end());
  }, []);
  const timeline = stop.value?.kind === "timeline" ? stop.value.id : null;
  return (
    <main class="viewer" id="text" aria-label="Module">
      {timeline !== null ? (
        <TimelineView key={timeline} chunk={timeline} />
      ) : stop.value?.kind === "proof" ? (
        <ProofView />
      ) : pair.value === null ? (
        <>
          <Toolbar />
          <FailureNotice alone={message.value !== "" && !comparingNow.value} />
        </>
      ) : (
        <PairToolbar />
      )}
      {stop.value?.kind === "overview" && pair.value !== null && <PairOverview pair={pair.value} />}
      <div class={`editors ${mode.value}`} ref={host} />
      {message.value !== "" && (
        <p class="message" role="status">
          {message.value}
          {comparingNow.value && <progress aria-label="Comparing" />}
        </p>
      )}
    </main>
  );
}

/** A line that was clicked on stays where it is. */
function revealUnlessSeen(): void {
  const wanted = place.value;
  if (shown === null || wanted === null || wanted.stop !== shownStop()) return;
  const focused = shown.views.find((view) => view.hasFocus);
  if (focused === undefined) shown.reveal(wanted.line, false);
}
