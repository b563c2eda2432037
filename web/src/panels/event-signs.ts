/** The signs of what a pass did to a line's operations, and what they mean. */

import type { EventKind } from "../data";

export const EVENT_SIGNS: Record<EventKind, [sign: string, meaning: string]> = {
  appeared: ["+", "operations appeared"],
  changed: ["~", "operations changed"],
  split: ["<", "operations were split into more"],
  merged: [">", "operations were merged into fewer"],
  removed: ["−", "operations were removed"],
};
