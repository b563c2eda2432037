/** Long work in slices: a generator that yields whenever a slice is done, run at once or with pauses between slices. */

export type Sliced<T> = Generator<void, T, void>;

/** Lines between two yields: a few milliseconds. */
export const SLICE = 2000;

/** Milliseconds after which the page gets its turn. */
const TURN = 24;

/** All at once. */
export function atOnce<T>(work: Sliced<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** With pauses in which the page answers; undefined as soon as `wanted` says that nobody waits for it. `slice` is told of each slice. */
export async function inTurns<T>(work: Sliced<T>, wanted: () => boolean, slice: () => void): Promise<T | undefined> {
  let since = performance.now();
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    slice();
    if (performance.now() - since < TURN) continue;
    await new Promise<void>((resolve) => setTimeout(resolve));
    if (!wanted()) return undefined;
    since = performance.now();
  }
}
