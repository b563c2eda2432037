/** Where a reader is in a text, so as to be at the same place in the next one. */

import { EditorView } from "@codemirror/view";
import type { Document } from "./documents";
import type { Shown } from "./editor/text";
import { documentLine, editorLine } from "./editor/lines";
import { functionsOf } from "./functions";

/** Lines that are above a kernel's head when a text is opened at it. */
const LEAD = 1;

export interface Spot {
  kind: Document["kind"];
  /** The function at the top of the editor, null outside of all. */
  function: string | null;
  /** Lines from the function's head, or from the beginning of the text. */
  offset: number;
}

/** What is at the top of the first editor. */
export function spotOf(shown: Shown, document: Document): Spot | null {
  const view = shown.views[0];
  if (view === undefined) return null;
  const block = view.lineBlockAtHeight(view.scrollDOM.scrollTop - view.documentPadding.top);
  const line = view.scrollDOM.scrollTop < 4 ? 0 : documentLine(view.state, view.state.doc.lineAt(block.from).number);
  const inside = functionsOf(document).find((each) => each.first <= line && line <= each.last);
  return { kind: document.kind, function: inside?.name ?? null, offset: line - (inside?.first ?? 0) };
}

/** Go there; without a spot to the first kernel, since a module begins with aliases of types, and a listing with directives. */
export function goToSpot(shown: Shown, document: Document, spot: Spot | null): void {
  const all = functionsOf(document);
  const same = spot === null ? undefined : all.find((each) => each.name === spot.function);
  let line: number;
  if (spot === null) line = Math.max(0, (all.find((each) => each.kernel)?.first ?? 0) - LEAD);
  else if (same === undefined) line = spot.function === null && spot.kind === document.kind ? spot.offset : (all[0]?.first ?? 0);
  // How far it is into a function says something between modules, and nothing between a module and a listing.
  else line = spot.kind === document.kind ? Math.min(same.first + spot.offset, same.last) : same.first;
  const view = shown.views[0];
  if (view === undefined) return;
  const number = editorLine(view.state, line);
  // The editor has not measured its lines yet: it scrolls when it has.
  if (number > 0) view.dispatch({ effects: EditorView.scrollIntoView(view.state.doc.line(number).from, { y: "start", yMargin: 0, x: "start" }) });
}
