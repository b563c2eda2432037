/** Lines of a stage or listing and the user's source: lit lines, marks at the scrollbar, call chains on hover. */

import { type Extension, Prec, RangeSetBuilder, StateEffect } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  type PluginValue,
  ViewPlugin,
  type ViewUpdate,
  hoverTooltip,
  keymap,
} from "@codemirror/view";
import { effect, untracked } from "@preact/signals";
import type { Document } from "./documents";
import { documentLine, editorLine } from "./editor/lines";
import { openLine } from "./editor/unchanged";
import { visibleLines } from "./editor/visible";
import { valueMarks } from "./following/marks";
import { follow, startFollowing, stepValue } from "./following/state";
import { chainTooltip } from "./panels/chain-tooltip";
import { documentLines } from "./linked/colours";
import { asked, chainsOf, indexOf, placeOf, reveal, select, selectedLineOf, startPanels } from "./panels/state";
import { layoutLinks, openLayoutAtCaret } from "./pictures/links";
import { mode, notice, pair, place, shownFunction, userLine } from "./store";
import "./linking.css";

/** Called once, when the manifest is there. */
export function startLinking(): void {
  startPanels();
  startFollowing();
  window.addEventListener("keydown", onKeyDown, { capture: true });
}

/** What every editor of a stop carries besides its own: lit lines, hover, pictures of layouts. */
export function linkingExtensions(document: Document): Extension {
  return [
    litLines(document),
    documentLines(document),
    hoverTooltip(
      (view, position, side) => {
        const line = view.state.doc.lineAt(position);
        if ((position === line.from && side < 0) || position > line.to) return null;
        const number = documentLine(view.state, line.number);
        const place = number < 0 ? null : placeOf(document, number);
        if (place === null) return null;
        const ways = untracked(() => chainsOf(document)).of(place);
        return { pos: position, above: true, create: () => ({ dom: chainTooltip(ways) }) };
      },
      { hoverTime: 450 },
    ),
    layoutLinks(document),
    // Behind what is lit: a text that is newly shown begins at the value.
    valueMarks(document),
    Prec.low(keymap.of([{ key: "Escape", run: clear }])),
  ];
}

function clear(): boolean {
  if (userLine.peek() === null) return false;
  select(null);
  return true;
}

interface LiveEditor {
  view: EditorView;
  document: Document;
  litCount: () => number;
}

/** Editors of stops that are on the screen. */
const live = new Set<LiveEditor>();

/** The editor that keys speak to: the one with the caret, else the last one in the middle. */
function current(): LiveEditor | null {
  const all = [...live];
  const inMiddle = all.filter((each) => each.view.dom.closest(".editors") !== null);
  return all.find((each) => each.view.hasFocus) ?? inMiddle.at(-1) ?? null;
}

/** Go to the next or the previous lit line of what is shown; says in words where that is. */
export function stepLit(direction: 1 | -1): void {
  const found = current();
  if (found === null) return;
  const { view, document } = found;
  const line = documentLine(view.state, view.state.doc.lineAt(view.state.selection.main.head).number);
  const next = neighbour(document, line, direction);
  if (next === null) return;
  const number = editorLine(view.state, next);
  if (number < 0) {
    // It is in a function that is not shown.
    shownFunction.value = null;
    reveal(document.stop, next);
    return;
  }
  const { from } = view.state.doc.line(number);
  view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center", x: "start" }) });
}

/** The lit line after or before `line`, around the ends; null where nothing is lit. */
function neighbour(document: Document, line: number, direction: 1 | -1): number | null {
  const user = userLine.peek();
  const lines = user === null ? new Int32Array(0) : indexOf(document).lines(user.file, user.line);
  if (lines.length === 0) {
    notice.value = user === null ? "no line of the source is selected" : "nothing of the selected line is here";
    return null;
  }
  const at = direction > 0 ? lines.findIndex((each) => each > line) : lines.findLastIndex((each) => each < line);
  const found = at >= 0 ? at : direction > 0 ? 0 : lines.length - 1;
  notice.value = `line ${found + 1} of ${lines.length} of the selected line`;
  return lines[found] as number;
}

