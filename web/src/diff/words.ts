/** What differs within a pair of lines. */

import { align } from "./align";
import { atOnce } from "./slices";

const WORD = /[%@#!^][\w.$-]+|[A-Za-z_][\w.$]*|\d+|\s+|[^]/g;
/** Lines with more words, as those that hold a binary, are marked whole. */
const MOST_WORDS = 3000;
const LONGEST = 20_000;

/** A stretch of characters. */
export type Mark = [from: number, to: number];

const NAME = /^(?:%[\w$.-]+|\^[\w$.-]+)/;
const WORD_OR_STRING = /"(?:[^"\\]|\\.)*"|%[\w$.-]+(?::\d+)?|\^[\w$.-]+/g;

/** What stands for the name number `index` of a line; null for a name that is compared as it is. */
export type NameOf = (index: number) => string | null;

/** The words of `left` that `right` lacks, and of `right` that `left` lacks. Names that correspond do not differ. */
export function wordMarks(left: string, right: string, leftName: NameOf, rightName: NameOf): [Mark[], Mark[]] {
  const whole: [Mark[], Mark[]] = [[[0, left.length]], [[0, right.length]]];
  if (left.length > LONGEST || right.length > LONGEST) return whole;
  const ours = left.match(WORD) ?? [];
  const theirs = right.match(WORD) ?? [];
  if (ours.length > MOST_WORDS || theirs.length > MOST_WORDS) return whole;
  const numbers = new Map<string, number>();
  const number = (text: string) => {
    const known = numbers.get(text);
    if (known !== undefined) return known;
    numbers.set(text, numbers.size);
    return numbers.size - 1;
  };
  const counterparts = atOnce(
    align(
      Int32Array.from(compared(left, ours, leftName), number),
      Int32Array.from(compared(right, theirs, rightName), number),
    ),
  );
  const inRight = new Uint8Array(theirs.length);
  for (const to of counterparts) if (to >= 0) inRight[to] = 1;
  return [marks(ours, (i) => (counterparts[i] as number) >= 0), marks(theirs, (i) => inRight[i] === 1)];
}

/** The words as they are compared: names by what they stand for, spaces all alike. */
function compared(line: string, words: readonly string[], nameOf: NameOf): string[] {
  const names = new Map<number, string>();
  let index = 0;
  for (const match of line.matchAll(WORD_OR_STRING)) {
    if (match[0].startsWith('"')) continue;
    const known = nameOf(index++);
    if (known !== null) names.set(match.index, `\u0000${known}`);
  }
  let position = 0;
  return words.map((word) => {
    const name = NAME.test(word) ? names.get(position) : undefined;
    position += word.length;
    return name ?? (word.trim() === "" ? " " : word);
  });
}

function marks(words: readonly string[], matched: (index: number) => boolean): Mark[] {
  const found: Mark[] = [];
  let position = 0;
  words.forEach((word, i) => {
    const last = found.at(-1);
    if (!matched(i) && (i === 0 ? word.trim() !== "" : true)) {
      if (last && last[1] === position) last[1] = position + word.length;
      else found.push([position, position + word.length]);
    }
    position += word.length;
  });
  return found;
}

/** Whether two lines share at least half of their words. */
export function similar(left: string, right: string): boolean {
  if (left.length > LONGEST || right.length > LONGEST) return false;
  const words = (line: string) => (line.match(/[%@#!^]|[A-Za-z_][\w$]*|\d+/g) ?? []).map((word) => word);
  const ours = words(left);
  const theirs = words(right);
  if (ours.length === 0 || theirs.length === 0) return false;
  const counts = new Map<string, number>();
  for (const word of ours) counts.set(word, (counts.get(word) ?? 0) + 1);
  let shared = 0;
  for (const word of theirs) {
    const count = counts.get(word) ?? 0;
    if (count > 0) {
      shared++;
      counts.set(word, count - 1);
    }
  }
  return shared * 2 >= Math.max(ours.length, theirs.length);
}
