/** Machine code as rows: functions, lines of the source, labels, instructions; with the text of each. */

import type { Document } from "../documents";
import type { LineMap } from "../editor/lines";
import { userLineOf } from "../panels/chains";
import { type Instruction, instructionOf } from "./instruction";
import { type FunctionTable, type SassTable, peakOf } from "./table";

/** A stretch of a row's text that leads to an instruction of its function. */
export interface Link {
  from: number;
  to: number;
  instruction: number;
}

export interface Row {
  kind: "function" | "head" | "label" | "code";
  text: string;
  /** The listing's line that it shows, from 0; -1 for none. */
  line: number;
  table: FunctionTable;
  /** Of its function: the instruction, or for other rows the next one. */
  instruction: number;
  links: Link[];
  /** Whether a basic block begins here that no label begins. */
  begins?: boolean;
}

/** A row that stands above the instructions of one line. */
export interface Head extends Row {
  kind: "head";
  user: { file: string; line: number } | null;
  /** How much of its text names the line. */
  name: number;
  /** How many instructions are below it. */
  count: number;
  /** The last of its rows. */
  last: number;
}

export interface Code extends Row {
  kind: "code";
  parts: Instruction;
  /** Where the operands begin in the text. */
  operands: number;
  spills: boolean;
}

const GUARD = 6;
const OPCODE = 16;
const DEPTH = 2;

/** What rows need besides the code: names of files, and lines of the source. */
export interface Sources {
  nameOf(file: string): string;
  textOf(file: string, line: number): string | null;
}

export class SassRows {
  readonly rows: Row[] = [];
  readonly map: LineMap;
  private readonly rowOf = new Map<FunctionTable, Int32Array>();

  /** `range` are the first and the last line of the document that is shown. */
  constructor(
    readonly document: Document,
    readonly table: SassTable,
    private readonly sources: Sources,
    [first, last]: [number, number] = [0, document.lines.length - 1],
    private readonly heads = true,
  ) {
    for (const each of table.functions) {
      const own = document.listing?.functions.find(({ name }) => name === each.name);
      if (own !== undefined && own.first >= first && own.last <= last) this.add(each, own.first);
    }
    this.map = this.lineMap();
  }

  /** The number of the row, from 0, of an instruction. */
  of(table: FunctionTable, instruction: number): number {
    return this.rowOf.get(table)?.[instruction] ?? -1;
  }

  instruction(table: FunctionTable, number: number): Instruction {
    return (this.rows[this.of(table, number)] as Code).parts;
  }

  /** The line of the user's that an instruction is of, as `softmax.py:41`; empty for none. */
  owner(table: FunctionTable, number: number): string {
    const user = this.user(table, number);
    return user === null ? "" : `${this.sources.nameOf(user.file)}:${user.line}`;
  }

  private user(table: FunctionTable, number: number): { file: string; line: number } | null {
    const { places, table: known } = this.document;
    const place = known[places[table.lines[number] as number] ?? -1];
    return place === undefined ? null : userLineOf(place);
  }

  private add(table: FunctionTable, line: number): void {
    const { rows } = this;
    const own = new Int32Array(table.lines.length);
    this.rowOf.set(table, own);
    rows.push(this.functionRow(table, line));
    const labels = new Map(table.labels.map(([instruction, label, loop]) => [instruction, { label, loop }]));
    const coming = new Map<number, number[]>();
    for (const [branch, target] of table.targets) coming.set(target, [...(coming.get(target) ?? []), branch]);
    const targets = new Map<number, number[]>();
    for (const [branch, target] of table.targets) targets.set(branch, [...(targets.get(branch) ?? []), target]);
    const blocks = new Set(table.blocks);
    const spills = new Map(table.spills.map(([spill, ...values]) => [spill as number, values]));
    let head: Head | null = null;
    for (let i = 0; i < table.lines.length; i++) {
      const label = labels.get(i);
      let begins = i > 0 && blocks.has(i);
      if (label !== undefined) {
        rows.push(this.labelRow(table, i, label.label, label.loop, coming.get(i) ?? []));
        begins = false;
      }
      const user = this.user(table, i);
      if (head === null || user?.file !== head.user?.file || user?.line !== head.user?.line) {
        head = this.headRow(table, i, user);
        if (this.heads) {
          rows.push({ ...head, begins });
          head = rows.at(-1) as Head;
          begins = false;
        }
      }
      own[i] = rows.length;
      head.last = rows.length;
      head.count++;
      rows.push(this.codeRow(table, i, targets.get(i) ?? [], spills.get(i) ?? null, begins, labels));
    }
  }

  private functionRow(table: FunctionTable, line: number): Row {
    const peak = peakOf(table);
    const at = table.live.indexOf(peak);
    const facts = [`${table.lines.length.toLocaleString("en")} instructions`];
    if (table.registers !== null) facts.push(`${table.registers} registers`);
    if (table.spills.length > 0) facts.push(`${table.spills.length} spill${table.spills.length === 1 ? "" : "s"}`);
    const links: Link[] = [];
    let text = `${table.title}:  ${facts.join(", ")}`;
    if (at >= 0) {
      text += `, ${peak} live at most, at `;
      const address = instructionOf(this.document.lines[table.lines[at] as number] as string).address;
      links.push({ from: text.length, to: text.length + address.length, instruction: at });
      text += address;
    }
    return { kind: "function", text, line, table, instruction: 0, links };
  }

