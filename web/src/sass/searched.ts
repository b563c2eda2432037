/** The text of machine code in columns, for searching. */

import { documentOf } from "../documents";
import type { Stop } from "../store";
import { raw } from "./choices";
import { rowsOf } from "./view";

export interface Columns {
  text: string;
  /** For each line of it the listing's, from 0, that leads there. */
  lines: number[];
}

/** Null for what is shown as it is. */
export async function columnsOf(stop: Stop): Promise<Columns | null> {
  if (stop.kind !== "listing" || raw.peek()) return null;
  const document = await documentOf(stop);
  const found = document === null ? null : await rowsOf(document);
  if (found === null) return null;
  const lines = found.rows.map(({ line, table, instruction }) => (line >= 0 ? line : (table.lines[instruction] ?? 0)));
  return { text: found.rows.map(({ text }) => text).join("\n"), lines };
}
