/** Where in a line of a module a layout stands that has a picture. */

import type { Layouts } from "../data";

export interface Link {
  from: number;
  to: number;
  /** The key of its picture. */
  text: string;
}

const TYPES =
  /!cute(?:\.(?:memref<(?:[^"<>]|<[^<>"]*>)*"[^"]*">|tiled_copy<.*?tiler_mn = <"[^"]*">>|tiled_mma<.*?atom_layout_MNK = <"[^"]*">(?:, permutation_MNK = <"[^"]*">)?>)|_nvgpu\.(?:sm\d+|SM\d+)\.mma\w*<(?:[^<>]|<[^<>]*>)*>)/g;
const QUOTED = /"((?:S<|[(\d?])[\w<>,():@?{}= -]*)"/g;
const ALIAS = /![A-Za-z_$][\w$]*(?![\w$.<])/g;
const DEFINITION = /^(![A-Za-z_$][\w$]*) = (.*)$/;

/** Types that the head of a module gives a name. */
export function aliasesOf(lines: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of lines) {
    // They stand before everything else, together with attributes' names.
    if (!line.startsWith("!") && !line.startsWith("#")) break;
    const match = DEFINITION.exec(line);
    if (match !== null) found.set(match[1] as string, match[2] as string);
  }
  return found;
}

/** Of those without a picture, as with a shape that only a launch knows, the page has the reason. */
function isDrawn(pictures: Layouts["pictures"], text: string): boolean {
  return Object.hasOwn(pictures, text) && "grids" in (pictures[text] as object);
}

/** Why the layouts of a line have no picture; empty where it holds none. */
export function whyNoPicture(line: string, pictures: Layouts["pictures"]): string {
  const texts = [...line.matchAll(TYPES)].map((match) => match[0]).concat([...line.matchAll(QUOTED)].map((match) => match[1] as string));
  for (const text of texts) {
    const found = Object.hasOwn(pictures, text) ? pictures[text] : undefined;
    if (found !== undefined && "reason" in found) return found.reason;
  }
  return "";
}

/** The layouts of a line that are drawn, from left to right; a whole type comes before the layouts within it. */
export function linksOf(line: string, aliases: ReadonlyMap<string, string>, pictures: Layouts["pictures"]): Link[] {
  if (!line.includes("!") && !line.includes('"')) return [];
  const found: Link[] = [];
  const free = (from: number, to: number) => found.every((each) => to <= each.from || from >= each.to);
  for (const match of line.matchAll(TYPES)) {
    const text = match[0];
    if (isDrawn(pictures, text)) found.push({ from: match.index, to: match.index + text.length, text });
  }
  for (const match of line.matchAll(QUOTED)) {
    const text = match[1] as string;
    const from = match.index + 1;
    if (isDrawn(pictures, text) && free(from, from + text.length)) found.push({ from, to: from + text.length, text });
  }
  if (!DEFINITION.test(line)) {
    for (const match of line.matchAll(ALIAS)) {
      const definition = aliases.get(match[0]);
      const inner = definition === undefined ? undefined : linksOf(definition, NONE, pictures)[0];
      if (inner !== undefined) found.push({ from: match.index, to: match.index + match[0].length, text: inner.text });
    }
  }
  return found.sort((a, b) => a.from - b.from);
}

const NONE: ReadonlyMap<string, string> = new Map();
