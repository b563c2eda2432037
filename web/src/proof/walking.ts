/** Going from event to event in the picture of a proof. */

import type { Box } from "./data";

/** The event that a key leads to from another one; null for keys that lead nowhere. */
export function nextBox(boxes: readonly Box[], at: number, key: string): number | null {
  const own = boxes[at];
  if (own === undefined) return null;
  if (key === "ArrowDown" || key === "ArrowUp") {
    const next = at + (key === "ArrowDown" ? 1 : -1);
    return boxes[next]?.lane === own.lane ? next : at;
  }
  if (key === "Home" || key === "End") {
    const lane = (box: Box) => box.lane === own.lane;
    return key === "Home" ? boxes.findIndex(lane) : boxes.findLastIndex(lane);
  }
  if (key !== "ArrowRight" && key !== "ArrowLeft") return null;
  const way = key === "ArrowRight" ? 1 : -1;
  const beside = boxes.filter((box) => (box.x - own.x) * way > 0);
  const column = Math.min(...beside.map((box) => (box.x - own.x) * way));
  let best = at;
  let least = Infinity;
  boxes.forEach((box, index) => {
    if ((box.x - own.x) * way !== column) return;
    const distance = Math.abs(box.y - own.y);
    if (distance < least) [best, least] = [index, distance];
  });
  return best;
}
