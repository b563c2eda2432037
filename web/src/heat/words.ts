/** Numbers of measures for people: in a narrow column, in full, and how hot they are. */

import type { Measure } from "../data";
import { shortCount } from "../numbers";
import { type Amount, shownNumber } from "./values";

/** Steps of the colours, besides none. */
const STEPS = 5;

/** At most five characters. */
export function shortNumber(measure: Measure, number: number): string {
  const sign = number < 0 ? "−" : "";
  const size = Math.abs(number);
  const text = size >= 1000 || Number.isInteger(size) ? shortCount(Math.round(size)) : String(Number(size.toPrecision(size < 1 ? 2 : 3)));
  return `${sign}${text}${measure.combine === "ratio" ? "×" : ""}`;
}

export function fullNumber(measure: Measure, number: number): string {
  const text = number.toLocaleString("en", { maximumFractionDigits: 2 });
  return measure.combine === "ratio" ? `${text}×` : measure.unit ? `${text} ${measure.unit}` : text;
}

export function shareText(part: number, whole: number): string {
  return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "";
}

/** From 0 to 1, of the highest. A ratio begins at 1. */
export function heatOf(measure: Measure, number: number, highest: number): number {
  const least = measure.combine === "ratio" ? 1 : 0;
  return highest <= least ? 0 : Math.min(1, Math.max(0, (number - least) / (highest - least)));
}

/** The colour's number, 0 for none. */
export function stepOf(heat: number): number {
  return Math.max(0, Math.ceil(heat * STEPS - 1e-9));
}

/** Parts of an amount, the largest first, in words. */
export function partsOf(measure: Measure, amount: Amount): { name: string; words: string; value: number; share: string }[] {
  const whole = [...amount.parts.values()].reduce((sum, each) => sum + each, 0);
  return [...amount.parts]
    .sort(([, one], [, other]) => other - one)
    .map(([name, value]) => ({ name, words: measure.parts?.[name] ?? name, value, share: shareText(value, whole) }));
}

/** An amount with its parts, a line each. */
export function amountLines(measure: Measure, what: string, amount: Amount, total: number): string[] {
  const number = shownNumber(measure, amount);
  const share = (measure.combine ?? "sum") === "sum" ? shareText(number, total) : "";
  const head = `${what}: ${fullNumber(measure, number)}${share === "" ? "" : `, ${share}`}`;
  return [head, ...partsOf(measure, amount).map(({ name, words, share: part }) => `  ${part} ${name}: ${words}`)];
}
