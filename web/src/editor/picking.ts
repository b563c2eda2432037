/** Going to what a line leads to: a click on it, or Enter or Space with the caret in it. */

import { type Extension, Prec } from "@codemirror/state";
import { EditorView, type KeyBinding, keymap } from "@codemirror/view";

/** `pick` gets the caret's line; false where nothing is to be gone to. `before` are keys that come first. */
export function picking(pick: (view: EditorView) => boolean, before: readonly KeyBinding[] = []): Extension {
  let pressed = false;
  return [
    Prec.high(keymap.of([...before, { key: "Enter", run: pick }, { key: "Space", run: pick }])),
    EditorView.domEventHandlers({
      mousedown: (event) => {
        pressed = event.button === 0;
        return false;
      },
      // Not `click`: the line may be drawn anew between pressing and letting go, and then there is none.
      mouseup: (_event, view) => {
        // A drag selects text to copy; one that began elsewhere is none of this editor's.
        if (pressed && view.state.selection.main.empty) pick(view);
        pressed = false;
        return false;
      },
      drop: () => true,
    }),
  ];
}
