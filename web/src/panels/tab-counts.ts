/** How much is behind each tab: what its panel lists, of the selected line or of the whole record. */

import type { LineHistory } from "../data";
import { type SideTab, history, manifest, userLine } from "../store";
import { lineKey } from "./chains";
import { SIGNS, gradeOf } from "./cost";
import { isShown } from "./ownership";
import { remarks, remarksByLine } from "./remarks-of";
import { historyOf, instructionsOf, kernels, ptx, sass } from "./state";

export interface TabCount {
  /** What stands on the tab. */
  text: string;
  /** What it counts. */
  meaning: string;
}

/** Null where there is nothing to count, or it is not known yet. */
export function countOf(tab: SideTab): TabCount | null {
  const line = userLine.value;
  if (tab === "history") return line === null ? linesTraced() : ofEvents(historyOf(line.file, line.line));
  if (tab === "remarks") return ofRemarks();
  if (tab !== "instructions") return null;
  if (line !== null) {
    const [asPtx, asSass] = [instructionsOf(line.file, line.line, ptx.value), instructionsOf(line.file, line.line, sass.value)];
    if (ptx.value.length + sass.value.length === 0) return null;
    return { text: number(asSass || asPtx), meaning: `of this line: ${number(asPtx)} in PTX, ${number(asSass)} in SASS` };
  }
  const all = kernels.value.reduce((sum, each) => sum + each.instructions, 0);
  return all === 0 ? null : { text: number(all), meaning: `${number(all)} SASS instructions` };
}

function linesTraced(): TabCount | null {
  if (history.value === null) return null;
  const lines = history.value.lines.filter((each) => isShown(each.file)).length;
  return { text: number(lines), meaning: `lines with operations or instructions: ${number(lines)}` };
}

function ofEvents(found: LineHistory | null): TabCount | null {
  if (found === null) return null;
  const passes = new Set(found.events.map((event) => event.step)).size;
  return { text: number(passes), meaning: `passes that did something to this line: ${number(passes)}` };
}

/** Of all remarks, as the list has all. */
function ofRemarks(): TabCount | null {
  if (manifest.value === null) return null;
  const line = userLine.value;
  const all = remarks.value;
  // They come worst first.
  const worst = all[0] === undefined ? null : gradeOf(all[0].remark);
  const here = line === null ? "" : `, ${number(remarksByLine.value.get(lineKey(line.file, line.line))?.length ?? 0)} on this line`;
  return {
    text: `${worst === null ? "" : `${SIGNS[worst]} `}${number(all.length)}`,
    meaning: `remarks: ${number(all.length)}${worst === null ? "" : `, the worst ${worst}`}${here}`,
  };
}

const number = (count: number) => count.toLocaleString("en");