/** Follow the value of the caret's line. */
export function followAtCaret(): void {
  const found = current();
  if (found === null) return;
  const { view, document } = found;
  const line = documentLine(view.state, view.state.doc.lineAt(view.state.selection.main.head).number);
  if (line >= 0) follow(document.stop, line);
}

/** Draw the layout at the caret; false when the caret is not in a stage. */
function drawLayout(): boolean {
  const found = [...live].find((each) => each.view.hasFocus);
  if (found === undefined || found.document.kind !== "mlir") return false;
  openLayoutAtCaret(found.view, found.document);
  return true;
}

/** Before the page's own keys: some mean something else while lines are lit, or in a stage. */
function onKeyDown(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target instanceof Element && event.target.closest("input, textarea, select, dialog") !== null) return;
  let taken = false;
  if ((event.key === "n" || event.key === "p") && mode.peek() === "text") {
    stepLit(event.key === "n" ? 1 : -1);
    taken = true;
  } else if (event.key === "l") {
    taken = drawLayout();
  } else if (event.key === "v" && pair.peek() === null) {
    followAtCaret();
    taken = true;
  } else if (event.key === "," || event.key === ".") {
    stepValue(event.key === "." ? 1 : -1);
    taken = true;
  }
  if (taken) event.preventDefault();
}

const relit = StateEffect.define<null>();
const OWN = Decoration.line({ class: "cm-lit" });
const THROUGH = Decoration.line({ class: "cm-lit cm-lit-through" });

function litLines(document: Document): Extension {
  return ViewPlugin.define((view) => new Lit(view, document), { decorations: (plugin) => plugin.decorations });
}

/** The last request that an editor followed: an editor made later follows no old one. */
let shownAsked = 0;

class Lit implements PluginValue {
  decorations: DecorationSet = Decoration.none;
  private own = new Set<number>();
  private through = new Set<number>();
  private readonly ruler: HTMLCanvasElement;
  private readonly stop: () => void;
  private readonly resized: ResizeObserver;
  private readonly frame: HTMLElement;
  private waiting = false;
  private gone = false;
  private wanted = false;
  private answered = shownAsked;
  private readonly entry: LiveEditor;

  constructor(
    private readonly view: EditorView,
    document: Document,
  ) {
    this.frame = view.dom;
    this.entry = { view, document, litCount: () => this.own.size + this.through.size };
    live.add(this.entry);
    this.ruler = this.frame.appendChild(window.document.createElement("canvas"));
    this.ruler.className = "overview-ruler";
    this.ruler.setAttribute("aria-hidden", "true");
    this.ruler.title = "lines of the selected line of the source";
    this.ruler.addEventListener("mousedown", (event) => this.goTo(event));
    this.resized = new ResizeObserver(() => this.draw());
    this.resized.observe(this.frame);
    // A text that is newly shown begins at what is lit, unless somebody went to a line of it.
    this.wanted = userLine.peek() !== null && mode.peek() === "text" && place.peek()?.stop !== document.stop;
    this.stop = effect(() => {
      const user = selectedLineOf(document);
      void chainsOf(document);
      this.own = new Set();
      this.through = new Set();
      if (user !== null) {
        const index = indexOf(document);
        this.own = new Set(index.ownLines(user.file, user.line));
        this.through = new Set(index.linesThrough(user.file, user.line));
      }
      this.refresh();
      if (asked.value !== this.answered) {
        this.answered = shownAsked = asked.value;
        this.wanted = true;
      }
    });
  }

