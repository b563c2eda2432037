/** The lines of the text that are on the screen. */

import type { Line } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";

/** Each line of which something is on the screen, once and in order. */
export function* visibleLines(view: EditorView): Generator<Line> {
  let done = -1;
  for (const { from, to } of view.visibleRanges) {
    for (let position = from; position <= to; ) {
      const line = view.state.doc.lineAt(position);
      if (line.from > done) yield line;
      done = Math.max(done, line.from);
      position = line.to + 1;
    }
  }
}
