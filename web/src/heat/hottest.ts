/** The lines and instructions with the highest values, as rows of a table. */

import type { Document } from "../documents";
import { type LineKey, parseLineKey } from "../panels/chains";
import { type Amount, type Values, shownNumber } from "./values";

export interface Row {
  /** Of a line of Python its file and line; of an instruction its stop and line, from 0. */
  place: { file: string; line: number } | { stop: string; line: number };
  /** What the table is sorted by besides numbers. */
  order: number;
  self: number | null;
  inclusive: number | null;
  amount: Amount;
}

export type Column = "place" | "self" | "inclusive";

export function lineRows(shown: Values, files: readonly string[], isListed: (file: string) => boolean): Row[] {
  const order = new Map(files.map((file, at) => [file, at]));
  const number = (amount: Amount | null) => (amount === null ? null : shownNumber(shown.measure, amount));
  return [...shown.lines].flatMap(([key, { self, inclusive }]: [LineKey, { self: Amount | null; inclusive: Amount | null }]) => {
    const place = parseLineKey(key);
    const amount = self ?? inclusive;
    if (amount === null || !isListed(place.file)) return [];
    // Within a file by lines: no file has as many.
    const at = (order.get(place.file) ?? files.length) * 1e7 + place.line;
    return [{ place, order: at, self: number(self), inclusive: number(inclusive), amount }];
  });
}

export function instructionRows(shown: Values, documents: readonly Document[]): Row[] {
  return documents.flatMap(({ stop, listing }, at) =>
    [...(listing === null ? [] : (shown.linesOf(listing.file) ?? []))].map(([line, amount]) => {
      return { place: { stop, line }, order: at * 1e7 + line, self: shownNumber(shown.measure, amount), inclusive: null, amount };
    }),
  );
}

/** Sorted; of equal ones those first that come first in the text. */
export function sorted(rows: readonly Row[], column: Column, descending: boolean): Row[] {
  const sign = descending ? -1 : 1;
  const number = (row: Row) => (column === "place" ? row.order : (row[column] ?? -Infinity));
  return [...rows].sort((one, other) => sign * Math.sign(number(one) - number(other) || 0) || one.order - other.order);
}
