/** Long pieces of a line that may be shown short: types with parameters, strings, symbols. */

/** A stretch of a line that folds to `short`. */
export interface Fold {
  from: number;
  to: number;
  short: string;
}

/** Types up to this many characters, as `!cute.layout<"32:1">`, stay as they are. */
const SHORT_TYPE = 22;
const SHORT_STRING = 160;
const SHORT_SYMBOL = 56;
/** Of a longer line only the beginning is looked at, besides its strings. */
const LONGEST = 100_000;

const START = /![a-z_]\w*(?:\.\w+)+<|"|@[\w.$-]+|\b[A-Za-z_$][\w$]{56,}/g;

/** The folds of a line, in order, none within another. */
export function foldsOf(line: string): Fold[] {
  const found: Fold[] = [];
  START.lastIndex = 0;
  for (let match = START.exec(line); match !== null && match.index < LONGEST; match = START.exec(line)) {
    const from = match.index;
    const head = match[0];
    if (head === '"') {
      const to = endOfString(line, from);
      if (to - from > SHORT_STRING)
        found.push({ from: from + 17, to: to - 1, short: `…${(to - from - 18).toLocaleString("en")} characters…` });
      START.lastIndex = to;
    } else if (head.endsWith("<")) {
      const to = endOfType(line, from + head.length);
      if (to < 0) continue;
      if (to - from > SHORT_TYPE) found.push({ from, to, short: `${head}…>` });
      START.lastIndex = to;
    } else if (head.length > SHORT_SYMBOL) {
      found.push({ from: from + 28, to: from + head.length - 12, short: "…" });
    }
  }
  return found;
}

function endOfString(line: string, from: number): number {
  for (let i = line.indexOf('"', from + 1); i >= 0; i = line.indexOf('"', i + 1)) {
    let escapes = 0;
    while (line[i - 1 - escapes] === "\\") escapes++;
    // MLIR escapes by `\"` or `\22`.
    if (escapes % 2 === 0) return i + 1;
  }
  return line.length;
}

/** Behind the `>` that closes a type whose parameters begin at `from`; -1 where none does. */
function endOfType(line: string, from: number): number {
  let depth = 1;
  for (let i = from; i < line.length; i++) {
    const char = line[i];
    if (char === '"') i = endOfString(line, i) - 1;
    else if (char === "<") depth++;
    else if (char === ">" && line[i - 1] !== "-" && --depth === 0) return i + 1;
  }
  return -1;
}
