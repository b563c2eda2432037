/** A call chain in a tooltip. */

import type { CallFrame } from "../data";
import { files, shortName } from "./state";

const MOST = 3;

/** Ways from the kernel to a place, each a line a frame, innermost first. */
export function chainTooltip(ways: readonly CallFrame[][]): HTMLElement {
  const box = document.createElement("div");
  box.className = "chain-tooltip";
  ways.slice(0, MOST).forEach((way, at) => {
    if (at > 0) box.append(document.createElement("hr"));
    for (const [index, [file, line, , name]] of way.entries()) {
      const row = box.appendChild(document.createElement("div"));
      const place = row.appendChild(document.createElement("code"));
      place.textContent = `${shortName(file, files.peek())}:${line}`;
      if (name !== "") row.append(` in ${name}`);
      if (index > 0) row.prepend("called from ");
    }
  });
  if (ways.length > MOST) box.appendChild(document.createElement("div")).textContent = `and ${ways.length - MOST} more ways`;
  return box;
}
