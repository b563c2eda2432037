/** In which order texts are searched. */

import type { Stop } from "./store";

/** First the text that is shown, then code from the machine's on, then the modules in their order. */
export function inOrder(searched: readonly Stop[], shown: string | null): Stop[] {
  const rank = (each: Stop) => (each.chunk === shown ? -1 : each.kind !== "listing" ? CODE.length : CODE.findIndex((end) => each.id.endsWith(end)));
  return searched.map((each) => [rank(each), each] as const).sort(([a], [b]) => a - b).map(([, each]) => each);
}

const CODE = [".sass", ".ptx", ""];
