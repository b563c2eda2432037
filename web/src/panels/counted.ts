/** What the emulator counted, in words, by line of the user's. Kernels stand side by side: ratios of several have no sum. */

import { computed } from "@preact/signals";
import { type LineKey, lineKey } from "./chains";
import { counters } from "./state";

export interface Counted {
  /** Instructions that warps executed, of all kernels. */
  warpInstructions: number;
  /** How many times as many sectors or passes over the banks as needed, of the kernel that takes most; 1 for none. */
  excess: number;
  short: string;
  /** Every number, for a tooltip. */
  all: string;
}

type Counts = Record<string, number>;

/** Kernels that are shown behind a line; the tooltip has all. */
const MOST_KERNELS = 2;

const number = (value: number, digits = 2) => value.toLocaleString("en", { maximumFractionDigits: digits });
const percent = (value: number) => `${number(100 * value, 1)} %`;

/** What a kernel author looks at first. */
export function inShort(counts: Counts): string {
  const of = (name: string) => counts[name] ?? 0;
  const parts: string[] = [];
  const requests = of("global_requests");
  if (requests > 0) {
    const [taken, ideal] = [of("global_sectors") / requests, of("global_ideal_sectors") / requests];
    parts.push(`${number(taken)} sectors a request${ideal < taken ? `, ${number(ideal)} would do` : ""}`);
  }
  if (of("shared_wavefronts") > 0) {
    const conflicts = of("bank_conflicts");
    parts.push(conflicts === 0 ? "no bank conflicts" : `${number(conflicts)} bank conflict${conflicts === 1 ? "" : "s"}`);
  }
  if (of("matrix_operations") > 0) parts.push(`${number(of("matrix_operations"))} matrix operations`);
  if (of("thread_efficiency") > 0 && of("thread_efficiency") < 1) parts.push(`${percent(of("thread_efficiency"))} of threads take part`);
  if (of("warps") > 0) parts.push(`${number(of("warps"))} warp instruction${of("warps") === 1 ? "" : "s"}`);
  return parts.join(" · ");
}

function excessOf(counts: Counts): number {
  const factor = (taken: string, needed: string) => (counts[taken] ?? 0) / (counts[needed] || Infinity);
  return Math.max(1, factor("global_sectors", "global_ideal_sectors"), factor("shared_wavefronts", "shared_ideal_wavefronts"));
}

/** What the record calls its numbers, where that is not what people call them. */
const NAMES: Record<string, string> = { warps: "warp instructions", threads: "thread instructions" };

function inFull(counts: Counts): string {
  return Object.entries(counts)
    .map(([name, value]) => `${NAMES[name] ?? name.replaceAll("_", " ")} ${name.endsWith("_efficiency") ? percent(value) : number(value)}`)
    .join("\n");
}

export const countedByLine = computed(() => {
  const lines = new Map<LineKey, { kernel: string; counts: Counts }[]>();
  for (const { kernel, file, line, counts } of counters.value?.lines ?? []) {
    const key = lineKey(file, line);
    const known = lines.get(key);
    if (known === undefined) lines.set(key, [{ kernel, counts }]);
    else known.push({ kernel, counts });
  }
  const title = counters.value?.title ?? "";
  const said = (kernels: { kernel: string; counts: Counts }[]): Counted => {
    const several = kernels.length > 1;
    const shown = kernels.slice(0, MOST_KERNELS).map(({ counts }) => inShort(counts));
    const more = kernels.length > MOST_KERNELS ? [`and ${kernels.length - MOST_KERNELS} more kernels`] : [];
    return {
      warpInstructions: kernels.reduce((sum, { counts }) => sum + (counts["warps"] ?? 0), 0),
      excess: Math.max(...kernels.map(({ counts }) => excessOf(counts))),
      short: [...shown, ...more].join(several ? " | " : ""),
      all: [title, ...kernels.map(({ kernel, counts }) => `${several ? `${kernel}\n` : ""}${inFull(counts)}`)].join("\n\n"),
    };
  };
  return new Map([...lines].map(([key, kernels]) => [key, said(kernels)]));
});
