/** Which function each line of a Python file is in, by its indentation: that of decorators and signatures too. */

export interface PythonFunction {
  /** With the classes and functions around it: `Gemm.kernel`. */
  name: string;
  /** Of its `def`, from 1. */
  line: number;
}

interface Open {
  indent: number;
  name: string;
  /** Null of a class. */
  found: PythonFunction | null;
}

const DEFINITION = /^\s*(?:(?:async\s+)?(def)|class)\s+([\p{L}_][\p{L}\p{N}_]*)/u;

/** By line, from 0; null outside of all functions. */
export function functionsByLine(source: string): (PythonFunction | null)[] {
  const lines = source.split("\n");
  const found: (PythonFunction | null)[] = lines.map(() => null);
  const open: Open[] = [];
  const decorators: number[] = [];
  let depth = 0;
  let quotes = false;
  lines.forEach((text, at) => {
    const isContinued = depth > 0 || quotes;
    const indent = text.search(/\S/);
    if (!isContinued && indent >= 0 && !/^\s*#/.test(text)) {
      while (open.length > 0 && (open.at(-1) as Open).indent >= indent) open.pop();
      const match = DEFINITION.exec(text);
      if (match !== null) {
        const name = [...open.map((each) => each.name), match[2]].join(".");
        open.push({ indent, name: match[2] as string, found: match[1] === undefined ? null : { name, line: at + 1 } });
        for (const line of decorators.splice(0)) found[line] = (open.at(-1) as Open).found;
      } else if (/^\s*@/.test(text)) decorators.push(at);
    }
    found[at] = open.findLast((each) => each.found !== null)?.found ?? null;
    if (decorators.length > 0 && isContinued) decorators.push(at);
    ({ depth, quotes } = after(text, depth, quotes));
  });
  return found;
}

/** How many brackets are open, and whether a string of several lines is, behind a line. */
function after(text: string, depth: number, quotes: boolean): { depth: number; quotes: boolean } {
  const parts = text.split(/"""|'''/);
  for (const [at, part] of parts.entries()) {
    if (at > 0) quotes = !quotes;
    if (quotes) continue;
    const code = part.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, "");
    const comment = code.indexOf("#");
    for (const each of comment < 0 ? code : code.slice(0, comment)) depth += "([{".includes(each) ? 1 : ")]}".includes(each) ? -1 : 0;
    if (comment >= 0) break;
  }
  return { depth: Math.max(0, depth), quotes };
}
