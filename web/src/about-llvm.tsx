/** A pass of LLVM in the list, and above its code. */

import type { LlvmRow as Row } from "./data";
import { GIVEN } from "./llvm";
import { formatSeconds } from "./passes";
import { optionOf } from "./stop-list";
import type { Stop } from "./store";

/** LLVM reports times in tenths of a millisecond. */
const timeOf = (row: Row) =>
  row.seconds === null ? "" : row.seconds === 0 ? "<0.1 ms" : formatSeconds(row.seconds);

export function LlvmRow({ stop, row, current }: { stop: Stop; row: Row; current: boolean }) {
  return (
    <li {...optionOf(stop, current)} class="stop llvm" title={row.function ?? "the whole module"}>
      <span class="name">
        <span class="title">{stop.title}</span>
        <span class="hidden">{row.name === GIVEN ? ", what LLVM was given" : ", a pass of LLVM, changed"}</span>
        {row.kind === "machine-ir" && <span class="tag">machine IR</span>}
      </span>
      <span class="time">{timeOf(row)}</span>
    </li>
  );
}

export function AboutLlvm({ row, partly }: { row: Row; partly: boolean }) {
  return (
    <>
      <span class="facts">
        <span>{row.name === GIVEN ? "what LLVM was given" : "a pass of LLVM"}</span>
        <span>{row.kind === "machine-ir" ? "machine IR" : "LLVM IR"}</span>
        <span>{timeOf(row)}</span>
      </span>
      {partly && (
        <p class="step-remark">
          The module is large: the most important passes were looked at, and what others changed shows with the next of them.
        </p>
      )}
    </>
  );
}
