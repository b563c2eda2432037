/** What every editor of a text has: read only, with a caret for the keyboard, virtualised by the component. */

import { standardKeymap } from "@codemirror/commands";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightActiveLineGutter, keymap } from "@codemirror/view";
import type { Document } from "../documents";
import { heatOfText } from "../heat/gutters";
import { linkingExtensions } from "../linking";
import { ownerMarks } from "../panels/owners";
import { pair, place } from "../store";
import { colours } from "./colours";
import { folds, toggleFoldAtCaret } from "./folds";
import { type LineMap, documentLine, lineMap } from "./lines";
import { matches } from "./matches";
import { picking } from "./picking";

/** `follow` goes where a view of its own leads from the caret, and says whether it did. */
export function baseExtensions(
  document: Document,
  map: LineMap,
  label: string,
  follow: (view: EditorView) => boolean = () => false,
): Extension {
  const pick = (view: EditorView): boolean => {
    if (follow(view)) return true;
    const line = documentLine(view.state, view.state.doc.lineAt(view.state.selection.main.head).number);
    if (line >= 0) place.value = { stop: document.stop, line };
    return line >= 0;
  };
  return [
    EditorState.readOnly.of(true),
    EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", translate: "no" }),
    lineMap.of(map),
    folds,
    colours(document.kind),
    matches,
    ownerMarks(document),
    pair.peek() === null ? heatOfText(document) : [],
    highlightActiveLine(),
    highlightActiveLineGutter(),
    picking(pick, [{ key: "Enter", run: toggleFoldAtCaret }]),
    keymap.of(standardKeymap),
    linkingExtensions(document),
  ];
}
