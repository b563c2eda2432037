/** The text of machine code in columns, for searching. */

import { type Document, documentOf } from "../documents";
import type { Stop } from "../store";
import { heads, raw } from "./choices";
import { rowsOf } from "./view";

export interface Columns {
  text: string;
  /** For each line of it the listing's, from 0, that leads there. */
  lines: number[];
}

/** The last one, for the next key of what is searched. */
let kept: { document: Document; heads: boolean; columns: Columns } | null = null;

/** Null for what is shown as it is. */
export async function columnsOf(stop: Stop): Promise<Columns | null> {
  if (stop.kind !== "listing" || raw.peek()) return null;
  const document = await documentOf(stop);
  if (document === null) return null;
  if (kept?.document === document && kept.heads === heads.peek()) return kept.columns;
  const found = await rowsOf(document);
  if (found === null) return null;
  const lines = found.rows.map(({ line, table, instruction }) => (line >= 0 ? line : (table.lines[instruction] ?? 0)));
  kept = { document, heads: heads.peek(), columns: { text: found.rows.map(({ text }) => text).join("\n"), lines } };
  return kept.columns;
}
