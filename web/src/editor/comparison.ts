/**
 * Two texts compared, side by side or in one.
 *
 * These are editors over rows of our own and not `@codemirror/merge`: that builds its chunks from changes of characters,
 * knows no row that differs in names only, shows what was deleted as elements outside of the virtualised text (a pass may
 * delete 20,000 lines), and aligns sides by spacers that it measures. Here both sides have a line for every row, so that
 * line N of one is beside line N of the other and all heights are known beforehand.
 */

import { EditorState, type Extension, type Range, Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate, lineNumbers } from "@codemirror/view";
import { ADDED, CHANGED, REMOVED, type Rows, SAME } from "../diff/rows";
import { type Mark, wordMarks } from "../diff/words";
import type { Document } from "../documents";
import { baseExtensions } from "./base";
import { foldMarks, folding } from "./folds";
import { listed } from "./lines";
import { type Folding, type Shows, foldingOf, narrow } from "./narrowing";
import { type Shown, foldingSlot, shownOf } from "./text";
import { aliasLines, allStretches, stretchesOf } from "./unchanged";
import { visibleLines } from "./visible";

/** A document, or the function of it that is compared: `offset` is its first line. */
export interface Side {
  document: Document;
  lines: readonly string[];
  offset: number;
  label: string;
}

/** What an editor's line is. */
interface Line {
  kind: "same" | "removed" | "added" | "filler";
  /** Part of a changed row, with a counterpart. */
  row: number;
  paired: boolean;
}

const DECORATIONS = {
  removed: Decoration.line({ class: "cm-removed" }),
  added: Decoration.line({ class: "cm-added" }),
  filler: Decoration.line({ class: "cm-filler" }),
};
const WORD = Decoration.mark({ class: "cm-word" });

type MarksOfLine = (number: number) => readonly Mark[];

/** Colours lines and marks words of what is on the screen. */
function marked(lineAt: (number: number) => Line, marksOf: MarksOfLine): Extension {
  const decorate = (view: EditorView): DecorationSet => {
    const ranges: Range<Decoration>[] = [];
    for (const line of visibleLines(view)) {
      const { kind, paired } = lineAt(line.number);
      if (kind === "same") continue;
      ranges.push(DECORATIONS[kind].range(line.from));
      if (paired) for (const [a, b] of marksOf(line.number)) ranges.push(WORD.range(line.from + a, line.from + b));
    }
    return Decoration.set(ranges, true);
  };
  return [
    foldMarks.of(marksOf),
    ViewPlugin.fromClass(
      class {
        decorations: DecorationSet;

        constructor(view: EditorView) {
          this.decorations = decorate(view);
        }

        update(update: ViewUpdate) {
          if (update.viewportChanged || update.transactions.some((each) => each.effects.length > 0))
            this.decorations = decorate(update.view);
        }
      },
      { decorations: (plugin) => plugin.decorations },
    ),
  ];
}

/** The marks of changed rows, each worked out once. */
function marksOfRows(rows: Rows, left: Side, right: Side): (row: number) => [Mark[], Mark[]] {
  const known = new Map<number, [Mark[], Mark[]]>();
  return (row) => {
    let found = known.get(row);
    if (found === undefined) {
      const [ours, theirs] = [rows.left[row] as number, rows.right[row] as number];
      found = wordMarks(
        left.lines[ours] ?? "",
        right.lines[theirs] ?? "",
        (index) => rows.leftName(ours, index),
        (index) => rows.rightName(theirs, index),
      );
      known.set(row, found);
    }
    return found;
  };
}

function padded(number: number, width: number): string {
  return number < 0 ? " ".repeat(width) : String(number + 1).padStart(width);
}

export interface Comparison extends Shown {
  /** Show all unchanged lines, or fold them again. */
  showUnchanged(all: boolean): void;
  /** Move to the next change, or the one before. */
  step(by: 1 | -1): void;
  /** Show the first change of the code. */
  begin(): void;
}

