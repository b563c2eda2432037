/** Layouts in an editor as links to their pictures. */

import { type Extension, RangeSetBuilder, StateEffect } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { effect } from "@preact/signals";
import type { Document } from "../documents";
import { visibleLines } from "../editor/visible";
import { layouts } from "../panels/state";
import { notice } from "../store";
import { openPicture } from "./state";
import { type Link, aliasesOf, linksOf, whyNoPicture } from "./texts";

const LONGEST = 20_000;
const loaded = StateEffect.define<null>();

export function layoutLinks(document: Document): Extension {
  if (document.kind !== "mlir") return [];
  const find = finder(document);
  const marks = ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      private readonly stop: () => void;

      constructor(view: EditorView) {
        this.decorations = decorate(view, find);
        let first = true;
        this.stop = effect(() => {
          void layouts.value;
          if (!first) view.dispatch({ effects: loaded.of(null) });
          first = false;
        });
      }

      update(update: ViewUpdate): void {
        const late = update.transactions.some((each) => each.effects.some((one) => one.is(loaded)));
        if (late || update.docChanged || update.viewportChanged) this.decorations = decorate(update.view, find);
      }

      destroy(): void {
        this.stop();
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
  return [
    marks,
    EditorView.domEventHandlers({
      // Not `click`: the line may be drawn anew between pressing and letting go, and then there is none.
      mouseup: (event, view) => {
        if (event.button !== 0 || !(event.target instanceof Element) || event.target.closest(".cm-layout-link") === null) return false;
        if (!view.state.selection.main.empty) return false;
        const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
        return position !== null && openAt(view, find, position);
      },
    }),
  ];
}

type Find = (line: string) => Link[];

function finder(document: Document): Find {
  const aliases = aliasesOf(document.lines);
  return (line) => {
    const found = layouts.peek();
    return found === null || line.length > LONGEST ? [] : linksOf(line, aliases, found.pictures);
  };
}

function openAt(view: EditorView, find: Find, position: number): boolean {
  const line = view.state.doc.lineAt(position);
  const links = find(line.text);
  const column = position - line.from;
  const at = links.findIndex((link) => link.from <= column && column <= link.to);
  if (at >= 0) openPicture(links.map((link) => link.text), at);
  return at >= 0;
}

/** Draw the layout at the caret, or the first one of its line. */
export function openLayoutAtCaret(view: EditorView, document: Document): void {
  const find = finder(document);
  const { head } = view.state.selection.main;
  if (openAt(view, find, head)) return;
  const links = find(view.state.doc.lineAt(head).text);
  if (links.length > 0) openPicture(links.map((link) => link.text), 0);
  else {
    const why = whyNoPicture(view.state.doc.lineAt(head).text, layouts.peek()?.pictures ?? {});
    notice.value = why === "" ? "no layout in this line" : `no picture of this layout: ${why}`;
  }
}

function decorate(view: EditorView, find: Find): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const mark = Decoration.mark({ class: "cm-layout-link", attributes: { title: "draw this layout (l)" } });
  for (const line of visibleLines(view))
    for (const link of find(line.text)) builder.add(line.from + link.from, line.from + link.to, mark);
  return builder.finish();
}
