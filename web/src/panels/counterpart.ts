/** Where something that a pass removed was, in the text after it. */

/** Lines looked at above the removed one. */
const MOST = 2000;

function shape(line: string): string {
  return line.trim().replace(/%[\w.$#:-]+/g, "%");
}

/**
 * The line of `after` that corresponds to `line` of `before`: that of the nearest line above which both texts hold, names
 * of values aside. Lines count from 0.
 */
export function counterpart(before: readonly string[], line: number, after: readonly string[]): number {
  const places = new Map<string, number[]>();
  after.forEach((text, at) => {
    const key = shape(text);
    const known = places.get(key);
    if (known === undefined) places.set(key, [at]);
    else known.push(at);
  });
  const expected = Math.round((line / Math.max(1, before.length)) * after.length);
  for (let at = line; at >= 0 && at > line - MOST; at--) {
    const key = shape(before[at] as string);
    const found = key.length > 1 ? places.get(key) : undefined;
    // A line that stands in many places says little.
    if (found === undefined || found.length > 8) continue;
    return found.reduce((best, each) => (Math.abs(each - expected) < Math.abs(best - expected) ? each : best));
  }
  return Math.min(expected, Math.max(0, after.length - 1));
}
