/** All remarks of a record, the worst first, with what made them and the lines that they are about. */

import { computed } from "@preact/signals";
import type { Remark } from "../data";
import { manifest } from "../store";
import { type LineKey, lineKey } from "./chains";
import { worstFirst } from "./cost";
import { files } from "./state";

export interface FoundRemark {
  remark: Remark;
  /** The analysis or pass that made it. */
  from: string;
  /** Whether `from` is a pass of the pipeline, not an analysis beside it. */
  isPass: boolean;
  place: { file: string; line: number } | null;
}

const LOCATION = /^"?(.+?)"?:(\d+)(?::(\d+))?$/;

/** The file and line of a remark; a file that is named by its last part only is found among the sources. */
export function placeOfRemark(remark: Remark, sources: readonly string[]): { file: string; line: number } | null {
  const match = LOCATION.exec(remark.location ?? "");
  if (match === null) return null;
  const named = match[1] as string;
  const file = sources.includes(named)
    ? named
    : (sources.find((each) => each.endsWith(`/${named}`) || named.endsWith(`/${each}`)) ?? named);
  return { file, line: Number(match[2]) };
}

export const remarks = computed<FoundRemark[]>(() => {
  const record = manifest.value;
  if (record === null) return [];
  const found: FoundRemark[] = [];
  const add = (list: readonly Remark[], from: string, isPass: boolean) => {
    for (const remark of list)
      found.push({ remark, from: remark.analysis ?? from, isPass, place: placeOfRemark(remark, files.value) });
  };
  for (const analysis of record.analyses ?? []) add(analysis.remarks, analysis.name, false);
  for (const step of record.steps) add(step.remarks ?? [], step.name, true);
  add(record.warnings ?? [], "compilation", true);
  return found.sort((a, b) => worstFirst(a.remark, b.remark));
});

export const remarksByLine = computed(() => {
  const found = new Map<LineKey, FoundRemark[]>();
  for (const each of remarks.value) {
    if (each.place === null) continue;
    const key = lineKey(each.place.file, each.place.line);
    const known = found.get(key);
    if (known === undefined) found.set(key, [each]);
    else known.push(each);
  }
  return found;
});

/** Numbers of a remark as people read them; their names hold the units. */
export function numbersOf(remark: Remark): [name: string, value: string][] {
  return Object.entries(remark.numbers ?? {}).map(([name, value]) => [
    name.replaceAll("_", " "),
    typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 2 }) : value,
  ]);
}
