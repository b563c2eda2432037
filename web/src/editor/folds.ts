/** Long types, strings and symbols shown short; a click, or Enter beside one, shows it whole. */

import { type EditorState, Facet, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate, WidgetType } from "@codemirror/view";
import { type Fold, foldsOf } from "./types";
import { visibleLines } from "./visible";

/** Whether folds are in effect. */
export const folding = Facet.define<boolean, boolean>({ combine: (values) => values[0] ?? true });

/** Stretches of the text to point out within what is folded, as the marks of a diff; `pos` is a line's start. */
export const foldMarks = Facet.define<(lineNumber: number) => readonly (readonly [number, number])[]>();

const unfold = StateEffect.define<number>();

/** Positions of folds that were opened. */
const opened = StateField.define<ReadonlySet<number>>({
  create: () => new Set(),
  update(value, transaction) {
    for (const effect of transaction.effects)
      if (effect.is(unfold)) {
        const next = new Set(value);
        if (!next.delete(effect.value)) next.add(effect.value);
        value = next;
      }
    return value;
  },
});

class Short extends WidgetType {
  constructor(
    readonly position: number,
    readonly fold: Fold,
    readonly whole: string,
    readonly marked: boolean,
  ) {
    super();
  }

  override eq(other: Short): boolean {
    return this.position === other.position && this.marked === other.marked;
  }

  toDOM(view: EditorView): HTMLElement {
    const element = document.createElement("span");
    element.className = this.marked ? "cm-short cm-word" : "cm-short";
    element.textContent = this.fold.short;
    element.title = this.whole.length > 600 ? `${this.whole.slice(0, 600)}…` : this.whole;
    element.addEventListener("mousedown", (event) => event.preventDefault());
    element.addEventListener("click", (event) => {
      event.stopPropagation();
      view.dispatch({ effects: unfold.of(this.position) });
    });
    return element;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

function decorate(view: EditorView): DecorationSet {
  const { state } = view;
  if (!state.facet(folding)) return Decoration.none;
  const open = state.field(opened);
  const marks = state.facet(foldMarks);
  const found: Range<Decoration>[] = [];
  for (const line of visibleLines(view)) {
    for (const fold of foldsOf(line.text)) {
      const at = line.from + fold.from;
      if (open.has(at)) continue;
      const marked = marks.some((each) => each(line.number).some(([a, b]) => a < fold.to && b > fold.from));
      const whole = line.text.slice(fold.from, fold.to);
      found.push(Decoration.replace({ widget: new Short(at, fold, whole, marked) }).range(at, line.from + fold.to));
    }
  }
  return Decoration.set(found);
}

const shown = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = decorate(view);
    }

    update(update: ViewUpdate) {
      if (
        update.docChanged ||
        update.viewportChanged ||
        update.startState.field(opened) !== update.state.field(opened) ||
        update.startState.facet(folding) !== update.state.facet(folding)
      )
        this.decorations = decorate(update.view);
    }
  },
  {
    decorations: (plugin) => plugin.decorations,
    provide: (plugin) => EditorView.atomicRanges.of((view) => view.plugin(plugin)?.decorations ?? Decoration.none),
  },
);

/** The fold that the caret stands beside, by its position; -1 for none. */
function foldBeside(state: EditorState): number {
  const head = state.selection.main.head;
  const line = state.doc.lineAt(head);
  const fold = foldsOf(line.text).find((each) => line.from + each.from <= head && head <= line.from + each.to);
  return fold ? line.from + fold.from : -1;
}

/** Open or close the fold at the caret; false where there is none. */
export function toggleFoldAtCaret(view: EditorView): boolean {
  if (!view.state.facet(folding)) return false;
  const position = foldBeside(view.state);
  if (position < 0) return false;
  view.dispatch({ effects: unfold.of(position) });
  return true;
}

export const folds = [opened, shown];