/** Which lines of its document a side shows, by its own lines. */
function shownBy({ document, offset }: Side, lines: ArrayLike<number>): Shows[number] {
  return [document, Array.from(lines, (line) => (line < 0 ? -1 : line + offset))];
}

function comparisonOf(
  shown: Omit<Shown, "only">,
  main: EditorView,
  all: Uint8Array,
  aliases: number,
  folding: Folding,
  shows: Shows,
): Comparison {
  const usual = stretchesOf(all, aliases);
  let changed = all;
  return {
    ...shown,
    only(linesOf) {
      const mine = narrow(folding, usual, all.length, shows, linesOf);
      changed = mine === null ? all : all.map((each, i) => each & (mine[i] as number));
      return mine;
    },
    begin() {
      const line = changed.indexOf(1, aliases);
      if (line < 0) return;
      const { from } = main.state.doc.line(line + 1);
      main.dispatch({ effects: EditorView.scrollIntoView(from, { y: "center" }) });
    },
    showUnchanged(all) {
      for (const view of shown.views) view.dispatch({ effects: allStretches.of(all) });
    },
    step(by) {
      const at = main.state.doc.lineAt(main.state.selection.main.head).number - 1;
      let line = at;
      while (changed[line] === 1) line += by;
      while (line >= 0 && line < changed.length && changed[line] !== 1) line += by;
      if (line < 0 || line >= changed.length) return;
      while (by < 0 && changed[line - 1] === 1) line--;
      const { from } = main.state.doc.line(line + 1);
      main.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
    },
  };
}

export function showSplit(parent: HTMLElement, left: Side, right: Side, rows: Rows, foldTypes: boolean): Comparison {
  const marksOf = marksOfRows(rows, left, right);
  const views: EditorView[] = [];
  const changed = rows.kinds.map((kind) => (kind === SAME ? 0 : 1));
  const textOf = (side: Side, line: number | undefined) => (line === undefined || line < 0 ? "" : (side.lines[line] as string));
  const aliases = aliasLines(changed.length, (row) => [textOf(left, rows.left[row]), textOf(right, rows.right[row])]);
  const unchanged = foldingOf(stretchesOf(changed, aliases), () => views);
  const make = (side: Side, numbers: Int32Array, which: 0 | 1): EditorView => {
    const sign = which === 0 ? "removed" : "added";
    const alone = which === 0 ? REMOVED : ADDED;
    const lineAt = (number: number): Line => {
      const kind = rows.kinds[number - 1];
      if (kind === SAME || kind === undefined) return { kind: "same", row: number - 1, paired: false };
      return { kind: kind === CHANGED || kind === alone ? sign : "filler", row: number - 1, paired: kind === CHANGED };
    };
    const width = String(side.offset + side.lines.length).length;
    const lines = Array.from(numbers, (line) => (line < 0 ? "" : (side.lines[line] as string)));
    return new EditorView({
      parent,
      state: EditorState.create({
        doc: Text.of(lines.length > 0 ? lines : [""]),
        extensions: [
          lineNumbers({
            formatNumber: (number) => {
              const line = numbers[number - 1] ?? -1;
              const kind = rows.kinds[number - 1];
              const mark = kind === CHANGED ? "~" : kind === alone ? (which === 0 ? "−" : "+") : " ";
              return `${padded(line < 0 ? -1 : line + side.offset, width)} ${mark}`;
            },
          }),
          foldingSlot.of(folding.of(foldTypes)),
          unchanged.extension,
          marked(lineAt, (number) => (rows.kinds[number - 1] === CHANGED ? marksOf(number - 1)[which] : [])),
          baseExtensions(side.document, listed(numbers.map((line) => (line < 0 ? -1 : line + side.offset))), side.label),
        ],
      }),
    });
  };
  views.push(make(left, rows.left, 0), make(right, rows.right, 1));
  const [a, b] = views as [EditorView, EditorView];
  const follow = (from: EditorView, to: EditorView) =>
    from.scrollDOM.addEventListener("scroll", () => {
      const { scrollTop, scrollLeft } = from.scrollDOM;
      if (Math.abs(to.scrollDOM.scrollTop - scrollTop) >= 1) to.scrollDOM.scrollTop = scrollTop;
      if (Math.abs(to.scrollDOM.scrollLeft - scrollLeft) >= 1) to.scrollDOM.scrollLeft = scrollLeft;
    });
  follow(a, b);
  follow(b, a);
  const shows = [shownBy(left, rows.left), shownBy(right, rows.right)];
  return comparisonOf(shownOf(views, b, unchanged), b, changed, aliases, unchanged, shows);
}

