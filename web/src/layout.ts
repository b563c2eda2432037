/** Which parts of the page are open, where, and how large. */

import { computed, signal } from "@preact/signals";

const viewport = signal({ width: window.innerWidth, height: window.innerHeight });
window.addEventListener("resize", () => (viewport.value = { width: window.innerWidth, height: window.innerHeight }));

/** In pixels. */
export const leftWidth = signal(Math.round(Math.min(340, Math.max(200, window.innerWidth * 0.2))));
export const rightWidth = signal(Math.round(Math.min(820, Math.max(280, window.innerWidth * 0.33))));
export const belowHeight = signal(Math.round(Math.max(200, window.innerHeight * 0.42)));
/** Of the three columns of code that are linked, in pixels; the middle one has the rest. */
export const linkedSource = signal(Math.round(window.innerWidth * 0.3));
export const linkedCode = signal(Math.round(window.innerWidth * 0.32));
export const linkedDetails = signal(Math.round(Math.max(120, window.innerHeight * 0.24)));
/** In percent of source and details. */
export const sourceShare = signal(58);

/** Where there is no room for three columns, as at 200 %, there are two. */
const narrow = () => viewport.peek().width < 900;

export const leftOpen = signal(true);
/** What to know first, above the columns, where there is room for it and them. */
export const verdictOpen = signal(viewport.peek().height >= 560);
export const sideOpen = signal(!narrow());

/** Pixels of width from which on there is room for source and details beside the text. */
export const roomBeside = signal(1400);

/** Whether source and details are below the text; null: where the page is too narrow for code in three columns. */
const chosenBelow = signal<boolean | null>(null);
export const sideBelow = computed(
  () => chosenBelow.value ?? (viewport.value.width >= 900 && viewport.value.width < roomBeside.value && viewport.value.height >= 560),
);

export function toggleBelow(): void {
  chosenBelow.value = !sideBelow.value;
  openSide(true);
}

export function openLeft(open: boolean): void {
  leftOpen.value = open;
  if (open && narrow() && !sideBelow.value) sideOpen.value = false;
}

export function openSide(open: boolean): void {
  sideOpen.value = open;
  if (open && narrow() && !sideBelow.value) leftOpen.value = false;
}
