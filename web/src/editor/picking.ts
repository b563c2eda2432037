/** Going to what a line leads to: a click on it, or Enter or Space with the caret in it. */

import { type Extension, Prec } from "@codemirror/state";
import { EditorView, type KeyBinding, keymap } from "@codemirror/view";

/** Pixels; who moves further between pressing and letting go selects text to copy. */
const STILL = 4;

/** `pick` takes the caret's line; false where nothing is to be gone to. `before` are keys that come first. */
export function picking(pick: (view: EditorView) => boolean, before: readonly KeyBinding[] = []): Extension {
  let pressed: { x: number; y: number; position: number } | null = null;
  return [
    Prec.high(keymap.of([...before, { key: "Enter", run: pick }, { key: "Space", run: pick }])),
    EditorView.domEventHandlers({
      mousedown: (event, view) => {
        const at = { x: event.clientX, y: event.clientY };
        // Of a double click the first one has picked; the second selects a word.
        const isClick = event.button === 0 && event.detail <= 1 && !event.shiftKey;
        const position = isClick ? view.posAtCoords(at) : null;
        pressed = position === null ? null : { ...at, position };
        return false;
      },
      // Not `click`: the line may be drawn anew between pressing and letting go, and then there is none.
      mouseup: (event, view) => {
        const from = pressed;
        pressed = null;
        if (from === null || Math.hypot(event.clientX - from.x, event.clientY - from.y) >= STILL) return false;
        // The text may have been scrolled meanwhile, which selects as a drag does.
        if (!view.state.selection.main.empty) view.dispatch({ selection: { anchor: from.position } });
        pick(view);
        return false;
      },
      drop: () => true,
    }),
  ];
}