  private labelRow(table: FunctionTable, instruction: number, label: string, loop: number, coming: number[]): Row {
    let text = `${this.outside(table, instruction)}${label}:`;
    if (loop > 0) text += `  loop of ${loop} instruction${loop === 1 ? "" : "s"}`;
    const links: Link[] = [];
    coming.forEach((branch, i) => {
      text += i === 0 ? "  from " : ", ";
      const { address } = instructionOf(this.document.lines[table.lines[branch] as number] as string);
      links.push({ from: text.length, to: text.length + address.length, instruction: branch });
      text += address;
    });
    return { kind: "label", text, line: this.lineAbove(table, instruction, (line) => line.startsWith(`${label}:`)), table, instruction, links };
  }

  private headRow(table: FunctionTable, instruction: number, user: Head["user"]): Head {
    const name = user === null ? "no line of the source" : `${this.sources.nameOf(user.file)}:${user.line}`;
    const source = user && this.sources.textOf(user.file, user.line);
    const indent = this.outside(table, instruction);
    return {
      kind: "head",
      text: `${indent}${name}${source ? `  ${source.trim()}` : ""}`,
      line: this.lineAbove(table, instruction, (line) => line.includes("//## File")),
      table,
      instruction,
      links: [],
      user,
      name: indent.length + name.length,
      count: 0,
      last: -1,
    };
  }

  private codeRow(
    table: FunctionTable,
    instruction: number,
    targets: number[],
    spill: number[] | null,
    begins: boolean,
    labels: Map<number, { label: string }>,
  ): Code {
    const line = table.lines[instruction] as number;
    const parts = instructionOf(this.document.lines[line] as string);
    const indent = " ".repeat(DEPTH * this.depth(table, instruction));
    const guard = `${indent}${parts.guard.padEnd(GUARD)}`;
    const opcode = parts.operands === "" ? parts.opcode : `${parts.opcode.padEnd(OPCODE)} `;
    const operands = guard.length + opcode.length;
    let text = `${guard}${opcode}${parts.operands}`;
    const links = targets.flatMap((target) => {
      const label = labels.get(target)?.label ?? "";
      const from = label === "" ? -1 : text.indexOf(label, operands);
      return from < 0 ? [{ from: operands, to: text.length, instruction: target }] : [{ from, to: from + label.length, instruction: target }];
    });
    if (spill !== null) text += this.spillWords(table, instruction, spill, links, text.length);
    return { kind: "code", text, line, table, instruction, links, parts, operands, begins, spills: spill !== null };
  }

  /** What was spilled, as a comment; `links` are added to. */
  private spillWords(table: FunctionTable, instruction: number, values: number[], links: Link[], at: number): string {
    const [value] = values;
    if (value === undefined) return "  // spill";
    const { address, opcode } = instructionOf(this.document.lines[table.lines[value] as number] as string);
    // As short as it can be: beside the other panes there is little room.
    const begin = "  // spill of ";
    links.push({ from: at + begin.length, to: at + begin.length + address.length, instruction: value });
    const owner = this.owner(table, value);
    const more = values.length > 1 ? ` and ${values.length - 1} more` : "";
    return `${begin}${address} ${opcode}${owner !== "" && owner !== this.owner(table, instruction) ? `, ${owner}` : ""}${more}`;
  }

  private loops(table: FunctionTable, instruction: number): string {
    return this.table.loop_names[table.loops[instruction] ?? -1] ?? "";
  }

  private depth(table: FunctionTable, instruction: number): number {
    return this.loops(table, instruction).length / 2;
  }

  /** The indentation of what stands above an instruction: by the loops that do not begin at it. */
  private outside(table: FunctionTable, instruction: number): string {
    return " ".repeat(DEPTH * outerLoops(this.loops(table, instruction)));
  }

  /** A line between an instruction and the one before; -1 where none is such a line. */
  private lineAbove(table: FunctionTable, instruction: number, is: (line: string) => boolean): number {
    const end = instruction > 0 ? (table.lines[instruction - 1] as number) : -1;
    for (let line = (table.lines[instruction] as number) - 1; line > Math.max(end, 0); line--)
      if (is(this.document.lines[line] as string)) return line;
    return -1;
  }

  /** What the listing has and the rows have not leads to the next row. */
  private lineMap(): LineMap {
    const numbers = new Int32Array(this.document.lines.length).fill(-1);
    this.rows.forEach(({ line }, at) => {
      if (line >= 0) numbers[line] = at + 1;
    });
    let next = -1;
    for (let line = numbers.length - 1; line >= 0; line--) {
      if ((numbers[line] as number) > 0) next = numbers[line] as number;
      else numbers[line] = next;
    }
    return {
      documentLine: (number) => this.rows[number - 1]?.line ?? -1,
      editorLine: (line) => numbers[line] ?? -1,
    };
  }
}

/** How many loops are around what stands above an instruction with this drawing: those that do not begin at it. */
export function outerLoops(drawn: string): number {
  for (let at = 0; at < drawn.length; at += 2) if (drawn[at] === "┌" || drawn[at] === "─") return at / 2;
  return drawn.length / 2;
}
