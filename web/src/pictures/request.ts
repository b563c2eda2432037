/** What a picture of a warp's request shows, worked out of the numbers that a remark carries. */

import type { RequestPicture, WarpRequest } from "../data";

export const THREADS = 32;
export const BANKS = 32;
const WORD = 4;
const SECTOR = 32;
const LINE = 128;

/** What one thread accesses: some columns of the grid, next to each other. */
export interface Mark {
  thread: number;
  column: number;
  columns: number;
  /** From 1, as people count. */
  turn: number;
  /** It waits for other words of its bank; or nobody uses the rest of its sector. */
  costs: boolean;
}

export interface Figure {
  /** Banks, or the sectors that are touched, in order. */
  columns: string[];
  /** Columns before which a line of 128 bytes begins. */
  lines: number[];
  marks: Mark[];
  /** Below each column: the wavefronts that use the bank, or the bytes of the sector that threads use. */
  feet: number[];
  /** Wavefronts or sectors. */
  taken: number;
}

export const unitOf = (picture: RequestPicture, count: number): string =>
  `${count} ${picture.space === "shared" ? "wavefront" : "sector"}${count === 1 ? "" : "s"}`;

export function takenBy(request: WarpRequest): number {
  return Math.max(...request.turns) + 1;
}

export function figureOf(picture: RequestPicture, request: WarpRequest): Figure {
  return picture.space === "shared" ? banks(picture.size, request) : sectors(picture.size, request);
}

/** The banks of a thread, the first and the last; -1 for a thread that accesses nothing. */
export function banksOf(offset: number, size: number): [number, number] {
  if (offset < 0) return [-1, -1];
  const first = Math.floor(offset / WORD) % BANKS;
  return [first, first + Math.max(1, size / WORD) - 1];
}

function banks(size: number, request: WarpRequest): Figure {
  const used = Array.from({ length: BANKS }, () => new Set<number>());
  const marks: Mark[] = [];
  request.offsets.forEach((offset, thread) => {
    if (offset < 0) return;
    const [column, last] = banksOf(offset, size);
    const turn = (request.turns[thread] as number) + 1;
    for (let bank = column; bank <= last; bank++) used[bank]?.add(turn);
    marks.push({ thread, column, columns: last - column + 1, turn, costs: (request.before[thread] ?? 0) > 0 });
  });
  const columns = Array.from({ length: BANKS }, (_, bank) => String(bank));
  return { columns, lines: [], marks, feet: used.map((each) => each.size), taken: takenBy(request) };
}

function sectors(size: number, request: WarpRequest): Figure {
  const taken = takenBy(request);
  const used = Array.from({ length: taken }, () => new Set<number>());
  const starts = new Array<number>(taken).fill(0);
  request.offsets.forEach((offset, thread) => {
    if (offset < 0) return;
    const column = request.turns[thread] as number;
    starts[column] = Math.floor(offset / SECTOR) * SECTOR;
    for (let byte = offset; byte < offset + size; byte++) used[column]?.add(byte);
  });
  const feet = used.map((each) => each.size);
  const marks = request.offsets.flatMap((offset, thread) => {
    const column = request.turns[thread] as number;
    return offset < 0 ? [] : [{ thread, column, columns: 1, turn: column + 1, costs: (feet[column] as number) < SECTOR }];
  });
  const lineOf = (column: number) => Math.floor((starts[column] as number) / LINE);
  const lines = starts.map((_, column) => column).filter((column) => column > 0 && lineOf(column) !== lineOf(column - 1));
  return { columns: starts.map((_, column) => String(column + 1)), lines, marks, feet, taken };
}

/** All about a thread, in words. */
export function aboutThread(picture: RequestPicture, request: WarpRequest, thread: number): string {
  const offset = request.offsets[thread] as number;
  if (offset < 0) return "accesses nothing";
  const at = `offset ${offset.toLocaleString("en")} bytes`;
  const turn = (request.turns[thread] as number) + 1;
  if (picture.space === "global") return `${at}, sector ${turn}`;
  const waits = request.before[thread] ?? 0;
  const behind = waits > 0 ? `, behind ${waits} other word${waits === 1 ? "" : "s"} of its bank` : "";
  return `${at}, ${bankText(offset, picture.size)}, wavefront ${turn}${behind}`;
}

/** `bank 3`, `banks 4–7`. */
export function bankText(offset: number, size: number): string {
  const [first, last] = banksOf(offset, size);
  return first === last ? `bank ${first}` : `banks ${first}–${last}`;
}

/** The command that draws the same threads in a terminal; empty where no layout says where they are. */
export function commandOf(picture: RequestPicture): string {
  if (picture.space !== "shared" || picture.layout === null) return "";
  const swizzle = picture.swizzle === null ? "" : ` --swizzle ${picture.swizzle.replace(/[S<>]/g, "")}`;
  return `cutecc layout '${picture.layout}'${swizzle} --banks --element-bits ${8 * picture.unit}`;
}
