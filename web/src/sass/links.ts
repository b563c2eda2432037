/** Going to where a branch goes, and back; to the line of the source that a row names. */

import { type Extension, Prec, type Range } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate, keymap } from "@codemirror/view";
import { visibleLines } from "../editor/visible";
import { select } from "../panels/state";
import { notice } from "../store";
import { toggleFold } from "./folding";
import { controlOf } from "./gutters";
import type { Code, Head, Link, Row, SassRows } from "./rows";
import { tellAtCaret, telling } from "./telling";

const LINK = Decoration.mark({ class: "cm-sass-link" });
const ROWS: Record<Row["kind"], Decoration[]> = {
  function: [Decoration.line({ class: "cm-sass-function" })],
  head: [Decoration.line({ class: "cm-sass-head" })],
  label: [Decoration.line({ class: "cm-sass-label" })],
  code: [],
};
const BEGINS = Decoration.line({ class: "cm-sass-block" });
const SPILL = Decoration.line({ class: "cm-sass-spill" });
const NOTE = Decoration.mark({ class: "cm-sass-note" });
const NAME = Decoration.mark({ class: "cm-sass-source" });

/** How rows look: lines of the source, labels, beginnings of blocks, spills; what leads somewhere. */
function looks(rows: SassRows): Extension {
  const decorate = (view: EditorView): DecorationSet => {
    const ranges: Range<Decoration>[] = [];
    for (const line of visibleLines(view)) {
      const row = rows.rows[line.number - 1];
      if (row === undefined) continue;
      ranges.push(...ROWS[row.kind].map((each) => each.range(line.from)));
      if (row.begins === true) ranges.push(BEGINS.range(line.from));
      if (row.kind === "code" && (row as Code).spills) {
        ranges.push(SPILL.range(line.from), NOTE.range(line.from + row.text.indexOf("//"), line.to));
      }
      for (const { from, to } of row.links) if (from < to) ranges.push(LINK.range(line.from + from, line.from + to));
      if (row.kind === "head") {
        const { name } = row as Head;
        ranges.push(NAME.range(line.from + name - row.text.slice(0, name).trimStart().length, line.from + name));
      }
    }
    return Decoration.set(ranges, true);
  };
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;

      constructor(view: EditorView) {
        this.decorations = decorate(view);
      }

      update(update: ViewUpdate) {
        if (update.viewportChanged || update.transactions.some((each) => each.effects.length > 0)) this.decorations = decorate(update.view);
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
}

export class Links {
  /** Positions that were left, the last one at the end. */
  private readonly left: number[] = [];

  constructor(private readonly rows: SassRows) {}

  extension(): Extension {
    return [
      looks(this.rows),
      telling,
      Prec.highest(
        keymap.of([
          { key: "Enter", run: (view) => this.enter(view) },
          { key: "Backspace", run: (view) => this.back(view) },
          { key: "i", run: (view) => this.tell(view) },
        ]),
      ),
    ];
  }

  /** What a click, or Space, does at the caret; false for what is no link. */
  follow(view: EditorView): boolean {
    const { row, column } = this.caret(view);
    if (row === undefined) return false;
    if (row.kind === "head") return this.source(row as Head, column) || toggleFold(view, this.rows, row as Head);
    const link = row.links.find(({ from, to }) => from <= column && column <= to);
    return link !== undefined && this.goTo(view, row, link);
  }

  /** With the keyboard it need not be the link itself. */
  private enter(view: EditorView): boolean {
    const { row, column } = this.caret(view);
    if (row === undefined) return false;
    if (row.kind === "head") return toggleFold(view, this.rows, row as Head);
    const link = row.links.find(({ from, to }) => from <= column && column <= to) ?? row.links[0];
    return link !== undefined && this.goTo(view, row, link);
  }

  private caret(view: EditorView): { row: Row | undefined; column: number } {
    const { head } = view.state.selection.main;
    const line = view.state.doc.lineAt(head);
    return { row: this.rows.rows[line.number - 1], column: head - line.from };
  }

  private source({ user, name }: Head, column: number): boolean {
    if (user === null || column > name) return false;
    select(user);
    return true;
  }

  private goTo(view: EditorView, { table }: Row, { instruction }: Link): boolean {
    const number = this.rows.of(table, instruction) + 1;
    if (number < 1) return false;
    this.left.push(view.state.selection.main.head);
    this.show(view, view.state.doc.line(this.labelled(number)).from);
    notice.value = `at ${this.rows.instruction(table, instruction).address}; Backspace goes back`;
    return true;
  }

  /** The line of the label above an instruction, which a line of the source may stand between; else that of itself. */
  private labelled(number: number): number {
    const { rows } = this.rows;
    const above = rows[number - 2]?.kind === "head" ? number - 1 : number;
    return rows[above - 2]?.kind === "label" ? above - 1 : number;
  }

  private back(view: EditorView): boolean {
    const position = this.left.pop();
    if (position === undefined) notice.value = "this is where you began";
    else this.show(view, position);
    return true;
  }

  private show(view: EditorView, position: number): void {
    view.dispatch({ selection: { anchor: position }, effects: EditorView.scrollIntoView(position, { y: "center", x: "nearest" }) });
    view.focus();
  }

  /** The columns of the instruction at the caret in words. */
  private tell(view: EditorView): boolean {
    const { row } = this.caret(view);
    if (row?.kind !== "code") return false;
    const { table, instruction } = row;
    const owner = this.rows.owner(table, instruction);
    const words = [
      (row as Code).parts.address,
      owner === "" ? "of no line" : `of ${owner}`,
      `${table.live[instruction]} live registers`,
      ...(controlOf(this.rows, row as Code)?.words ?? []),
    ];
    notice.value = words.join("; ");
    tellAtCaret(view, words);
    return true;
  }
}
