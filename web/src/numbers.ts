/** Numbers for people. */

/** A share in whole percent. Halves go up, as `Occupancy.percent` of the record has it. */
export function percentOf(share: number): number {
  return Math.floor(100 * share + 0.5);
}

/** A count in at most four characters: `940`, `19k`, `2.1M`. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count);
  const [value, unit] = count < 999_500 ? [count / 1000, "k"] : [count / 1e6, "M"];
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)}${unit}`;
}
