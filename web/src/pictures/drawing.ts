/** Draws the part of a grid that is on the screen, or all of it for a file, as SVG. */

import type { Axis, Grid, Layouts } from "../data";
import {
  Holders,
  bankOf,
  coordinateAt,
  indexAt,
  leadsToCoordinates,
  nested,
  offsetAt,
  rangeOf,
  sizeOf,
} from "./cells";

export type Label = "offset" | "index" | "coordinate" | "bank";

/** A grid with what its cells need to be drawn. */
export class Drawn {
  readonly rows: number;
  readonly columns: number;
  readonly holders: Holders | null;
  readonly hasBanks: boolean;
  readonly hasCoordinates: boolean;
  readonly range: [number, number];
  readonly bankCount: number;

  /** `whole` is the grid as CuTe has it, where `grid` shows it with other sides. */
  constructor(
    readonly grid: Grid,
    private readonly common: Layouts,
    private readonly whole: Grid = grid,
  ) {
    this.rows = sizeOf(grid.axes[0] as Axis);
    this.columns = sizeOf(grid.axes[1] as Axis);
    this.holders = grid.threads === undefined ? null : new Holders(grid);
    this.hasCoordinates = leadsToCoordinates(grid);
    this.hasBanks = grid.element_bits !== undefined && !this.hasCoordinates;
    this.range = rangeOf(grid);
    this.bankCount = common.bank_count;
  }

  /** The axes beyond rows and columns. */
  get further(): Axis[] {
    return this.grid.axes.slice(2);
  }

  bank(at: readonly number[]): number {
    return bankOf(offsetAt(this.grid, at), this.grid.element_bits ?? 32, this.common.bank_bits, this.common.bank_count);
  }

  /** The lines of a cell's label; none where the layout has nothing there. */
  label(at: readonly number[], label: Label): string[] {
    if (this.holders !== null) {
      if (label === "index") return [String(indexAt(this.grid, at))];
      const found = this.holders.at(indexAt(this.grid, at));
      if (found === null) return [];
      return [`T${found.thread}`, `V${found.value}`, ...(found.more > 0 ? [`+${found.more}`] : [])];
    }
    if (label === "index") return [String(indexAt(this.grid, at))];
    if (label === "coordinate") return [this.coordinate(at)];
    if (this.hasCoordinates) return [coordinateAt(this.grid, at)];
    return [String(label === "bank" ? this.bank(at) : offsetAt(this.grid, at))];
  }

  colour(at: readonly number[]): string {
    const { colours } = this.common;
    if (this.holders !== null) {
      const found = this.holders.at(indexAt(this.grid, at));
      return found === null ? "#ffffff" : (colours.groups[found.thread % colours.groups.length] as string);
    }
    if (this.hasCoordinates) return "#ffffff";
    if (this.hasBanks) return colours.banks[this.bank(at)] as string;
    const [low, high] = this.range;
    return scaled(colours.scale, (offsetAt(this.grid, at) - low) / Math.max(1, high - low));
  }

  /** The coordinate of a cell as CuTe spells it. */
  coordinate(at: readonly number[]): string {
    let index = indexAt(this.grid, at);
    const parts = this.whole.axes.map((axis) => {
      const size = sizeOf(axis);
      const own = index % size;
      index = Math.floor(index / size);
      return nested(axis, own);
    });
    // Of a layout with one mode, the rows are not its own.
    return this.whole.axes[0]?.shape === "1" && this.whole.axes[0].modes.length === 0 ? (parts[1] as string) : `(${parts.join(",")})`;
  }

  /** All about a cell, for the line below the grid. */
  about(at: readonly number[]): string {
    const parts = [`coordinate ${this.coordinate(at)}`, `index ${indexAt(this.grid, at)}`];
    if (this.holders !== null) {
      const all = this.holders.all(indexAt(this.grid, at), 8);
      const found = this.holders.at(indexAt(this.grid, at));
      const more = (found?.more ?? 0) + 1 - all.length;
      parts.push(all.length === 0 ? "no thread" : `${all.join(", ")}${more > 0 ? ` and ${more} more` : ""}`);
    } else if (this.hasCoordinates) parts.push(`leads to ${coordinateAt(this.grid, at)}`);
    else {
      parts.push(`offset ${offsetAt(this.grid, at)}`);
      if (this.hasBanks) {
        const first = this.bank(at);
        const wide = Math.floor((this.grid.element_bits ?? 0) / this.common.bank_bits);
        parts.push(wide > 1 ? `banks ${first}–${first + wide - 1}` : `bank ${first}`);
      }
    }
    return parts.join(" · ");
  }
}

