/** Lines of two versions of a file as rows: those that belong together in one, those of one version alone in theirs. */

import type { Stretch } from "./data";

export interface SourceRow {
  /** Lines from 1, null where that version has none. */
  a: number | null;
  b: number | null;
  /** Whether both are the same text. */
  same: boolean;
}

/** `a` and `b` are how many lines the two have. Where both have lines of their own, those of A come first. */
export function rowsOfSource(stretches: readonly Stretch[], a: number, b: number): SourceRow[] {
  const rows: SourceRow[] = [];
  let [ours, theirs] = [1, 1];
  const alone = (endOfA: number, endOfB: number) => {
    for (; ours < endOfA; ours++) rows.push({ a: ours, b: null, same: false });
    for (; theirs < endOfB; theirs++) rows.push({ a: null, b: theirs, same: false });
  };
  for (const [first, second, lines, same] of stretches) {
    alone(first, second);
    for (let i = 0; i < lines; i++) rows.push({ a: ours++, b: theirs++, same });
  }
  alone(a + 1, b + 1);
  return rows;
}

export function rowWith(rows: readonly SourceRow[], side: "a" | "b", line: number): SourceRow | undefined {
  return rows.find((each) => each[side] === line);
}

/** A line of the editor that shows both versions: of a row with two texts there are two. */
export interface ShownLine {
  row: SourceRow;
  /** Which texts it is: `−` that of A, `+` that of B, ` ` both. */
  sign: "−" | "+" | " ";
  /** Whether it stands for its row: a row of two lines is counted once, at the second. */
  counts: boolean;
  /** Whether lines before it are left out. */
  gap: boolean;
}

/** The lines to show of the rows that `wanted` lets through. */
export function shownLines(rows: readonly SourceRow[], wanted: (row: SourceRow) => boolean): ShownLine[] {
  const shown: ShownLine[] = [];
  let skipped = false;
  for (const row of rows) {
    if (!wanted(row)) {
      skipped = true;
      continue;
    }
    const both = row.a !== null && row.b !== null;
    if (row.same) shown.push({ row, sign: " ", counts: true, gap: skipped });
    else {
      if (row.a !== null) shown.push({ row, sign: "−", counts: !both, gap: skipped });
      if (row.b !== null) shown.push({ row, sign: "+", counts: true, gap: skipped && !both });
    }
    skipped = false;
  }
  return shown;
}

/** A number of both, null where a version has no such line. */
export interface Change {
  a: number | null;
  b: number | null;
}

export const changeOf = ({ a, b }: Change): number => (b ?? 0) - (a ?? 0);

/** `12`, where it is the same in both, else `12 → 30`; empty where neither has any. A line that is not there has none. */
export function changeText(change: Change): string {
  const [a, b] = [change.a ?? 0, change.b ?? 0];
  if (a === b) return a === 0 ? "" : a.toLocaleString("en");
  return `${a.toLocaleString("en")} → ${b.toLocaleString("en")}`;
}

/** What says that a number went up or down, beside its colour. */
export function changeSign(change: Change): "" | "▲" | "▼" {
  const by = changeOf(change);
  return by === 0 ? "" : by > 0 ? "▲" : "▼";
}
