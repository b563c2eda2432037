/** The middle of the page: a stop's text, or two stops compared. */

import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type Rows, compare } from "./diff/rows";
import { type Document, documentOf, prefetch } from "./documents";
import { type Comparison, type Side, showSplit, showUnified } from "./editor/comparison";
import { type Shown, showText } from "./editor/text";
import { type FunctionRange, functionsOf } from "./functions";
import { pattern } from "./searching";
import { defaultBase } from "./stops";
import { base, foldTypes, manifest, mode, notice, place, selected, shownFunction, stops, type Stop } from "./store";
import { Toolbar } from "./toolbar";
import { FailureNotice } from "./failure";

/** Functions of the document that is shown. */
export const functions = signal<FunctionRange[]>([]);
/** Lines that differ in the comparison that is shown, null where there is none. */
export const differences = signal<number | null>(null);
/** What is shown in place of an editor. */
const message = signal("");

let shown: Shown | null = null;
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
  const chosen = base.value;
  return chosen === null ? defaultBase(stops.value, selected.value) : (stops.value.find((each) => each.id === chosen) ?? null);
}

/** Comparing more than these, on both sides together, takes long enough to say so. */
const MANY_LINES = 30_000;
const MOST_ROWS_KEPT = 3;
const keptRows = new Map<string, Rows>();

function rowsOf(key: string, left: Side, right: Side): Rows {
  const known = keptRows.get(key) ?? compare(left.lines, right.lines, left.document.lines, right.document.lines);
  keptRows.delete(key);
  keptRows.set(key, known);
  if (keptRows.size > MOST_ROWS_KEPT) keptRows.delete(keptRows.keys().next().value as string);
  return known;
}

function sideOf(document: Document, name: string | null, label: string): Side {
  const range = name === null ? undefined : functionsOf(document).find((each) => each.name === name);
  if (range === undefined) return { document, lines: document.lines, offset: 0, label };
  return { document, lines: document.lines.slice(range.first, range.last + 1), offset: range.first, label };
}

function labelOf(stop: Stop): string {
  return stop.kind === "pass" ? `After pass ${stop.id}, ${stop.title}` : stop.title;
}

async function update(host: HTMLElement): Promise<void> {
  const stop = stops.value.find((each) => each.id === selected.value);
  const against = mode.value === "text" ? null : baseStop();
  const wanted = [stop?.id, stop?.chunk, against?.id, mode.value, shownFunction.value].join("|");
  if (wanted === showing) return;
  showing = wanted;
  const [document, other] = await Promise.all([
    stop ? documentOf(stop) : null,
    against && stop && against.chunk !== stop.chunk ? documentOf(against) : null,
  ]);
  // Something else was chosen meanwhile.
  if (showing !== wanted) return;
  const top = shown === null ? null : topLine(shown);
  shown?.destroy();
  shown = comparison = null;
  differences.value = null;
  message.value = "";
  if (stop === undefined || document === null) {
    functions.value = [];
    message.value = whyEmpty(stop);
    return;
  }
  functions.value = functionsOf(document);
  const side = sideOf(document, shownFunction.value, labelOf(stop));
  if (against !== null && against.chunk === stop.chunk) {
    message.value = `${labelOf(against)} and ${labelOf(stop)}: the same text.`;
    differences.value = 0;
    return;
  }
  if (against !== null && other !== null) {
    const left = sideOf(other, shownFunction.value, labelOf(against));
    const key = [against.chunk, stop.chunk, shownFunction.value].join("|");
    if (!keptRows.has(key) && left.lines.length + side.lines.length > MANY_LINES) {
      message.value = "Comparing…";
      // Let this be seen, and let go of it where the reader has moved on.
      await new Promise((resolve) => setTimeout(resolve, 40));
      if (showing !== wanted) return;
      message.value = "";
    }
    const rows = rowsOf(key, left, side);
    differences.value = rows.changes;
    const make = mode.value === "split" ? showSplit : showUnified;
    comparison = shown = make(host, left, side, rows, foldTypes.value);
    if (rows.changes === 0) notice.value = "No differences besides the names of values";
  } else {
    if (mode.value !== "text" && against !== null) notice.value = `This page does not hold the text of ${labelOf(against)}`;
    shown = showText(host, document, side.label, foldTypes.value, [side.offset, side.offset + side.lines.length - 1]);
    scrollTo(shown, top);
  }
  shown.setPattern(pattern.value);
  reveal();
  prefetch(stops.value, stop);
}

/** The line at the top of the text, from 1, to stay there in the next one; null at its beginning. */
function topLine(current: Shown): number | null {
  const view = current.views[0];
  if (view === undefined || comparison !== null || view.scrollDOM.scrollTop < 4) return null;
  const block = view.lineBlockAtHeight(view.scrollDOM.scrollTop - view.documentPadding.top);
  return view.state.doc.lineAt(block.from).number;
}

function scrollTo(current: Shown, line: number | null): void {
  const view = current.views[0];
  if (view === undefined || line === null || place.peek() !== null || line > view.state.doc.lines) return;
  view.scrollDOM.scrollTop = view.lineBlockAt(view.state.doc.line(line).from).top;
}

function reveal(): void {
  const wanted = place.peek();
  if (shown === null || wanted === null || wanted.stop !== selected.peek()) return;
  shown.reveal(wanted.line, false);
}

function whyEmpty(stop: Stop | undefined): string {
  if (stop === undefined) return "This page holds nothing to show.";
  if (stop.step?.status === "failed") return "This pass failed: there is no module after it.";
  if (manifest.value === null) return "This page was cut off before its data.";
  return "This page does not hold this text. It was cut off, or the compilation had not come so far.";
}

export function Viewer() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current as HTMLDivElement;
    const stopUpdating = effect(() => {
      // Read here, so that a change of any of them updates.
      void [stops.value, selected.value, mode.value, base.value, shownFunction.value];
      void update(element);
    });
    const stopFolding = effect(() => shown?.setFolding(foldTypes.value));
    const stopMarking = effect(() => {
      const wanted = pattern.value;
      shown?.setPattern(wanted);
    });
    const stopRevealing = effect(() => {
      if (place.value !== null) revealUnlessSeen();
    });
    return () => [stopUpdating, stopFolding, stopMarking, stopRevealing].forEach((end) => end());
  }, []);
  return (
    <main class="viewer" id="text" aria-label="Module">
      <Toolbar />
      <FailureNotice />
      <div class={`editors ${mode.value}`} ref={host} />
      {message.value !== "" && (
        <p class="message" role="status">
          {message.value}
        </p>
      )}
    </main>
  );
}

/** A line that was clicked on stays where it is. */
function revealUnlessSeen(): void {
  const wanted = place.value;
  if (shown === null || wanted === null || wanted.stop !== selected.peek()) return;
  const focused = shown.views.find((view) => view.hasFocus);
  if (focused === undefined) shown.reveal(wanted.line, false);
}