function scaled(scale: readonly string[], position: number): string {
  const at = Math.min(1, Math.max(0, position)) * (scale.length - 1);
  const first = Math.min(Math.floor(at), scale.length - 2);
  const [a, b] = [scale[first] as string, scale[first + 1] as string];
  const share = at - first;
  const channel = (place: number) => {
    const [from, to] = [a, b].map((colour) => parseInt(colour.slice(place, place + 2), 16)) as [number, number];
    return Math.round(from + (to - from) * share)
      .toString(16)
      .padStart(2, "0");
  };
  return `#${channel(1)}${channel(3)}${channel(5)}`;
}

/** Pixels, before zooming. */
export interface Sizes {
  cell: [width: number, height: number];
  /** Room for the coordinates of rows and of columns. */
  margin: [left: number, top: number];
  font: number;
}

const INK = "#16191d";
const ADVANCE = 0.62;

export function sizesOf(drawn: Drawn, label: Label, zoom: number): Sizes {
  const { rows, columns, grid } = drawn;
  const rest = drawn.further.map(() => 0);
  let lines = 1;
  let longest = 1;
  // Labels grow to the ends; a cell in the middle stands for those in between.
  for (const row of [0, rows >> 1, rows - 1])
    for (const column of [0, columns >> 1, columns - 1]) {
      const found = drawn.label([row, column, ...rest], label);
      lines = Math.max(lines, found.length);
      for (const text of found) longest = Math.max(longest, text.length);
    }
  if (drawn.holders !== null && label !== "index")
    longest = Math.max(longest, `T${drawn.holders.threads - 1}`.length, `V${drawn.holders.values - 1}`.length);
  else if (label === "offset" && !drawn.hasCoordinates) longest = Math.max(longest, String(drawn.range[1]).length);
  longest = Math.max(longest, String(columns - 1).length);
  const font = 11.5 * zoom;
  const width = Math.max(18 * zoom, longest * font * ADVANCE + 8 * zoom);
  const height = (8 + 14 * lines) * zoom;
  const left = Math.max(2, nested(grid.axes[0] as Axis, rows - 1).length, String(rows - 1).length) * 11 * ADVANCE + 14;
  return { cell: [Math.round(width), Math.round(height)], margin: [Math.round(left), 22], font };
}

const SVG = "http://www.w3.org/2000/svg";

