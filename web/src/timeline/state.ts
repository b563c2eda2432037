/** What of a timeline is looked at. */

import { signal } from "@preact/signals";

/** The block that is shown, by its index. */
export const shownBlock = signal(0);
/** Groups whose warps are shown. */
export const openGroups = signal<ReadonlySet<string>>(new Set());

export function toggleGroup(key: string): void {
  const next = new Set(openGroups.value);
  if (!next.delete(key)) next.add(key);
  openGroups.value = next;
}

/** What time is on the screen. */
export interface Window {
  start: number;
  end: number;
}

/** A window of another width around a time, within the whole. */
export function zoomed({ start, end }: Window, whole: Window, factor: number, around: number): Window {
  const least = (whole.end - whole.start) / 1e5;
  const width = Math.min(whole.end - whole.start, Math.max(least, (end - start) * factor));
  const share = (around - start) / (end - start || 1);
  return within({ start: around - share * width, end: around + (1 - share) * width }, whole);
}

/** The same width, elsewhere, within the whole. */
export function panned({ start, end }: Window, whole: Window, by: number): Window {
  return within({ start: start + by, end: end + by }, whole);
}

function within({ start, end }: Window, whole: Window): Window {
  const width = Math.min(end - start, whole.end - whole.start);
  const first = Math.min(Math.max(start, whole.start), whole.end - width);
  return { start: first, end: first + width };
}

/** Round steps of an axis: 1, 2 or 5 times a power of ten, at most so many. */
export function ticks({ start, end }: Window, most: number): number[] {
  const rough = (end - start) / Math.max(1, most);
  if (!(rough > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? 10 * power;
  const found: number[] = [];
  for (let tick = Math.ceil(start / step) * step; tick <= end; tick += step) found.push(tick);
  return found;
}
