/**
 * Code without the names of registers: lines of PTX and SASS that are the same but for a consistent renaming of
 * registers, predicates, barriers and labels are the same line.
 *
 * A register of PTX is virtual, and has one name for its whole life. One of SASS holds many values, one after the other;
 * which they are is known where the listing was made (`cutecc/report/live_ranges.py`).
 */

import { operandsOf } from "../sass/instruction";
import type { Abstract, Sided } from "./abstract";
import { SLICE, type Sliced } from "./slices";

/** The registers of a text to compare. */
export interface Registers {
  kind: "ptx" | "sass";
  /** Of SASS, for each line as `Listing.values` has them. */
  values: readonly (readonly number[])[];
}

const LABEL = /\.L_[\w]+|\$L__\w+|\$__internal_\d+/g;
const BARRIER = /\bS?B\d+\b/g;
const VIRTUAL = /%[\w$.-]+/g;
const NUMBERED = /^%[a-z]+\d+$/;
/** Registers of the machine that have numbers. */
const SPECIAL = /^%(?:envreg|pm|clock)\d+$/;
const DECLARED = /^(\s*\.reg \S+\s+%\w+)<\d+>/;
const OPERANDS = /^\s*(?:@!?U?P\w+\s+)?\S+\s+/;

export function* codeSide(lines: readonly string[], registers: Registers): Sliced<Sided> {
  const names = new Names();
  const side: Sided = { lines: [], resolved: [] };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string;
    const read = registers.kind === "ptx" ? ptx(line, names) : sass(line, registers.values[i] ?? [], names);
    side.lines.push(read.abstract);
    side.resolved.push(read.numbers);
    if (line.startsWith("}")) names.leave();
    if (i % SLICE === SLICE - 1) yield;
  }
  return side;
}

interface Read {
  abstract: Abstract;
  numbers: number[];
}

/** A number for each name, the same wherever it stands in a function. */
class Names {
  private readonly numbers = new Map<string, number>();
  private next = 1;

  /** And whether it was met for the first time. */
  number(name: string): [number: number, first: boolean] {
    const known = this.numbers.get(name);
    if (known !== undefined) return [known, false];
    this.numbers.set(name, this.next);
    return [this.next++, true];
  }

  /** What follows is another function. */
  leave(): void {
    for (const name of this.numbers.keys()) if (name.startsWith("%")) this.numbers.delete(name);
  }
}

function ptx(line: string, names: Names): Read {
  const found: string[] = [];
  let key = line.trim().replace(DECLARED, "$1<>");
  key = key.replace(VIRTUAL, (name) => {
    found.push(name);
    return NUMBERED.test(name) && !SPECIAL.test(name) ? name.replace(/\d+$/, "") : name;
  });
  return read(withoutLabels(key, found), found, names);
}

/** Labels have their names added to `found`. */
function withoutLabels(text: string, found: string[]): string {
  return text.replace(LABEL, (name) => {
    found.push(name);
    return name.replace(/\d+/g, "");
  });
}

function read(key: string, found: readonly string[], names: Names): Read {
  const numbers: number[] = [];
  const definitions: boolean[] = [];
  for (const name of found) {
    const [number, first] = names.number(name);
    numbers.push(number);
    definitions.push(first);
  }
  return { abstract: { key, names: [...found], definitions }, numbers };
}

function sass(line: string, values: readonly number[], names: Names): Read {
  const text = line.trim();
  const found: string[] = [];
  if (values.length === 0) return read(withoutLabels(text, found), found, names);
  const [written = 0, reads = 0, ...numbers] = values;
  const operands = operandsOf(text, OPERANDS.exec(text)?.[0].length ?? 0, written);
  // Which operands are the same register is part of what an instruction does.
  const order = new Map<string, number>();
  let key = "";
  let position = 0;
  for (const { name, kind, from, to, written: isResult } of operands) {
    if (!isResult && !order.has(name)) order.set(name, order.size);
    key += `${text.slice(position, from)}${kind}${isResult ? "" : `#${order.get(name)}`}`;
    position = to;
  }
  key = withoutLabels(`${key}${text.slice(position)}`.replace(BARRIER, (name) => name.replace(/\d+$/, "")), found);
  const labels = read(`${key} ${reads} ${numbers.length}`, found, names);
  // Values have numbers of their own, in which those of labels are not.
  const own = numbers.map((value) => names.number(`value ${value}`));
  return {
    abstract: {
      key: labels.abstract.key,
      names: [],
      definitions: [...own.map(([, first], k) => first && k >= reads), ...labels.abstract.definitions],
    },
    numbers: [...own.map(([number]) => number), ...labels.numbers],
  };
}
