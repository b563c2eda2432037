/** Definitions and uses of registers, between the instructions of a function. */

import { type Operand, operandWith, operandsOf } from "./instruction";
import type { Code, SassRows } from "./rows";
import type { FunctionTable } from "./table";

/** By an instruction the registers of it that are meant. */
export type Meant = Map<number, Set<string>>;

/** What is asked about an instruction or one of its operands. */
export interface Relations {
  /** In words: `R4`, or the instruction's opcode. */
  name: string;
  /** The instructions that may have written what is read. */
  definitions: Meant;
  /** The instructions that may read what is written. */
  uses: Meant;
}

type Edge = [register: string, instruction: number];

export class DefUse {
  private readonly sourcesOf = new WeakMap<FunctionTable, Edge[][]>();
  private readonly usersOf = new WeakMap<FunctionTable, Edge[][]>();

  constructor(private readonly rows: SassRows) {}

  operands(row: Code): Operand[] {
    return operandsOf(row.text, row.operands, row.table.written[row.instruction] ?? 0);
  }

  /** Of the register at a column of a row, or where there is none of the whole instruction. */
  at(row: Code, column: number): Relations {
    const operands = this.operands(row);
    const here = operands.find(({ from, to }) => from <= column && column <= to) ?? null;
    const read = operands.filter(({ written }) => !written);
    const written = operands.filter((each) => each.written);
    const definitions: Meant = new Map();
    const uses: Meant = new Map();
    if (here?.written !== true)
      for (const [register, from] of this.sources(row.table)[row.instruction] ?? [])
        if (here === null || operandWith(read, register)?.name === here.name) put(definitions, from, register);
    if (here?.written !== false)
      for (const [register, to] of this.users(row.table)[row.instruction] ?? [])
        if (here === null || operandWith(written, register)?.name === here.name) put(uses, to, register);
    return { name: here?.name ?? row.parts.opcode, definitions, uses };
  }

  private sources(table: FunctionTable): Edge[][] {
    let known = this.sourcesOf.get(table);
    if (known === undefined) {
      known = table.sources.map((pairs, at) =>
        Array.from({ length: pairs.length / 2 }, (_, i): Edge => [
          this.rows.table.registers[pairs[2 * i] as number] ?? "",
          at - (pairs[2 * i + 1] as number),
        ]),
      );
      this.sourcesOf.set(table, known);
    }
    return known;
  }

  private users(table: FunctionTable): Edge[][] {
    let known = this.usersOf.get(table);
    if (known === undefined) {
      const found: Edge[][] = table.lines.map(() => []);
      this.sources(table).forEach((edges, user) => edges.forEach(([register, from]) => found[from]?.push([register, user])));
      known = found;
      this.usersOf.set(table, known);
    }
    return known;
  }
}

function put(meant: Meant, instruction: number, register: string): void {
  const known = meant.get(instruction);
  if (known === undefined) meant.set(instruction, new Set([register]));
  else known.add(register);
}

const MOST = 6;

/** Where the definitions and the uses are, a sentence each; none for an operand that nothing is known of. */
export function relationWords(rows: SassRows, row: Code, { name, definitions, uses }: Relations): string[] {
  const places = (meant: Meant): string => {
    const all = [...meant.keys()].sort((a, b) => a - b);
    const shown = all.slice(0, MOST).map((each) => {
      const { address, opcode } = rows.instruction(row.table, each);
      const owner = rows.owner(row.table, each);
      return `${address} ${opcode}${owner === "" ? "" : ` (${owner})`}`;
    });
    return all.length > MOST ? `${shown.join(", ")} and ${all.length - MOST} more` : shown.join(", ");
  };
  const words: string[] = [];
  if (definitions.size > 0) words.push(`${name} reads what is written at ${places(definitions)}`);
  if (uses.size > 0) words.push(`${name} is read at ${places(uses)}`);
  return words;
}
