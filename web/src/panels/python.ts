/** Colours of Python, and nothing else of it. */

import { StreamLanguage, type StringStream } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { tokenClasses } from "../editor/colours";

interface State {
  /** The quotes that end the string over several lines that this line begins in. */
  open: string | null;
}

const KEYWORDS =
  /^(?:False|None|True|and|as|assert|async|await|break|case|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|match|nonlocal|not|or|pass|raise|return|try|while|with|yield)\b/;

function toEnd(stream: StringStream, state: State, quotes: string): string {
  for (;;) {
    if (stream.eol()) return "string";
    if (stream.match(quotes)) {
      state.open = null;
      return "string";
    }
    if (stream.next() === "\\") stream.next();
  }
}

const PYTHON = StreamLanguage.define<State>({
  startState: () => ({ open: null }),
  copyState: (state) => ({ ...state }),
  token(stream, state) {
    if (state.open !== null) return toEnd(stream, state, state.open);
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    const string = stream.match(/^[rRbBuUfF]{0,2}("""|'''|"|')/) as RegExpMatchArray | null;
    if (string) {
      const quotes = string[1] as string;
      if (quotes.length === 3) state.open = quotes;
      return toEnd(stream, state, quotes);
    }
    if (stream.match(/^@[\w.]+/)) return "meta";
    if (stream.match(/^(?:0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?)/)) return "number";
    if (stream.match(KEYWORDS)) return "keyword";
    if (stream.match(/^[A-Za-z_]\w*/)) return null;
    stream.next();
    return null;
  },
});

export function python(): Extension {
  return [PYTHON, tokenClasses];
}
