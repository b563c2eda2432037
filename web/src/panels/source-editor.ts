/** One file of the user's in an editor: counts beside each line, remarks below, the selected line and its chain lit. */

import { standardKeymap } from "@codemirror/commands";
import { EditorState, type Extension, RangeSetBuilder, StateEffect, StateField, type Text } from "@codemirror/state";
import {
  Decoration,
  type DecorationSet,
  EditorView,
  GutterMarker,
  WidgetType,
  gutter,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { type Said, below } from "../editor/below";
import { picking } from "../editor/picking";
import { heatOfSource } from "../heat/gutters";
import { sourceLines } from "../linked/colours";
import { type Grade, SIGNS } from "./cost";
import { python } from "./python";

/** What is known of one line. */
export interface LineFacts {
  /** Operations or instructions in the text that is shown; null where nothing is shown. */
  here: number | null;
  ptx: number;
  sass: number;
  /** Why there is nothing, in words. */
  fate: string;
  remarks: { grade: Grade; text: string; from: string; numbers: string }[];
  lit: "own" | "chain" | null;
}

const changed = StateEffect.define<null>();

export interface SourceEditor {
  view: EditorView;
  destroy(): void;
  /** Ask for the facts of all lines again. */
  refresh(): void;
  /** Scroll to a line, from 1, unless it is on the screen. */
  reveal(line: number): void;
  /** Scroll so that a line is near the top. */
  show(line: number): void;
}

export function sourceEditor(
  parent: HTMLElement,
  file: string,
  text: string,
  facts: (line: number) => LineFacts,
  select: (line: number | null) => void,
): SourceEditor {
  const pick = (view: EditorView) => {
    select(view.state.doc.lineAt(view.state.selection.main.head).number);
    return true;
  };
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.contentAttributes.of({ "aria-label": `Source ${file}`, tabindex: "0", spellcheck: "false", translate: "no" }),
        count("here", (each) => each.here ?? 0, facts),
        count("ptx", (each) => each.ptx, facts),
        count("sass", (each) => each.sass, facts),
        heatOfSource(file),
        signs(facts),
        lineNumbers(),
        decorations(facts),
        highlightActiveLine(),
        python(),
        sourceLines(file),
        picking(pick, [{ key: "Escape", run: () => (select(null), true) }]),
        keymap.of(standardKeymap),
      ],
    }),
  });
  // Remarks below lines are as wide as what is seen, not as the longest line.
  const gutterBox = view.scrollDOM.querySelector<HTMLElement>(".cm-gutters");
  let room = 0;
  const measured = new ResizeObserver(() => {
    // When the editor is made, nobody knows yet what will stand below it, nor how high remarks are.
    const keeps = view.state.selection.main.head > 0 && (room === 0 || caretWasSeen(view, room));
    room = view.scrollDOM.clientHeight;
    const gutters = gutterBox?.offsetWidth ?? 0;
    view.dom.style.setProperty("--gutters", `${gutters}px`);
    view.dom.style.setProperty("--room", `${Math.max(160, view.scrollDOM.clientWidth - gutters - 4)}px`);
    // Where the caret is then, is found out once all is measured.
    if (keeps) view.dispatch({ effects: EditorView.scrollIntoView(view.state.selection.main.head, { y: "nearest", yMargin: 2 }) });
    else view.requestMeasure();
  });
  measured.observe(view.scrollDOM);
  // They grow with their numbers, and columns come and go.
  if (gutterBox !== null) measured.observe(gutterBox);
  return {
    view,
    show(line) {
      const { from } = view.state.doc.line(line);
      view.dispatch({ effects: EditorView.scrollIntoView(from, { y: "start", yMargin: 54, x: "start" }) });
    },
    destroy() {
      measured.disconnect();
      view.destroy();
    },
    refresh: () => view.dispatch({ effects: changed.of(null) }),
    reveal(line) {
      if (line < 1 || line > view.state.doc.lines) return;
      const { from } = view.state.doc.line(line);
      const block = view.lineBlockAt(from);
      const top = view.scrollDOM.scrollTop;
      const seen = block.top >= top && block.bottom <= top + view.scrollDOM.clientHeight;
      view.dispatch({
        selection: { anchor: from },
        // What is only just made has not been measured: then what seems to be seen is not.
        effects: EditorView.scrollIntoView(from, { y: seen ? "nearest" : "center", x: seen ? "nearest" : "start" }),
      });
    },
  };
}

