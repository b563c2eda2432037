/** What the search found, marked in the text that is on the screen; the value at the caret, too. */

import { Facet, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { visibleLines } from "./visible";

/** Mark what this pattern (with flag g) matches; null: nothing. */
export const setPattern = StateEffect.define<RegExp | null>();

const pattern = StateField.define<RegExp | null>({
  create: () => null,
  update(value, transaction) {
    for (const effect of transaction.effects) if (effect.is(setPattern)) value = effect.value;
    return value;
  },
});

/** Whether the editor itself shows what has to do with the value at the caret. */
export const ownNames = Facet.define<boolean, boolean>({ combine: (values) => values.includes(true) });

const found = Decoration.mark({ class: "cm-found" });
const same = Decoration.mark({ class: "cm-same-name" });
/** Characters of a line that are looked at. */
const LONGEST = 5000;

function decorate(view: EditorView): DecorationSet {
  const { state } = view;
  const ranges: Range<Decoration>[] = [];
  const searched = state.field(pattern);
  const name = nameAtCaret(view);
  if (searched === null && name === null) return Decoration.none;
  for (const line of visibleLines(view)) {
    const text = line.text.slice(0, LONGEST);
    if (searched !== null)
      for (const match of text.matchAll(searched))
        if (match[0] !== "")
          ranges.push(found.range(line.from + match.index, line.from + match.index + match[0].length));
    if (name !== null)
      for (let i = text.indexOf(name); i >= 0; i = text.indexOf(name, i + name.length))
        if (!/[\w.$-]/.test(text[i + name.length] ?? " "))
          ranges.push(same.range(line.from + i, line.from + i + name.length));
  }
  return Decoration.set(ranges, true);
}

/** The SSA value or register that the caret is in. */
function nameAtCaret(view: EditorView): string | null {
  const { head, empty } = view.state.selection.main;
  if (!empty || !view.hasFocus || view.state.facet(ownNames)) return null;
  const line = view.state.doc.lineAt(head);
  const column = head - line.from;
  if (column > LONGEST) return null;
  for (const match of line.text.slice(0, LONGEST).matchAll(/%[\w.$-]+|\bU?[RP]\d+\b/g))
    if (match.index <= column && column <= match.index + match[0].length) return match[0];
  return null;
}

const shown = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = decorate(view);
    }

    update(update: ViewUpdate) {
      if (
        update.viewportChanged ||
        update.selectionSet ||
        update.focusChanged ||
        update.startState.field(pattern) !== update.state.field(pattern)
      )
        this.decorations = decorate(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

export const matches = [pattern, shown];
