/**
 * Texts that follow each other: what the reader's text shows at its caret, or at its top, is brought into view in the
 * others.
 *
 * One text leads at a time, the one that the reader last pointed at, scrolled or typed in. What other texts do, as the
 * scrolling that this causes, moves nothing; so two of them never fight.
 */

import { EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import type { Extension } from "@codemirror/state";
import { signal } from "@preact/signals";
import { lineKey } from "../panels/chains";
import { type UserLine, following, linked } from "./state";

/** What a text knows of lines of the user's; editors' lines count from 1. */
export interface Lines {
  /** The line of the user's that an editor's line belongs to. */
  userLine(number: number): UserLine | null;
  /** The editor's lines of a line of the user's, ascending. */
  linesOf(line: UserLine): number[];
}

/** The line of the user's that all texts show. */
export const tracked = signal<UserLine | null>(null);

interface Pane {
  view: EditorView;
  lines: Lines;
}

const panes = new Set<Pane>();
let leader: Pane | null = null;
let scheduled: "caret" | "top" | null = null;

/** Lines of the screen, besides that at the top, in which a line of the user's is sought. */
const MOST_LINES = 200;

export function isLeading(view: EditorView): boolean {
  return leader?.view === view;
}

/** Editors in one box, as those of a diff, are scrolled together already. */
const isBeside = (a: Pane, b: Pane) => a.view.dom.parentElement === b.view.dom.parentElement;

function schedule(pane: Pane, by: "caret" | "top"): void {
  if (leader !== pane || !linked.peek() || !following.peek()) return;
  if (scheduled === null) requestAnimationFrame(follow);
  // Of a key that moves the caret and scrolls, the caret counts.
  if (scheduled !== "caret") scheduled = by;
}

function follow(): void {
  const by = scheduled;
  scheduled = null;
  if (leader === null || by === null || !panes.has(leader)) return;
  const found = by === "caret" ? atCaret(leader) : fromTop(leader);
  if (found[0] === undefined) return;
  tracked.value = found[0].line;
  for (const pane of panes) {
    const number = isBeside(pane, leader) ? null : counterpart(pane, found);
    if (number !== null) bringIntoView(pane.view, number, by === "caret" ? "center" : "start");
  }
}

/** A line of the user's, and how far through its operations the reader is, from 0 to 1. */
interface Found {
  line: UserLine;
  share: number;
}

/** Where a text has the first of what was found that it has at all: not every line becomes an instruction. */
function counterpart({ lines }: Pane, found: readonly Found[]): number | null {
  for (const { line, share } of found) {
    const numbers = lines.linesOf(line);
    const number = numbers[Math.round(share * (numbers.length - 1))];
    if (number !== undefined) return number;
  }
  return null;
}

function atCaret({ view, lines }: Pane): Found[] {
  return foundAt(lines, view.state.doc.lineAt(view.state.selection.main.head).number);
}

/** The lines of the user's on the screen, from the top, each once. */
function fromTop({ view, lines }: Pane): Found[] {
  const { scrollTop, clientHeight } = view.scrollDOM;
  const at = (height: number) => view.state.doc.lineAt(view.lineBlockAtHeight(height - view.documentPadding.top).from).number;
  const last = Math.min(at(scrollTop + clientHeight), at(scrollTop) + MOST_LINES);
  const found = new Map<string, Found>();
  for (let number = at(scrollTop + 1); number <= last; number++) {
    const line = lines.userLine(number);
    const key = line && lineKey(line.file, line.line);
    if (key === null || found.has(key)) continue;
    for (const each of foundAt(lines, number)) found.set(key, each);
  }
  return [...found.values()];
}

function foundAt(lines: Lines, number: number): Found[] {
  const line = lines.userLine(number);
  if (line === null) return [];
  const all = lines.linesOf(line);
  return [{ line, share: all.length > 1 ? Math.max(0, all.indexOf(number)) / (all.length - 1) : 0 }];
}

/** Scroll to a line, unless all of it is on the screen. */
export function bringIntoView(view: EditorView, number: number, y: "center" | "start"): void {
  if (number < 1 || number > view.state.doc.lines) return;
  const { from } = view.state.doc.line(number);
  const block = view.lineBlockAt(from);
  const top = view.scrollDOM.scrollTop;
  if (block.top >= top && block.bottom <= top + view.scrollDOM.clientHeight) return;
  view.dispatch({ effects: EditorView.scrollIntoView(from, { y, yMargin: 36, x: "start" }) });
}

/** What the reader does with a text. */
const DEEDS = ["wheel", "pointerdown", "touchstart", "keydown", "focusin"];

/** Has an editor follow others, and lead them. */
export function followingPane(lines: (view: EditorView) => Lines): Extension {
  return ViewPlugin.fromClass(
    class {
      private readonly pane: Pane;
      private readonly lead = () => (leader = this.pane);
      private readonly scrolled = () => schedule(this.pane, "top");

      constructor(private readonly view: EditorView) {
        this.pane = { view, lines: lines(view) };
        panes.add(this.pane);
        for (const deed of DEEDS) view.dom.addEventListener(deed, this.lead, { passive: true, capture: true });
        view.scrollDOM.addEventListener("scroll", this.scrolled, { passive: true });
      }

      update(update: ViewUpdate): void {
        if (update.selectionSet && update.view.hasFocus) schedule(this.pane, "caret");
      }

      destroy(): void {
        panes.delete(this.pane);
        if (leader === this.pane) leader = null;
        for (const deed of DEEDS) this.view.dom.removeEventListener(deed, this.lead, { capture: true });
        this.view.scrollDOM.removeEventListener("scroll", this.scrolled);
      }
    },
  );
}