/** Whether the caret's line was on the screen when the editor was so high; it loses room to what is said of the selected line. */
function caretWasSeen(view: EditorView, height: number): boolean {
  const block = view.lineBlockAt(view.state.selection.main.head);
  const top = view.scrollDOM.scrollTop;
  return block.top >= top && block.top < top + height;
}

const NAMES = { here: "here", ptx: "in PTX", sass: "in SASS" };

class Count extends GutterMarker {
  constructor(
    private readonly number: number,
    private readonly what: keyof typeof NAMES,
    private readonly fate: string,
  ) {
    super();
  }

  override eq(other: Count): boolean {
    return other.number === this.number && other.fate === this.fate;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    const none = this.number === 0;
    box.textContent = none ? "–" : this.number > 9999 ? `${Math.round(this.number / 1000)}k` : String(this.number);
    box.title = none ? this.fate : `${this.number.toLocaleString("en")} ${NAMES[this.what]}`;
    if (none) box.className = "none";
    return box;
  }
}

function count(what: keyof typeof NAMES, of: (facts: LineFacts) => number, facts: (line: number) => LineFacts): Extension {
  return gutter({
    class: `cm-count cm-count-${what}`,
    renderEmptyElements: true,
    lineMarker(view, block) {
      const found = facts(view.state.doc.lineAt(block.from).number);
      const number = of(found);
      if (number > 0) return new Count(number, what, "");
      return what === "here" && found.fate !== "" ? new Count(0, what, found.fate) : null;
    },
    lineMarkerChange: (update) => update.transactions.some((each) => each.effects.some((one) => one.is(changed))),
  });
}

class Sign extends GutterMarker {
  constructor(
    private readonly grade: Grade,
    private readonly text: string,
  ) {
    super();
  }

  override eq(other: Sign): boolean {
    return other.grade === this.grade && other.text === this.text;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    box.textContent = SIGNS[this.grade];
    box.className = `severity ${this.grade}`;
    box.title = this.text;
    return box;
  }
}

function signs(facts: (line: number) => LineFacts): Extension {
  return gutter({
    class: "cm-signs",
    lineMarker(view, block) {
      const { remarks } = facts(view.state.doc.lineAt(block.from).number);
      const first = remarks[0];
      return first === undefined ? null : new Sign(first.grade, remarks.map((each) => each.text).join("\n"));
    },
    lineMarkerChange: (update) => update.transactions.some((each) => each.effects.some((one) => one.is(changed))),
  });
}

function said({ grade, text, from, numbers }: LineFacts["remarks"][number]): Said {
  return { mark: `${SIGNS[grade]} ${grade}`, markClass: `severity ${grade}`, text, by: from, title: numbers };
}

class Behind extends WidgetType {
  constructor(
    private readonly text: string,
    private readonly kind: string,
  ) {
    super();
  }

  override eq(other: Behind): boolean {
    return other.text === this.text && other.kind === this.kind;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    box.className = `cm-behind ${this.kind}`;
    box.textContent = this.text;
    return box;
  }
}

const LIT = {
  own: Decoration.line({ class: "cm-lit" }),
  chain: Decoration.line({ class: "cm-lit cm-lit-through" }),
};

function decorations(facts: (line: number) => LineFacts): Extension {
  const build = (doc: Text): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    for (let number = 1; number <= doc.lines; number++) {
      const found = facts(number);
      const line = doc.line(number);
      if (found.lit !== null) builder.add(line.from, line.from, LIT[found.lit]);
      if (found.lit === "own" && found.fate !== "")
        builder.add(line.to, line.to, Decoration.widget({ widget: new Behind(found.fate, "fate"), side: 2 }));
      if (found.remarks.length > 0) {
        builder.add(line.to, line.to, Decoration.widget({ widget: below(line.text, found.remarks.map(said)), side: 3, block: true }));
      }
    }
    return builder.finish();
  };
  return StateField.define<DecorationSet>({
    create: (state) => build(state.doc),
    update: (value, transaction) =>
      transaction.effects.some((each) => each.is(changed)) ? build(transaction.newDoc) : value,
    provide: (field) => EditorView.decorations.from(field),
  });
}
