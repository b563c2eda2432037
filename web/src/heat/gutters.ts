/** Columns of the measure that is shown: beside the source, and beside stages, PTX and SASS. */

import { Compartment, type Extension } from "@codemirror/state";
import { type EditorView, GutterMarker, ViewPlugin, gutter } from "@codemirror/view";
import { effect } from "@preact/signals";
import type { Document } from "../documents";
import { documentLine } from "../editor/lines";
import { lineKey, parseLineKey, userLineOf } from "../panels/chains";
import { files, placeOf, shortName } from "../panels/state";
import { values } from "./state";
import { type Amount, type Values, shownNumber } from "./values";
import { amountLines, heatOf, shortNumber, stepOf } from "./words";

class Cell extends GutterMarker {
  constructor(
    private readonly text: string,
    /** From 0 to 1. */
    private readonly heat: number,
    private readonly kind: string,
    private readonly title: string,
  ) {
    super();
  }

  override eq(other: Cell): boolean {
    return other.text === this.text && other.heat === this.heat && other.kind === this.kind && other.title === this.title;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    box.className = `heat heat-${stepOf(this.heat)} ${this.kind}`;
    box.style.setProperty("--heat", `${(100 * this.heat).toFixed(1)}%`);
    box.textContent = this.text;
    box.title = this.title;
    return box;
  }
}

/** The columns beside a file of the source: `self` and `incl`. */
export function heatOfSource(file: string): Extension {
  return following((shown) => {
    const column = (which: "self" | "inclusive") =>
      gutterOf(which, (view, line) => {
        const number = view.state.doc.lineAt(line).number;
        const amounts = shown.ofLine(file, number);
        const amount = amounts?.[which] ?? null;
        if (amounts === null || amount === null) return null;
        return cell(shown, amount, shown.highest[which], sourceTitle(shown, amounts));
      });
    return [column("self"), column("inclusive")];
  });
}

function sourceTitle(shown: Values, { self, inclusive }: { self: Amount | null; inclusive: Amount | null }): string {
  const said = (what: string, amount: Amount | null) => (amount === null ? [] : amountLines(shown.measure, what, amount, shown.total));
  return [shown.measure.title, ...said("self", self), ...said("inclusive", inclusive)].join("\n");
}

/** The column beside a stage or a listing: the line's own value, or else that of the line of the source that it belongs to. */
export function heatOfText(text: Document): Extension {
  return following((shown) => {
    const own = text.listing === null ? null : shown.linesOf(text.listing.file);
    return gutterOf("text", (view, position) => {
      const line = documentLine(view.state, view.state.doc.lineAt(position).number);
      if (line < 0) return null;
      if (own === null) return cellOfOwner(shown, text, line);
      const amount = own.get(line);
      if (amount === undefined) return null;
      const title = [shown.measure.title, ...amountLines(shown.measure, "here", amount, shown.total)].join("\n");
      return cell(shown, amount, shown.highest.instruction, title);
    });
  });
}

/** The line of the source that a line of a text belongs to, as a key. */
function ownerOf(text: Document, line: number): string | null {
  const place = line < 0 ? null : placeOf(text, line);
  const user = place && userLineOf(place);
  return user && lineKey(user.file, user.line);
}

function cellOfOwner(shown: Values, text: Document, line: number): Cell | null {
  const owner = ownerOf(text, line);
  const self = owner === null ? null : (shown.lines.get(owner)?.self ?? null);
  if (owner === null || self === null) return null;
  const { file, line: number } = parseLineKey(owner);
  const what = `${shortName(file, files.peek())}:${number}, to which this belongs`;
  const title = [shown.measure.title, ...amountLines(shown.measure, what, self, shown.total)].join("\n");
  // One number for all lines in a row that it is of.
  const isFirst = ownerOf(text, line - 1) !== owner;
  return cell(shown, self, shown.highest.self, title, isFirst ? "of-line" : "of-line again");
}

function cell({ measure }: Values, amount: Amount, highest: number, title: string, kind = ""): Cell {
  const number = shownNumber(measure, amount);
  const text = kind.endsWith("again") ? "" : shortNumber(measure, number);
  return new Cell(text, heatOf(measure, number, highest), `${measure.is_worse === true ? "worse" : "neutral"} ${kind}`.trim(), title);
}

function gutterOf(name: string, cellAt: (view: EditorView, position: number) => Cell | null): Extension {
  return gutter({
    class: `cm-heat cm-heat-${name}`,
    renderEmptyElements: true,
    lineMarker: (view, block) => cellAt(view, block.from),
  });
}

/** What `make` makes of the values that are shown, anew whenever others are. */
function following(make: (shown: Values) => Extension): Extension {
  const slot = new Compartment();
  const made = (shown: Values | null) => (shown === null ? [] : make(shown));
  let current = values.peek();
  return [
    slot.of(made(current)),
    ViewPlugin.define((view) => {
      let gone = false;
      const stop = effect(() => {
        const shown = values.value;
        if (shown === current) return;
        current = shown;
        // Not within an update of the editor.
        queueMicrotask(() => {
          if (!gone && shown === current) view.dispatch({ effects: slot.reconfigure(made(shown)) });
        });
      });
      return {
        destroy() {
          gone = true;
          stop();
        },
      };
    }),
  ];
}
