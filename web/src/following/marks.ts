/** Marks the value that is followed in every text. */

import { type Extension, RangeSetBuilder, StateEffect } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, GutterMarker, ViewPlugin, type ViewUpdate, gutter } from "@codemirror/view";
import { effect } from "@preact/signals";
import type { Document } from "../documents";
import { documentLine, editorLine } from "../editor/lines";
import { visibleLines } from "../editor/visible";
import { bringIntoView } from "../linked/panes";
import { place } from "../store";
import { valueLines } from "./state";

const marked = StateEffect.define<ReadonlySet<number>>();
const VALUE = Decoration.line({ class: "cm-value" });

class Sign extends GutterMarker {
  override toDOM(): HTMLElement {
    const box = window.document.createElement("span");
    box.textContent = "▶";
    box.title = "the value that is followed";
    return box;
  }
}
const SIGN = new Sign();

class Marks {
  decorations: DecorationSet = Decoration.none;
  lines: ReadonlySet<number> = new Set();
  private readonly stop: () => void;

  constructor(view: EditorView, document: Document) {
    let gone = false;
    const stop = effect(() => {
      const lines = new Set(valueLines(document));
      // Not within an update of the editor.
      queueMicrotask(() => {
        if (gone || (lines.size === 0 && this.lines.size === 0)) return;
        view.dispatch({ effects: marked.of(lines) });
        const [first] = lines;
        if (first !== undefined && !view.hasFocus && place.peek()?.stop !== document.stop)
          bringIntoView(view, editorLine(view.state, first), "center");
      });
    });
    this.stop = () => {
      gone = true;
      stop();
    };
  }

  update(update: ViewUpdate): void {
    const effects = update.transactions.flatMap((each) => each.effects);
    for (const each of effects) if (each.is(marked)) this.lines = each.value;
    if (effects.length > 0 || update.viewportChanged) this.decorations = this.decorate(update.view);
  }

  private decorate(view: EditorView): DecorationSet {
    const builder = new RangeSetBuilder<Decoration>();
    if (this.lines.size > 0)
      for (const line of visibleLines(view)) {
        const number = documentLine(view.state, line.number);
        if (number >= 0 && this.lines.has(number)) builder.add(line.from, line.from, VALUE);
      }
    return builder.finish();
  }

  destroy(): void {
    this.stop();
  }
}

/** A sign beside the lines of the value, and an edge around them. */
export function valueMarks(document: Document): Extension {
  const plugin = ViewPlugin.define((view) => new Marks(view, document), { decorations: (marks) => marks.decorations });
  return [
    plugin,
    gutter({
      class: "cm-value-signs",
      lineMarker(view, block) {
        const lines = view.plugin(plugin)?.lines;
        if (lines === undefined || lines.size === 0) return null;
        const number = documentLine(view.state, view.state.doc.lineAt(block.from).number);
        return number >= 0 && lines.has(number) ? SIGN : null;
      },
      lineMarkerChange: (update) => update.transactions.some((each) => each.effects.some((one) => one.is(marked))),
    }),
  ];
}
