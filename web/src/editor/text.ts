/** A text by itself in an editor. */

import { Compartment, EditorState, Text } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import type { Document } from "../documents";
import { baseExtensions } from "./base";
import { folding } from "./folds";
import { type LineMap, editorLine, shifted } from "./lines";
import { type Folding, type LinesOf, foldingOf, narrow } from "./narrowing";
import { setPattern } from "./matches";

/** One or two editors that are on the screen. */
export interface Shown {
  views: EditorView[];
  /** Scroll to the document's line `line`, from 0, and put the caret there. */
  reveal(line: number, focus: boolean): void;
  /** Fold all but some lines, or with null none; for each of the editor's lines whether it is one of them. */
  only(linesOf: LinesOf | null): Uint8Array | null;
  setFolding(on: boolean): void;
  setPattern(pattern: RegExp | null): void;
  destroy(): void;
}

/** Of editors that were made with `foldingSlot`. */
export function shownOf(views: EditorView[], main: EditorView, folds: Folding): Omit<Shown, "only"> {
  return {
    views,
    reveal(line, focus) {
      const number = editorLine(main.state, line);
      if (number < 0) return;
      folds.open(number);
      const { from } = main.state.doc.line(number);
      main.dispatch({
        selection: { anchor: from },
        effects: EditorView.scrollIntoView(from, { y: "center", x: "start" }),
      });
      if (focus) main.focus();
    },
    setFolding(on) {
      for (const view of views) view.dispatch({ effects: foldingSlot.reconfigure(folding.of(on)) });
    },
    setPattern(pattern) {
      for (const view of views) view.dispatch({ effects: setPattern.of(pattern) });
    },
    destroy() {
      for (const view of views) view.destroy();
    },
  };
}

export const foldingSlot = new Compartment();

/** `first` and `last` are lines of the document from 0, the last one included. */
export function showText(
  parent: HTMLElement,
  document: Document,
  label: string,
  foldTypes: boolean,
  [first, last]: [number, number] = [0, document.lines.length - 1],
): Shown {
  const whole = first === 0 && last === document.lines.length - 1;
  const lines = whole ? document.lines : document.lines.slice(first, last + 1);
  const map: LineMap = shifted(first, lines.length);
  const views: EditorView[] = [];
  const folds = foldingOf([], () => views);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: Text.of(lines.length > 0 ? lines : [""]),
      extensions: [
        lineNumbers({ formatNumber: (number) => String(number + first) }),
        foldingSlot.of(folding.of(foldTypes)),
        folds.extension,
        baseExtensions(document, map, label),
      ],
    }),
  });
  views.push(view);
  const numbers = lines.map((_, i) => first + i);
  return {
    ...shownOf(views, view, folds),
    only: (linesOf) => narrow(folds, [], lines.length, [[document, numbers]], linesOf),
  };
}
