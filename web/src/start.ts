/** Reads what the page holds, and sets up what is shown first. */

import { readAddress, writeAddress } from "./address";
import { chunkNames, load } from "./chunks";
import type { History, LlvmIndex, Manifest, Verdict } from "./data";
import { whenIdle } from "./idle";
import { startHeat } from "./heat/state";
import { startLinking } from "./linking";
import type { Pair } from "./pair/data";
import { rowsOfPair } from "./pair/rows";
import { startSource } from "./pair/source-state";
import { roomBeside } from "./layout";
import { history, manifest, pair, selected, stops, verdict } from "./store";
import { stopsOf } from "./stops";
import { followTheme } from "./theme";

export async function start(): Promise<void> {
  followTheme();
  if (chunkNames().includes("pair")) return await startPair();
  const [record, judged, llvm] = await Promise.all([load<Manifest>("manifest"), load<Verdict>("verdict"), load<LlvmIndex>("llvm")]);
  [manifest.value, verdict.value] = [record, judged];
  stops.value = stopsOf(record, chunkNames(), llvm);
  if (manifest.value?.status === "failed") {
    const last = stops.value.findLast((stop) => stop.chunk !== null && stop.kind !== "listing");
    if (last) selected.value = last.id;
  } else if (stops.value[0]) {
    selected.value = stops.value[0].id;
  }
  readAddress();
  writeAddress();
  startLinking();
  startHeat();
  whenIdle(() => void load<History>("history").then((found) => (history.value = found)));
}

async function startPair(): Promise<void> {
  pair.value = await load<Pair>("pair");
  stops.value = pair.value === null ? [] : rowsOfPair(pair.value, chunkNames());
  if (stops.value[0]) selected.value = stops.value[0].id;
  // Two texts side by side take the width of two.
  roomBeside.value = 1900;
  readAddress();
  writeAddress();
  startSource();
}
