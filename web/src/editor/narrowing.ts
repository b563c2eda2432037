/** Texts of which only what belongs to the selected line of the user's is shown; the rest is folded. */

import type { Extension } from "@codemirror/state";
import { type EditorView, keymap } from "@codemirror/view";
import type { Document } from "../documents";
import { type Stretch, openLine, openStretch, othersThan, stretchOpened, stretchesChosen, unchangedFolded } from "./unchanged";

export interface Folding {
  extension: Extension;
  /** Open what is folded at an editor's line. */
  open(line: number): void;
  choose(stretches: readonly Stretch[]): void;
}

/** Editors that fold and open the same stretches. */
export function foldingOf(stretches: readonly Stretch[], views: () => EditorView[]): Folding {
  const { field, stretchAt } = unchangedFolded(stretches);
  const open = (stretch: number) => {
    for (const view of views()) view.dispatch({ effects: stretchOpened.of(stretch) });
  };
  const openAtCaret = (view: EditorView): boolean => {
    const { from } = view.state.selection.main;
    const stretch = stretchAt(view.state, view.state.doc.lineAt(from).number);
    if (stretch < 0 || !view.state.field(field).closed.has(stretch)) return false;
    open(stretch);
    return true;
  };
  const openAt = (line: number) => {
    const view = views()[0];
    const stretch = view === undefined ? -1 : stretchAt(view.state, line);
    if (stretch >= 0) open(stretch);
  };
  return {
    extension: [field, openStretch.of(open), openLine.of(openAt), keymap.of([{ key: "Enter", run: openAtCaret }])],
    open: openAt,
    choose: (chosen) => {
      for (const view of views()) view.dispatch({ effects: stretchesChosen.of(chosen) });
    },
  };
}

/** The lines of a document that are shown alone. */
export type LinesOf = (document: Document) => ArrayLike<number>;

/** The document's line, from 0, that each of the editor's lines shows, -1 for none; of a diff, of both documents. */
export type Shows = [document: Document, lines: ArrayLike<number>][];

/** For each of an editor's lines whether it is of those wanted. */
export function belonging(count: number, shows: Shows, linesOf: LinesOf): Uint8Array {
  const mine = new Uint8Array(count);
  for (const [document, lines] of shows) {
    const wanted = new Set(Array.from(linesOf(document)));
    for (let i = 0; i < count; i++) if (wanted.has(lines[i] as number)) mine[i] = 1;
  }
  return mine;
}

/** How many of the lines are shown. */
export interface Narrowed {
  shown: number;
  of: number;
}

/** Fold all but the wanted lines, or with null what is folded usually; gives which are wanted. */
export function narrow(folding: Folding, usual: readonly Stretch[], count: number, shows: Shows, linesOf: LinesOf | null): Uint8Array | null {
  const mine = linesOf === null ? null : belonging(count, shows, linesOf);
  folding.choose(mine === null ? usual : othersThan(mine));
  return mine;
}

export const total = (mine: Uint8Array): number => mine.reduce((sum, each) => sum + each, 0);
