/** What of machine code is shown: in columns or as nvdisasm prints it, and which columns. */

import { signal } from "@preact/signals";

export const COLUMNS = {
  loops: "loops",
  address: "address",
  control: "control code",
  live: "live registers",
  owner: "line of the source",
} as const;

export type Column = keyof typeof COLUMNS;

/** Pixels of the editor from which on a column is there, unless somebody chose. */
const ROOM: Record<Column, number> = { loops: 0, address: 0, live: 460, control: 800, owner: 960 };

/** The text of nvdisasm. */
export const raw = signal(false);

/** Whether lines of the source stand above their instructions. */
export const heads = signal(true);

/** What was chosen; other columns are there when there is room. */
export const chosen = signal<Partial<Record<Column, boolean>>>({});

/** Of the editor that shows machine code in columns; 0 where none does. */
export const width = signal(0);

/** Whether what is shown is machine code that has columns. */
export const hasColumns = signal(false);

export function isShown(column: Column): boolean {
  return chosen.value[column] ?? width.value >= ROOM[column];
}