  /** Scroll to the first lit line, unless one is on the screen. */
  private show(): void {
    this.wanted = false;
    // Of two texts side by side the last one that has any leads, and the other one follows it.
    if ([...live].findLast((each) => each.litCount() > 0) !== this.entry) return;
    const { view } = this;
    const numbers = [...this.own, ...this.through].map((line) => editorLine(view.state, line)).filter((each) => each > 0);
    if (numbers.length === 0) return;
    const { from, to } = view.viewport;
    const top = view.scrollDOM.scrollTop;
    const bottom = top + view.scrollDOM.clientHeight;
    const seen = numbers.some((number) => {
      const line = view.state.doc.line(number);
      if (line.from < from || line.to > to) return false;
      const block = view.lineBlockAt(line.from);
      const isFolded = block.from < line.from || block.to > line.to;
      return !isFolded && block.top >= top && block.bottom <= bottom;
    });
    if (seen) return;
    // Own lines come first.
    const first = view.state.doc.line(numbers[0] as number);
    view.state.facet(openLine).forEach((open) => open(first.number));
    view.dispatch({ effects: EditorView.scrollIntoView(first.from, { y: "center", x: "start" }) });
  }

  private refresh(): void {
    if (this.waiting) return;
    this.waiting = true;
    // Not while the editor is being made, nor within one of its updates.
    queueMicrotask(() => {
      this.waiting = false;
      if (this.gone) return;
      this.view.dispatch({ effects: relit.of(null) });
      if (this.wanted) this.show();
      this.draw();
    });
  }

  update(update: ViewUpdate): void {
    const lit = update.transactions.some((each) => each.effects.some((one) => one.is(relit)));
    if (lit || update.docChanged || update.viewportChanged) this.decorate();
    if (update.geometryChanged) this.draw();
  }

  private decorate(): void {
    if (this.own.size === 0 && this.through.size === 0) {
      this.decorations = Decoration.none;
      return;
    }
    const builder = new RangeSetBuilder<Decoration>();
    for (const line of visibleLines(this.view)) {
      const number = documentLine(this.view.state, line.number);
      if (number < 0) continue;
      if (this.own.has(number)) builder.add(line.from, line.from, OWN);
      else if (this.through.has(number)) builder.add(line.from, line.from, THROUGH);
    }
    this.decorations = builder.finish();
  }

  /** Marks where lit lines are in the whole text. */
  private draw(): void {
    const { ruler, view } = this;
    const height = this.frame.clientHeight;
    const ratio = window.devicePixelRatio || 1;
    ruler.hidden = this.own.size === 0 && this.through.size === 0;
    if (ruler.hidden || height === 0) return;
    ruler.width = Math.round(10 * ratio);
    ruler.height = Math.round(height * ratio);
    const context = ruler.getContext("2d");
    if (context === null) return;
    const style = getComputedStyle(this.frame);
    const total = view.state.doc.lines;
    // Beside a text that is shorter than the editor, marks stand where its lines are.
    const extent = Math.min(ruler.height, view.contentHeight * ratio);
    const size = Math.max(2 * ratio, extent / total);
    for (const [lines, colour] of [
      [this.through, style.getPropertyValue("--line-strong")],
      [this.own, style.getPropertyValue("--accent")],
    ] as const) {
      context.fillStyle = colour.trim() || style.color;
      for (const line of lines) {
        const number = editorLine(view.state, line);
        if (number >= 0) context.fillRect(2 * ratio, ((number - 1) / total) * extent, 6 * ratio, size);
      }
    }
  }

  private goTo(event: MouseEvent): void {
    event.preventDefault();
    const { view } = this;
    const share = event.offsetY / Math.max(1, Math.min(this.ruler.clientHeight, view.contentHeight));
    let best = -1;
    for (const line of [...this.own, ...this.through]) {
      const number = editorLine(view.state, line);
      if (number < 0) continue;
      const wanted = share * view.state.doc.lines;
      if (best < 0 || Math.abs(number - wanted) < Math.abs(best - wanted)) best = number;
    }
    if (best < 0) return;
    const { from } = view.state.doc.line(best);
    view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center", x: "start" }) });
  }

  destroy(): void {
    this.gone = true;
    live.delete(this.entry);
    this.stop();
    this.resized.disconnect();
    this.ruler.remove();
  }
}