function element(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Which rows and columns are drawn, the last one left out. */
export interface Window {
  rows: [from: number, to: number];
  columns: [from: number, to: number];
}

export interface Look {
  drawn: Drawn;
  label: Label;
  slice: readonly number[];
  sizes: Sizes;
  window: Window;
  /** Of coordinates beside the grid. */
  ink: string;
  /** The cell that is pointed at. */
  marked: [row: number, column: number] | null;
  /** Pixels that the first row and column are scrolled away by. */
  shift: [x: number, y: number];
}

/** The cells of a window with the coordinates beside them. */
export function draw({ drawn, label, slice, sizes, window, ink, marked, shift }: Look): SVGElement[] {
  const [width, height] = sizes.cell;
  const [left, top] = sizes.margin;
  const x = (column: number) => left + (column - window.columns[0]) * width - shift[0];
  const y = (row: number) => top + (row - window.rows[0]) * height - shift[1];
  const fills = element("g", { stroke: "none" });
  const labels = element("g", {
    fill: INK,
    "font-size": sizes.font,
    "text-anchor": "middle",
    "font-family": 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace',
  });
  const readable = sizes.font >= 6;
  for (let row = window.rows[0]; row < window.rows[1]; row++) {
    for (let column = window.columns[0]; column < window.columns[1]; column++) {
      const at = [row, column, ...slice];
      fills.append(element("rect", { x: x(column), y: y(row), width, height, fill: drawn.colour(at) }));
      if (!readable) continue;
      const lines = drawn.label(at, label);
      const step = sizes.font * 1.2;
      const first = y(row) + height / 2 - ((lines.length - 1) * step) / 2 + sizes.font * 0.36;
      lines.forEach((line, index) =>
        labels.append(element("text", { x: x(column) + width / 2, y: Math.round((first + index * step) * 10) / 10 }, line)),
      );
    }
  }
  const ends = { x: [x(window.columns[0]), x(window.columns[1])], y: [y(window.rows[0]), y(window.rows[1])] } as const;
  const lines = element("g", { stroke: INK, fill: "none" });
  const axes = drawn.grid.axes as [Axis, Axis, ...Axis[]];
  for (let row = window.rows[0]; row <= window.rows[1]; row++) {
    const level = levelOf(axes[0], row, drawn.rows);
    lines.append(element("path", { d: `M${ends.x[0]} ${y(row)}H${ends.x[1]}`, ...weight(level) }));
  }
  for (let column = window.columns[0]; column <= window.columns[1]; column++) {
    const level = levelOf(axes[1], column, drawn.columns);
    lines.append(element("path", { d: `M${x(column)} ${ends.y[0]}V${ends.y[1]}`, ...weight(level) }));
  }
  const parts = [fills, labels, lines];
  parts.push(...coordinates(drawn, sizes, window, ink, x, y));
  // Over the coordinates, unless the cell is scrolled below them.
  if (marked !== null && x(marked[1]) >= left && y(marked[0]) >= top) {
    const [row, column] = marked;
    parts.push(element("rect", { x: x(column), y: y(row), width, height, fill: "none", stroke: INK, "stroke-width": 3 }));
  }
  return parts;
}

/** Row numbers at the left and column numbers on top, over cells that are scrolled below them. */
function coordinates(
  drawn: Drawn,
  sizes: Sizes,
  window: Window,
  ink: string,
  x: (column: number) => number,
  y: (row: number) => number,
): SVGElement[] {
  const [width, height] = sizes.cell;
  const [left, top] = sizes.margin;
  const style = { fill: ink, "font-size": 11, "font-family": 'ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace' };
  const columns = element("g", { ...style, "text-anchor": "middle" });
  const rows = element("g", { ...style, "text-anchor": "end" });
  const everyColumn = Math.max(1, Math.ceil((String(drawn.columns - 1).length * 11 * ADVANCE + 4) / width));
  const everyRow = Math.max(1, Math.ceil(12 / height));
  const right = x(window.columns[1]);
  const bottom = y(window.rows[1]);
  const backs = [
    element("rect", { x: 0, y: 0, width: Math.max(right, left), height: top, class: "back" }),
    element("rect", { x: 0, y: 0, width: left, height: Math.max(bottom, top), class: "back" }),
  ];
  for (let column = window.columns[0]; column < window.columns[1]; column++)
    if (column % everyColumn === 0 && x(column) + width / 2 > left)
      columns.append(element("text", { x: x(column) + width / 2, y: top - 7 }, String(column)));
  for (let row = window.rows[0]; row < window.rows[1]; row++)
    if (row % everyRow === 0 && y(row) + height / 2 > top)
      rows.append(element("text", { x: left - 7, y: y(row) + height / 2 + 4 }, nested(drawn.grid.axes[0] as Axis, row)));
  const corner = element("rect", { x: 0, y: 0, width: left, height: top, class: "back" });
  return [...backs, columns, rows, corner];
}

/** The outermost mode of an axis that begins at an index; the edge of the grid is above all. */
function levelOf(axis: Axis, index: number, size: number): number {
  if (index === 0 || index === size) return 2;
  let step = 1;
  let level = 0;
  const sizes = axis.modes.map(([each]) => each).filter((each) => each > 1);
  for (const each of sizes.slice(0, -1)) {
    step *= each;
    if (index % step !== 0) break;
    level++;
  }
  return level;
}

function weight(level: number): Record<string, string | number> {
  return level === 0 ? { "stroke-opacity": 0.22 } : { "stroke-width": Math.min(1 + 0.6 * level, 2.8) };
}

/** Cells that a file takes; more are cut to a window. */
export const MOST_IN_FILE = 16_384;

/** A picture as a file's text: the whole slice, or of a larger one the rows and columns from `corner` on. */
export function svgText(title: string, look: Omit<Look, "window" | "ink" | "marked" | "shift">, corner: [number, number]): string {
  const { drawn, sizes } = look;
  const whole = drawn.rows * drawn.columns <= MOST_IN_FILE;
  const rows: [number, number] = whole ? [0, drawn.rows] : [corner[0], Math.min(drawn.rows, corner[0] + 128)];
  const columns: [number, number] = whole ? [0, drawn.columns] : [corner[1], Math.min(drawn.columns, corner[1] + 128)];
  const width = sizes.margin[0] + (columns[1] - columns[0]) * sizes.cell[0] + 12;
  const height = sizes.margin[1] + (rows[1] - rows[0]) * sizes.cell[1] + 40;
  const svg = element("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}`, role: "img" });
  svg.append(element("title", {}, title), element("style", {}, ".back{fill:#fff}"));
  svg.append(element("rect", { width, height, fill: "#ffffff" }));
  const group = element("g", { transform: "translate(4 26)" });
  group.append(...draw({ ...look, window: { rows, columns }, ink: "#4b535d", marked: null, shift: [0, 0] }));
  svg.append(element("text", { x: 8, y: 17, fill: INK, "font-size": 13, "font-family": "monospace" }, title), group);
  return new XMLSerializer().serializeToString(svg);
}
