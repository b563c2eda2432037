/** An instruction of nvdisasm's text in its parts. */

export interface Instruction {
  /** In its function, hexadecimal. */
  address: string;
  /** With its @; empty for none. */
  guard: string;
  opcode: string;
  operands: string;
}

const LINE = /^\s*\/\*([0-9a-f]{4,})\*\/\s+(?:(@!?U?P\w+)\s+)?([^\s;]+)\s*([^;]*?)\s*;/;
/** What `cutecc.sass` leaves out, too. */
const SPILL = /\s*\(\*"SpillRefill"\*\)$/;
const LABEL = /`\(((?:\.L_|\$)[^)]*)\)/g;

export function instructionOf(line: string): Instruction {
  const [, address = "", guard = "", opcode = line.trim(), operands = ""] = LINE.exec(line) ?? [];
  return { address, guard, opcode, operands: operands.replace(SPILL, "").replace(LABEL, "$1") };
}

/** A register that an instruction's text names. */
export interface Operand {
  name: string;
  /** `R`, `UR`, `P`, `UP`. */
  kind: string;
  number: number;
  /** In the text. */
  from: number;
  to: number;
  written: boolean;
}

const REGISTER = /(?<![\w.$])(U?[RP])(\d{1,3})\b/g;

/** The registers in a text whose operands begin at `begin`, of which the first `written` are results. */
export function operandsOf(text: string, begin: number, written: number): Operand[] {
  const found: Operand[] = [];
  const end = text.indexOf("//", begin);
  for (const match of text.matchAll(REGISTER)) {
    if (end >= 0 && match.index >= end) break;
    const before = match.index >= begin ? commas(text, begin, match.index) : Infinity;
    const [name, kind = "", number = ""] = match;
    found.push({ name, kind, number: Number(number), from: match.index, to: match.index + name.length, written: before < written });
  }
  return found;
}

/** Commas between operands, which are not those in brackets. */
function commas(text: string, from: number, to: number): number {
  let [count, depth] = [0, 0];
  for (let i = from; i < to; i++) {
    const char = text[i];
    if (char === "[" || char === "(") depth++;
    else if (char === "]" || char === ")") depth--;
    else if (char === "," && depth === 0) count++;
  }
  return count;
}

/**
 * Which of `operands` a register is part of: the one of its kind that begins nearest below it, as `R5` is of `R4` in
 * `LDG.E.128 R4, …`. A word of the stack is part of its address.
 */
export function operandWith(operands: readonly Operand[], register: string): Operand | null {
  const [, kind = "R", digits = "1"] = /^(U?[RP])(\d+)$/.exec(register) ?? [];
  const number = Number(digits);
  let best: Operand | null = null;
  for (const each of operands)
    if (each.kind === kind && each.number <= number && (best === null || each.number > best.number)) best = each;
  return best;
}
