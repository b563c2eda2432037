/** How lines of an editor correspond to lines of a document: an editor may show one function only, or a diff. */

import { type EditorState, Facet } from "@codemirror/state";

export interface LineMap {
  /** The document's line, from 0, that the editor's line `number`, from 1, shows; -1 where it is of no line of it. */
  documentLine(number: number): number;
  /** The editor's line, from 1, that shows the document's line `line`, from 0; -1 where none does. */
  editorLine(line: number): number;
}

export function shifted(offset: number, count: number): LineMap {
  return {
    documentLine: (number) => number - 1 + offset,
    editorLine: (line) => (line >= offset && line < offset + count ? line - offset + 1 : -1),
  };
}

/** Of a diff: `lines` holds for each line of the editor the document's, -1 for none. */
export function listed(lines: Int32Array): LineMap {
  let numbers: Map<number, number> | null = null;
  return {
    documentLine: (number) => lines[number - 1] ?? -1,
    editorLine: (line) => {
      // From the last to the first, which is the one that counts.
      numbers ??= new Map(Array.from(lines, (each, i): [number, number] => [each, i + 1]).reverse());
      return line < 0 ? -1 : (numbers.get(line) ?? -1);
    },
  };
}

export const lineMap = Facet.define<LineMap, LineMap>({ combine: (values) => values[0] ?? shifted(0, Infinity) });

export function documentLine(state: EditorState, number: number): number {
  return state.facet(lineMap).documentLine(number);
}

export function editorLine(state: EditorState, line: number): number {
  const number = state.facet(lineMap).editorLine(line);
  return number >= 1 && number <= state.doc.lines ? number : -1;
}
