/** What of two records belongs to which: their lines and call chains, and the line of each that is selected. */

import { computed, signal } from "@preact/signals";
import type { UserLines } from "../data";
import { Chains } from "../panels/chains";
import { userLine } from "../store";
import type { SourcePair } from "./data";
import { rowWith, rowsOfSource } from "./source-rows";

export type Side = "a" | "b";
export const SIDES: readonly Side[] = ["a", "b"];

export const linesOf = { a: signal<UserLines | null>(null), b: signal<UserLines | null>(null) };
export const chainsOf = {
  a: computed(() => new Chains(linesOf.a.value)),
  b: computed(() => new Chains(linesOf.b.value)),
};

/** The Python of both. */
export const sources = signal<SourcePair[]>([]);

export const textOf = (side: Side, file: string | null): string | null =>
  file === null ? null : (linesOf[side].value?.sources[file] ?? null);

const known = new WeakMap<SourcePair, ReturnType<typeof rowsOfSource>>();

/** The lines of both files, beside each other where they belong together. */
export function rowsOf(source: SourcePair) {
  let rows = known.get(source);
  if (rows === undefined) {
    const count = (side: Side) => textOf(side, source[side])?.split("\n").length ?? 0;
    rows = rowsOfSource(source.stretches, count("a"), count("b"));
    // Until the sources are there, nothing is known.
    if (linesOf.a.value !== null && linesOf.b.value !== null) known.set(source, rows);
  }
  return rows;
}

/** The row of the selected line, with its files. */
export const selectedRow = computed(() => {
  const chosen = userLine.value;
  if (chosen === null) return null;
  const side = chosen.side ?? "b";
  const source = sources.value.find((each) => each[side] === chosen.file);
  const row = source && rowWith(rowsOf(source), side, chosen.line);
  return source === undefined || row === undefined ? null : { source, row };
});

const selectedOf = (side: Side) =>
  computed(() => {
    const { source, row } = selectedRow.value ?? {};
    const [file, line] = [source?.[side] ?? null, row?.[side] ?? null];
    return file === null || line === null ? null : { file, line };
  });

/** The line of each that is selected. */
export const selectedLine = { a: selectedOf("a"), b: selectedOf("b") };
