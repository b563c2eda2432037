/** Two versions of a file in one editor: what each line has of something in A and in B, remarks below, the selected line lit. */

import { standardKeymap } from "@codemirror/commands";
import { EditorState, type Extension, RangeSetBuilder, StateEffect, StateField, Text } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  GutterMarker,
  gutter,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { type Said, below } from "../editor/below";
import { picking } from "../editor/picking";
import { python } from "../panels/python";
import { type Change, type ShownLine, changeOf, changeSign, changeText } from "./source-rows";

export interface RemarkFacts {
  /** In words: `only A`. */
  kind: string;
  differs: boolean;
  text: string;
  by: string;
}

/** What is known of a line that is shown. */
export interface LineFacts {
  lit: boolean;
  remarks: RemarkFacts[];
}

export interface Column {
  name: string;
  title: string;
  of: (line: ShownLine) => Change;
}

/** Pixels above a line that is scrolled to. */
const TOP = 54;

const changed = StateEffect.define<null>();
const isChanged = (update: { transactions: readonly { effects: readonly StateEffect<unknown>[] }[] }) =>
  update.transactions.some((each) => each.effects.some((one) => one.is(changed)));

export interface PairSourceEditor {
  view: EditorView;
  refresh(): void;
  /** Scroll to the editor's line, from 1, unless it is on the screen. */
  reveal(line: number): void;
  /** Scroll so that a line is near the top. */
  show(line: number): void;
  /** The first line that is on the screen, from 1. */
  top(): number;
  destroy(): void;
}

interface Options {
  label: string;
  columns: readonly Column[];
  /** The last numbers of lines of A and B; null where no line has another number in B. */
  numbers: { a: number; b: number } | null;
  factsOf: (line: ShownLine) => LineFacts;
  pick: (line: ShownLine | null) => void;
}

export function pairSourceEditor(
  parent: HTMLElement,
  lines: readonly ShownLine[],
  texts: readonly string[],
  { label, columns, numbers, factsOf, pick }: Options,
): PairSourceEditor {
  const pickAtCaret = (view: EditorView) => {
    pick(lines[view.state.doc.lineAt(view.state.selection.main.head).number - 1] ?? null);
    return true;
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: Text.of(texts.length > 0 ? [...texts] : [""]),
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", translate: "no" }),
        columns.map((column) => counts(column, lines)),
        lineNumbers({ formatNumber: (number) => numberOf(lines[number - 1], numbers) }),
        decorations(lines, factsOf),
        highlightActiveLine(),
        python(),
        picking(pickAtCaret, [{ key: "Escape", run: () => (pick(null), true) }]),
        keymap.of(standardKeymap),
      ],
    }),
  });
  const gutters = view.scrollDOM.querySelector<HTMLElement>(".cm-gutters");
  // Remarks below lines are as wide as what is seen, not as the longest line.
  const measured = new ResizeObserver(() => {
    const width = gutters?.offsetWidth ?? 0;
    view.dom.style.setProperty("--gutters", `${width}px`);
    view.dom.style.setProperty("--room", `${Math.max(160, view.scrollDOM.clientWidth - width - 4)}px`);
    view.requestMeasure();
  });
  measured.observe(view.scrollDOM);
  if (gutters !== null) measured.observe(gutters);
  return {
    view,
    refresh: () => view.dispatch({ effects: changed.of(null) }),
    reveal(number) {
      const { from } = view.state.doc.line(number);
      const block = view.lineBlockAt(from);
      const top = view.scrollDOM.scrollTop;
      if (block.top >= top && block.bottom <= top + view.scrollDOM.clientHeight) return;
      view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center", x: "start" }) });
    },
    top: () => view.state.doc.lineAt(view.lineBlockAtHeight(view.scrollDOM.scrollTop + TOP).from).number,
    show(number) {
      const { from } = view.state.doc.line(number);
      view.dispatch({ effects: EditorView.scrollIntoView(from, { y: "start", yMargin: TOP, x: "start" }) });
    },
    destroy() {
      measured.disconnect();
      view.destroy();
    },
  };
}

function numberOf(line: ShownLine | undefined, numbers: Options["numbers"]): string {
  const { row, sign } = line ?? { row: { a: null, b: null }, sign: " " };
  if (numbers === null) return String(row.b ?? row.a ?? "");
  const padded = (number: number | null, last: number) => String(number ?? "").padStart(String(last).length);
  return `${padded(sign === "+" ? null : row.a, numbers.a)} ${padded(sign === "−" ? null : row.b, numbers.b)} ${sign}`;
}

class Count extends GutterMarker {
  constructor(
    private readonly change: Change,
    private readonly title: string,
  ) {
    super();
  }

  override eq(other: Count): boolean {
    return other.change.a === this.change.a && other.change.b === this.change.b;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    const by = changeOf(this.change);
    box.textContent = `${changeText(this.change)}${by === 0 ? "" : ` ${changeSign(this.change)}`}`;
    box.className = by === 0 ? "" : "other";
    box.title = by === 0 ? `${this.title}: the same` : `${this.title}: ${by > 0 ? "+" : "−"}${Math.abs(by).toLocaleString("en")}`;
    return box;
  }
}

function counts({ name, title, of }: Column, lines: readonly ShownLine[]): Extension {
  return gutter({
    class: `cm-change cm-change-${name}`,
    renderEmptyElements: true,
    lineMarker(view, block) {
      const line = lines[view.state.doc.lineAt(block.from).number - 1];
      if (line === undefined || !line.counts) return null;
      const change = of(line);
      return changeText(change) === "" ? null : new Count(change, title);
    },
    lineMarkerChange: isChanged,
  });
}

function said({ kind, differs, text, by }: RemarkFacts): Said {
  return { mark: kind, markClass: differs ? "remark-kind differs" : "remark-kind", text, by };
}

const CLASSES = { "−": "cm-removed", "+": "cm-added", " ": "" };

function decorations(lines: readonly ShownLine[], factsOf: (line: ShownLine) => LineFacts): Extension {
  const build = (doc: Text): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    lines.forEach((shown, i) => {
      const { lit, remarks } = factsOf(shown);
      const line = doc.line(i + 1);
      const classes = [CLASSES[shown.sign], shown.gap ? "cm-gap" : "", lit ? "cm-lit" : ""].filter((each) => each !== "").join(" ");
      if (classes !== "") builder.add(line.from, line.from, Decoration.line({ class: classes }));
      if (shown.counts && remarks.length > 0) {
        builder.add(line.to, line.to, Decoration.widget({ widget: below(line.text, remarks.map(said)), side: 3, block: true }));
      }
    });
    return builder.finish();
  };
  return StateField.define<DecorationSet>({
    create: (state) => build(state.doc),
    update: (value, transaction) => (transaction.effects.some((each) => each.is(changed)) ? build(transaction.newDoc) : value),
    provide: (field) => EditorView.decorations.from(field),
  });
}
