/** All that is known of one instruction, in words beside the caret: for eyes what the notice is for screen readers. */

import { type Extension, Prec, StateEffect, StateField } from "@codemirror/state";
import { type EditorView, type Tooltip, keymap, showTooltip } from "@codemirror/view";

const tell = StateEffect.define<{ pos: number; words: readonly string[] } | null>();

const told = StateField.define<Tooltip | null>({
  create: () => null,
  update(shown, transaction) {
    for (const effect of transaction.effects) {
      if (effect.is(tell)) return effect.value === null ? null : tooltip(effect.value.pos, effect.value.words);
    }
    // It is of the caret's line.
    return transaction.selection !== undefined || transaction.docChanged ? null : shown;
  },
  provide: (field) => showTooltip.from(field),
});

function tooltip(pos: number, words: readonly string[]): Tooltip {
  return {
    pos,
    above: false,
    create: () => {
      const dom = document.createElement("ul");
      dom.className = "sass-told";
      // The notice says it already.
      dom.setAttribute("aria-hidden", "true");
      for (const each of words) dom.appendChild(document.createElement("li")).textContent = each;
      return { dom };
    },
  };
}

/** Show `words` below the caret's line, until the caret leaves or Escape. */
export function tellAtCaret(view: EditorView, words: readonly string[]): void {
  const line = view.state.doc.lineAt(view.state.selection.main.head);
  view.dispatch({ effects: tell.of({ pos: line.from, words }) });
}

export const telling: Extension = [
  told,
  Prec.highest(
    keymap.of([
      {
        key: "Escape",
        run: (view) => {
          if (view.state.field(told) === null) return false;
          view.dispatch({ effects: tell.of(null) });
          return true;
        },
      },
    ]),
  ),
];
