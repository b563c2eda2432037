/** The lines of a text that match what is searched for. */

/** A line with a match. */
export interface Hit {
  /** From 0. */
  line: number;
  before: string;
  match: string;
  after: string;
}

export const MOST_HITS = 200;
const CONTEXT = 60;
const LONGEST_MATCH = 120;

/** The pattern for what was typed; throws `SyntaxError` where it is no regular expression. */
export function patternOf(typed: string, regex: boolean, sensitive: boolean): RegExp | null {
  if (typed === "") return null;
  const source = regex ? typed : typed.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(source, sensitive ? "gm" : "gim");
}

/** Matching lines of a text. */
export function linesMatching(text: string, wanted: RegExp): { count: number; hits: Hit[] } {
  const hits: Hit[] = [];
  let count = 0;
  let line = 0;
  let counted = 0;
  // One of its own: the position is a part of it, and the editors use `wanted`, too.
  const searched = new RegExp(wanted);
  for (let match = searched.exec(text); match !== null; match = searched.exec(text)) {
    const start = text.lastIndexOf("\n", match.index - 1) + 1;
    let end = text.indexOf("\n", match.index);
    if (end < 0) end = text.length;
    count++;
    if (hits.length < MOST_HITS) {
      for (let i = text.indexOf("\n", counted); i >= 0 && i < start; i = text.indexOf("\n", i + 1)) line++;
      counted = start;
      const from = Math.max(start, match.index - CONTEXT);
      const lead = text.slice(from, match.index);
      const to = Math.min(match.index + match[0].length, end);
      hits.push({
        line,
        before: from > start ? `…${lead}` : lead.trimStart(),
        match: text.slice(match.index, Math.min(to, match.index + LONGEST_MATCH)),
        after: text.slice(to, Math.min(end, to + 2 * CONTEXT)),
      });
    }
    // A line counts once.
    if (end >= text.length) break;
    searched.lastIndex = end + 1;
  }
  return { count, hits };
}
