/** Every line in the colour of its line of Python, with that line's number; and what other texts show at the moment. */

import { type Extension, RangeSetBuilder, StateEffect } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, GutterMarker, ViewPlugin, type ViewUpdate, gutter } from "@codemirror/view";
import { effect } from "@preact/signals";
import type { Document } from "../documents";
import { documentLine, editorLine } from "../editor/lines";
import { visibleLines } from "../editor/visible";
import { userLineOf } from "../panels/chains";
import { indexOf, placeOf, ptx, sass, shown } from "../panels/state";
import { history } from "../store";
import { type Lines, followingPane, isLeading, tracked } from "./panes";
import { type UserLine, coloured, hueOf, isCode, linked, shortLine } from "./state";
import "./linked.css";

const drawn = StateEffect.define<null>();

const isDrawn = (update: ViewUpdate) => update.transactions.some((each) => each.effects.some((one) => one.is(drawn)));

class Number extends GutterMarker {
  constructor(
    private readonly text: string,
    private readonly hue: number,
    private readonly title: string,
  ) {
    super();
  }

  override eq(other: Number): boolean {
    return other.text === this.text && other.hue === this.hue;
  }

  override toDOM(): HTMLElement {
    const box = window.document.createElement("span");
    box.className = `hue hue-${this.hue}`;
    box.textContent = this.text;
    box.title = this.title;
    return box;
  }
}

/** Colours of what is on the screen; `codeOf` is the line of the user's whose colour an editor's line has. */
function colours(lines: Lines, codeOf: (number: number) => UserLine | null): Extension {
  const decorate = (view: EditorView): DecorationSet => {
    const builder = new RangeSetBuilder<Decoration>();
    const other = linked.peek() && !isLeading(view) && tracked.peek() !== null ? new Set(lines.linesOf(tracked.peek() as UserLine)) : null;
    if (!coloured.peek() && other === null) return Decoration.none;
    for (const line of visibleLines(view)) {
      const user = coloured.peek() ? codeOf(line.number) : null;
      const names = [user === null ? "" : `cm-hue hue-${hueOf(user)}`, other?.has(line.number) === true ? "cm-tracked" : ""];
      const name = names.filter((each) => each !== "").join(" ");
      if (name !== "") builder.add(line.from, line.from, Decoration.line({ class: name }));
    }
    return builder.finish();
  };
  return ViewPlugin.define(
    (view) => {
      let gone = false;
      const stop = effect(() => {
        // Read here, so that a change of any of them draws anew.
        void [coloured.value, linked.value, tracked.value, history.value, shown.value, ptx.value, sass.value];
        // Not within an update of the editor.
        queueMicrotask(() => {
          if (!gone) view.dispatch({ effects: drawn.of(null) });
        });
      });
      return {
        decorations: Decoration.none as DecorationSet,
        update(update: ViewUpdate) {
          if (update.viewportChanged || update.docChanged || isDrawn(update)) this.decorations = decorate(update.view);
        },
        destroy() {
          gone = true;
          stop();
        },
      };
    },
    { decorations: (plugin) => plugin.decorations },
  );
}

/** Of a stage or listing. */
export function documentLines(document: Document): Extension {
  const userLine = (view: EditorView, number: number): UserLine | null => {
    const line = documentLine(view.state, number);
    const place = line < 0 || !isCode(document.listing, line) ? null : placeOf(document, line);
    return place && userLineOf(place);
  };
  const numbersOf = (view: EditorView, { file, line }: UserLine) => {
    const index = indexOf(document);
    const own = index.ownLines(file, line);
    const found = own.length > 0 ? own : index.linesThrough(file, line);
    return Array.from(found, (each) => editorLine(view.state, each)).filter((each) => each > 0);
  };
  let lines: Lines = { userLine: () => null, linesOf: () => [] };
  return [
    followingPane((view) => (lines = { userLine: (number) => userLine(view, number), linesOf: (line) => numbersOf(view, line) })),
    colours({ userLine: (number) => lines.userLine(number), linesOf: (line) => lines.linesOf(line) }, (number) => lines.userLine(number)),
    gutter({
      class: "cm-user-lines",
      lineMarker(view, block) {
        const user = coloured.peek() ? userLine(view, view.state.doc.lineAt(block.from).number) : null;
        return user === null ? null : new Number(shortLine(user), hueOf(user), `${user.file}:${user.line}`);
      },
      lineMarkerChange: isDrawn,
    }),
  ];
}

/** Of a file of the user's: lines that have operations in the stage, or instructions. */
export function sourceLines(file: string): Extension {
  const hasCode = (line: number) =>
    [shown.peek(), ...ptx.peek(), ...sass.peek()].some((each) => each !== null && indexOf(each).ownLines(file, line).length > 0);
  const lines: Lines = {
    userLine: (number) => ({ file, line: number }),
    linesOf: (line) => (line.file === file ? [line.line] : []),
  };
  return [
    followingPane(() => lines),
    colours(lines, (number) => (hasCode(number) ? { file, line: number } : null)),
  ];
}