export function showUnified(parent: HTMLElement, left: Side, right: Side, rows: Rows, foldTypes: boolean): Comparison {
  const order: Line[] = [];
  const texts: string[] = [];
  const put = (kind: Line["kind"], row: number, text: string, paired: boolean) => {
    order.push({ kind, row, paired });
    texts.push(text);
  };
  for (let row = 0; row < rows.kinds.length; ) {
    const line = rows.right[row] as number;
    if (rows.kinds[row] === SAME) {
      put("same", row++, right.lines[line] as string, false);
      continue;
    }
    // As in git: of a run of changes first all lines that went, then all that came.
    const start = row;
    while (row < rows.kinds.length && rows.kinds[row] !== SAME) row++;
    for (let i = start; i < row; i++)
      if ((rows.left[i] as number) >= 0)
        put("removed", i, left.lines[rows.left[i] as number] as string, rows.kinds[i] === CHANGED);
    for (let i = start; i < row; i++)
      if ((rows.right[i] as number) >= 0)
        put("added", i, right.lines[rows.right[i] as number] as string, rows.kinds[i] === CHANGED);
  }
  const marksOf = marksOfRows(rows, left, right);
  const changed = Uint8Array.from(order, (line) => (line.kind === "same" ? 0 : 1));
  const views: EditorView[] = [];
  const aliases = aliasLines(texts.length, (line) => [texts[line] as string]);
  const unchanged = foldingOf(stretchesOf(changed, aliases), () => views);
  const lineAt = (number: number): Line => order[number - 1] ?? { kind: "same", row: -1, paired: false };
  const width = String(Math.max(left.offset + left.lines.length, right.offset + right.lines.length)).length;
  const numbers = Int32Array.from(order, ({ kind, row }) => {
    const line = rows.right[row] as number;
    return kind === "removed" || line < 0 ? -1 : line + right.offset;
  });
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: Text.of(texts.length > 0 ? texts : [""]),
      extensions: [
        lineNumbers({
          formatNumber: (number) => {
            const { kind, row } = lineAt(number);
            const [ours, theirs] = [rows.left[row] ?? -1, rows.right[row] ?? -1];
            const a = kind === "added" || ours < 0 ? -1 : ours + left.offset;
            const b = kind === "removed" || theirs < 0 ? -1 : theirs + right.offset;
            const sign = kind === "removed" ? "−" : kind === "added" ? "+" : " ";
            return `${padded(a, width)} ${padded(b, width)} ${sign}`;
          },
        }),
        foldingSlot.of(folding.of(foldTypes)),
        unchanged.extension,
        marked(lineAt, (number) => {
          const { kind, row, paired } = lineAt(number);
          return paired ? marksOf(row)[kind === "removed" ? 0 : 1] : [];
        }),
        baseExtensions(right.document, listed(numbers), right.label),
      ],
    }),
  });
  views.push(view);
  const shows = [
    shownBy(left, order.map(({ kind, row }) => (kind === "added" ? -1 : (rows.left[row] as number)))),
    shownBy(right, order.map(({ kind, row }) => (kind === "removed" ? -1 : (rows.right[row] as number)))),
  ];
  return comparisonOf(shownOf(views, view, unchanged), view, changed, aliases, unchanged, shows);
}
