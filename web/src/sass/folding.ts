/** The instructions of a line of the source, folded below the row that names it. */

import { codeFolding, foldEffect, foldedRanges, unfoldEffect } from "@codemirror/language";
import type { EditorState, Extension, StateEffect } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import type { Head, Row, SassRows } from "./rows";

export const foldingOfLines: Extension = codeFolding({ placeholderText: "⋯" });

/** Whether what is below the row that begins at `from` is folded. */
export function isFolded(state: EditorState, from: number): boolean {
  const { to } = state.doc.lineAt(from);
  let found = false;
  foldedRanges(state).between(to, to, (begin) => {
    if (begin === to) found = true;
  });
  return found;
}

function rangeOf(state: EditorState, rows: SassRows, head: Head): { from: number; to: number } {
  return { from: state.doc.line(rows.rows.indexOf(head) + 1).to, to: state.doc.line(head.last + 1).to };
}

/** Fold what is below a head, or open it. */
export function toggleFold(view: EditorView, rows: SassRows, head: Head): boolean {
  const range = rangeOf(view.state, rows, head);
  view.dispatch({ effects: (isFolded(view.state, range.from) ? unfoldEffect : foldEffect).of(range) });
  return true;
}

/** Fold what is below all heads, or open it. */
export function foldAll(view: EditorView, rows: SassRows, fold: boolean): void {
  const effects: StateEffect<unknown>[] = [];
  rows.rows.forEach((row: Row, at) => {
    if (row.kind !== "head") return;
    const range = { from: view.state.doc.line(at + 1).to, to: view.state.doc.line((row as Head).last + 1).to };
    if (isFolded(view.state, range.from) !== fold) effects.push((fold ? foldEffect : unfoldEffect).of(range));
  });
  view.dispatch({ effects });
}
