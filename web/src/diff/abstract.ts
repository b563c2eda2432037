/** Lines of MLIR without what a printer numbers anew: the rules 1 and 3 of `cutecc/report/comparing.py`. */

import { SLICE, type Sliced } from "./slices";

const TOKEN = /"(?:[^"\\]|\\.)*"|%[\w$.-]+(?::\d+)?|\^[\w$.-]+|[!#][A-Za-z_$][\w$]*(?![\w$.<])/g;
const ALIAS = /^([!#])([A-Za-z_$][\w$]*) = (.*)$/;
const RESULTS = /^ *%[\w$.-]+(?::\d+)?(?:, %[\w$.-]+(?::\d+)?)* = /;
const LABEL_COMMENT = /^( *\^.*?) {2}\/\/ /;

/** Characters of the first columns, where most lines are decided on. */
const SPACE = 32;
const QUOTE = 34;
const HASH = 35;
const PERCENT = 37;
const BANG = 33;
const CARET = 94;

export interface Abstract {
  key: string;
  /** Values with `%` and labels with `^`, in their order. */
  names: string[];
  /** Which of them are defined here. */
  definitions: boolean[];
}

/** Lines without their names, and for each name in a line a number that stands for its definition. */
export interface Sided {
  lines: Abstract[];
  resolved: number[][];
}

const NOTHING: never[] = [];

class Abstraction {
  private readonly raw = new Map<string, string>();
  /** Few lines differ by more than names: what is alike of them is kept once. */
  private readonly keys = new Map<string, string>();
  private readonly patterns = new Map<string, boolean[]>();
  private readonly expanded = new Map<string, string>();

  constructor(module: readonly string[]) {
    for (const line of module) {
      const first = line.charCodeAt(0);
      if (first !== BANG && first !== HASH) continue;
      const match = ALIAS.exec(line);
      if (match) this.raw.set(`${match[1]}${match[2]}`, match[3] as string);
    }
  }

  of(line: string): Abstract {
    const first = line.charCodeAt(0);
    if (first === BANG || first === HASH) {
      const match = ALIAS.exec(line);
      if (match)
        return { key: `${match[1]} = ${this.definition(`${match[1]}${match[2]}`)}`, names: NOTHING, definitions: NOTHING };
    }
    let text = line;
    if (line.includes("^")) text = LABEL_COMMENT.exec(line)?.[1] ?? line;
    if (!/[%^!#]/.test(text)) return { key: trimmed(text), names: NOTHING, definitions: NOTHING };
    text = trimmed(text);
    const names: string[] = [];
    let pattern = "";
    const resultsEnd = RESULTS.exec(text)?.[0].length ?? 0;
    let key = "";
    let position = 0;
    TOKEN.lastIndex = 0;
    for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
      const token = match[0];
      const start = match.index;
      const end = start + token.length;
      const kind = token.charCodeAt(0);
      if (kind === QUOTE) continue;
      if (kind === BANG || kind === HASH) {
        if (this.raw.has(token)) {
          key += text.slice(position, start) + this.definition(token);
          position = end;
        }
        continue;
      }
      if (kind === CARET) {
        pattern += start === 0 ? "d" : "u";
        names.push(token);
        key += `${text.slice(position, start)}^`;
      } else {
        const colon = token.indexOf(":");
        const count = colon < 0 ? "" : token.slice(colon);
        names.push(colon < 0 ? token : token.slice(0, colon));
        pattern +=
          start < resultsEnd || (count === "" && (text.startsWith(": ", end) || text.startsWith(" = ", end))) ? "d" : "u";
        key += `${text.slice(position, start)}%${count}`;
      }
      position = end;
    }
    return { key: this.once(key + text.slice(position)), names, definitions: this.definitions(pattern) };
  }

  private once(key: string): string {
    const known = this.keys.get(key);
    if (known !== undefined) return known;
    this.keys.set(key, key);
    return key;
  }

  private definitions(pattern: string): boolean[] {
    const known = this.patterns.get(pattern);
    if (known !== undefined) return known;
    const made = Array.from(pattern, (each) => each === "d");
    this.patterns.set(pattern, made);
    return made;
  }

  private definition(alias: string): string {
    const known = this.expanded.get(alias);
    if (known !== undefined) return known;
    // A definition that leads back to itself stays a name.
    this.expanded.set(alias, alias);
    const text = (this.raw.get(alias) as string).replace(TOKEN, (token) =>
      this.raw.has(token) ? this.definition(token) : token,
    );
    this.expanded.set(alias, text);
    return text;
  }
}

function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (text.charCodeAt(start) === SPACE) start++;
  while (end > start && text.charCodeAt(end - 1) === SPACE) end--;
  return text.slice(start, end);
}

/** One of two texts. */
export class Side implements Sided {
  readonly lines: Abstract[] = [];
  /** For each line and name in it, a number that stands for the definition. */
  readonly resolved: number[][] = [];
  private readonly abstraction: Abstraction;

  private constructor(module: readonly string[]) {
    this.abstraction = new Abstraction(module);
  }

  /** `module` are all lines of the module that `lines` is of. */
  static *of(lines: readonly string[], module: readonly string[]): Sliced<Side> {
    const side = new Side(module);
    for (let i = 0; i < lines.length; i++) {
      side.lines.push(side.abstraction.of(lines[i] as string));
      if (i % SLICE === SLICE - 1) yield;
    }
    yield* side.resolve(lines);
    return side;
  }

  private *resolve(lines: readonly string[]): Sliced<void> {
    const owners = new Owners();
    const values = new Map<string, number>();
    const labels = new Map<string, number>();
    const waiting = new Map<string, [places: number[], index: number][]>();
    let number = 0;
    for (let i = 0; i < lines.length; i++) {
      const { names, definitions } = this.lines[i] as Abstract;
      const line = lines[i] as string;
      owners.enter(line);
      const found: number[] = [];
      for (let k = 0; k < names.length; k++) {
        const name = names[k] as string;
        number++;
        const isDefinition = definitions[k] as boolean;
        if (name.charCodeAt(0) === CARET) {
          const label = `${isDefinition ? owners.own() : owners.branches()} ${name}`;
          if (!labels.has(label)) labels.set(label, number);
          found.push(labels.get(label) as number);
        } else if (isDefinition) {
          found.push(number);
          for (const [places, index] of waiting.get(name) ?? NOTHING) places[index] = number;
          waiting.delete(name);
        } else {
          const known = values.get(name);
          if (known === undefined) {
            const waits = waiting.get(name) ?? [];
            waits.push([found, found.length]);
            waiting.set(name, waits);
          }
          found.push(known ?? -number);
        }
      }
      // What a line defines is not yet there for its own operands.
      for (let k = 0; k < names.length; k++) {
        const name = names[k] as string;
        if (definitions[k] && name.charCodeAt(0) === PERCENT) values.set(name, found[k] as number);
      }
      this.resolved.push(found);
      owners.leave(i);
      if (i % SLICE === SLICE - 1) yield;
    }
  }
}

/** Whose labels the current line defines and whose it names, as the number of a line. */
class Owners {
  private readonly levels: number[] = [];
  private readonly indices: number[] = [];
  private indentation = 0;
  private isLabel = false;
  private isEmpty = false;

  enter(line: string): void {
    let start = 0;
    while (line.charCodeAt(start) === SPACE) start++;
    this.indentation = start;
    this.isEmpty = start === line.length;
    this.isLabel = line.charCodeAt(start) === CARET;
  }

  leave(index: number): void {
    if (this.isLabel || this.isEmpty) return;
    while (this.levels.length > 0 && (this.levels.at(-1) as number) >= this.indentation) {
      this.levels.pop();
      this.indices.pop();
    }
    this.levels.push(this.indentation);
    this.indices.push(index);
  }

  own(): number {
    return this.isLabel ? this.owner(this.indentation) : -1;
  }

  branches(): number {
    return this.isLabel ? -1 : this.owner(this.indentation - 2);
  }

  private owner(indentation: number): number {
    for (let i = this.levels.length - 1; i >= 0; i--)
      if ((this.levels[i] as number) <= indentation) return this.indices[i] as number;
    return -1;
  }
}
