/** Machine code in columns, in an editor. */

import { EditorState, Text } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { effect } from "@preact/signals";
import { load } from "../chunks";
import type { UserLines } from "../data";
import type { Document } from "../documents";
import { baseExtensions } from "../editor/base";
import { folding } from "../editor/folds";
import { ownNames } from "../editor/matches";
import { foldingOf, narrow } from "../editor/narrowing";
import { type Shown, foldingSlot, shownOf } from "../editor/text";
import { shortName } from "../panels/state";
import { chosen, hasColumns, heads, width } from "./choices";
import { defUse } from "./def-use";
import { foldAll, foldingOfLines } from "./folding";
import { Gutters } from "./gutters";
import { Links } from "./links";
import { SassRows, type Sources } from "./rows";
import { tableOf } from "./table";
import "./sass.css";

let current: { view: EditorView; rows: SassRows } | null = null;

/** Fold the instructions below all lines of the source, or open them. */
export function foldLines(fold: boolean): void {
  if (current !== null) foldAll(current.view, current.rows, fold);
}

/** The rows of a document, or of the lines of it that are shown; null where it has no columns. */
export async function rowsOf(document: Document, range?: [first: number, last: number]): Promise<SassRows | null> {
  const [table, lines] = await Promise.all([tableOf(document), load<UserLines>("user-lines")]);
  return table === null ? null : new SassRows(document, table, sourcesOf(document, lines), range, heads.value);
}

function sourcesOf(document: Document, lines: UserLines | null): Sources {
  const files = [...new Set([...Object.keys(lines?.sources ?? {}), ...document.table.flatMap((place) => place.slice(-1).map(([file]) => file))])];
  const names = new Map<string, string>();
  const texts = new Map<string, string[]>();
  return {
    nameOf(file) {
      const known = names.get(file) ?? shortName(file, files);
      names.set(file, known);
      return known;
    },
    textOf(file, line) {
      const known = texts.get(file) ?? lines?.sources[file]?.split("\n") ?? [];
      texts.set(file, known);
      return known[line - 1] ?? null;
    },
  };
}

export function showSass(parent: HTMLElement, rows: SassRows, label: string, foldTypes: boolean): Shown {
  const gutters = new Gutters(rows);
  const links = new Links(rows);
  width.value = parent.clientWidth;
  const texts = rows.rows.map(({ text }) => text);
  const views: EditorView[] = [];
  const folds = foldingOf([], () => views);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: Text.of(texts.length > 0 ? texts : [""]),
      extensions: [
        foldingSlot.of(folding.of(foldTypes)),
        ownNames.of(true),
        links.extension(),
        gutters.extension(["loops", "address"]),
        baseExtensions(rows.document, rows.map, label, (each) => links.follow(each)),
        gutters.extension(["control", "live", "owner"]),
        foldingOfLines,
        folds.extension,
        defUse(rows),
        EditorView.editorAttributes.of({ class: "cm-sass" }),
      ],
    }),
  });
  const own = { view, rows };
  current = own;
  hasColumns.value = true;
  const resized = new ResizeObserver(() => (width.value = parent.clientWidth));
  resized.observe(parent);
  const stop = effect(() => {
    void [chosen.value, width.value];
    gutters.follow(view);
  });
  views.push(view);
  const shown = shownOf(views, view, folds);
  const numbers = rows.rows.map(({ line }) => line);
  return {
    ...shown,
    only: (linesOf) => narrow(folds, [], numbers.length, [[rows.document, numbers]], linesOf),
    destroy() {
      stop();
      resized.disconnect();
      if (current === own) current = null;
      shown.destroy();
    },
  };
}
