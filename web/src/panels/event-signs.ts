/** The signs of what a pass did to a line's operations, and what they mean. */

import type { EventKind } from "../data";

export const EVENT_SIGNS: Record<EventKind, [sign: string, meaning: string]> = {
  appeared: ["+", "operations appeared"],
  copied: ["⧉", "operations were copied"],
  unrolled: ["×", "a loop around them was unrolled"],
  changed: ["~", "operations have other attributes or types"],
  moved: ["↕", "operations were moved into or out of a region"],
  rewritten: ["⇒", "operations of other names took their place"],
  folded: ["<", "their users take a constant or another value"],
  merged: [">", "their users take an equal operation"],
  removed: ["−", "operations that nothing used were removed"],
};
