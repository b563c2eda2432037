/**
 * Draws lanes on a canvas. Patterns and shapes tell what a warp did, colours what it was about: so is a wait for memory of
 * the colour of copies. Words say the same where there is room.
 */

import type { Ended, Kind, PathPart, Site } from "./data";
import type { Picture, Row } from "./rows";
import { type Window, ticks } from "./state";
import { AWAITED } from "./words";

export const AXIS = 18;
export const ROW = 26;
const BAR = 15;
const TOP = 3;

/** What is looked at, and lit. */
export interface Look {
  window: Window;
  unit: "ns" | "instructions";
  cursor: { row: number; span: number } | null;
  lit: (site: Site) => boolean;
}

/** Of what kind that is what a wait waited for. */
const ABOUT: Record<Ended, Kind> = { 0: "wait", 1: "copy", 2: "product", 3: "arrive", 4: "wait", 5: "wait" };

interface Colours {
  text: string;
  muted: string;
  line: string;
  background: string;
  lit: string;
  edge: string;
  path: string;
  kinds: Record<Kind | "run", string>;
}

const KIND_VARIABLES: Record<Kind | "run", string> = {
  run: "--timeline-run",
  wait: "--timeline-wait",
  barrier: "--timeline-barrier",
  arrive: "--timeline-arrive",
  copy: "--timeline-copy",
  product: "--timeline-product",
  mark: "--timeline-mark",
};

function coloursOf(element: Element): Colours {
  const style = getComputedStyle(element);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    text: of("--fg"),
    muted: of("--fg-muted"),
    line: of("--line"),
    background: of("--bg"),
    lit: of("--lit"),
    edge: of("--lit-edge"),
    path: of("--timeline-path"),
    kinds: Object.fromEntries(Object.entries(KIND_VARIABLES).map(([kind, name]) => [kind, of(name)])) as Colours["kinds"],
  };
}

export function heightOf(picture: Picture): number {
  return AXIS + picture.rows.length * ROW;
}

export function draw(canvas: HTMLCanvasElement, picture: Picture, sites: readonly Site[], look: Look): void {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, heightOf(picture)];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext("2d");
  if (context === null || width === 0) return;
  context.scale(ratio, ratio);
  new Drawing(context, coloursOf(canvas), width, height, look).all(picture, sites);
}

class Drawing {
  private readonly hatches = new Map<string, CanvasPattern | string>();

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly colours: Colours,
    private readonly width: number,
    private readonly height: number,
    private readonly look: Look,
  ) {
    context.font = `11px ${getComputedStyle(context.canvas).fontFamily}`;
    context.textBaseline = "middle";
  }

  private x(time: number): number {
    const { start, end } = this.look.window;
    return ((time - start) / (end - start || 1)) * this.width;
  }

  all(picture: Picture, sites: readonly Site[]): void {
    this.axis();
    picture.rows.forEach((row, number) => this.row(row, AXIS + number * ROW, sites));
    this.path(picture.path);
    const { cursor } = this.look;
    if (cursor !== null) this.cursor(picture, cursor);
  }

  private axis(): void {
    const { context, colours, look } = this;
    const steps = ticks(look.window, this.width / 90);
    const step = (steps[1] ?? 0) - (steps[0] ?? 0);
    const inMicros = look.unit === "ns" && look.window.end >= 10_000;
    const digits = Math.max(0, Math.ceil(-Math.log10((step || 1) / (inMicros ? 1000 : 1))));
    for (const time of steps) {
      const x = Math.round(this.x(time)) + 0.5;
      context.strokeStyle = colours.line;
      context.beginPath();
      context.moveTo(x, AXIS - 4);
      context.lineTo(x, this.height);
      context.stroke();
      const value = (inMicros ? time / 1000 : time).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
      const text = `${value}${look.unit === "instructions" ? "" : inMicros ? " µs" : " ns"}`;
      context.fillStyle = colours.muted;
      const wide = context.measureText(text).width;
      context.fillText(text, Math.max(0, Math.min(x + 3, this.width - wide)), 7);
    }
  }

  private row(row: Row, top: number, sites: readonly Site[]): void {
    const { context, colours } = this;
    const [first, last] = [Math.max(0, this.x(row.start)), Math.min(this.width, this.x(row.end))];
    context.fillStyle = colours.kinds.run;
    if (last > first) context.fillRect(first, top + TOP + BAR / 2 - 3, last - first, 6);
    const { starts, lengths, sites: numbers } = row.spans;
    const instants: number[] = [];
    let drawn = -Infinity;
    for (let i = 0; i < starts.length; i++) {
      const site = sites[numbers[i] ?? -1];
      if (site === undefined) continue;
      const x = this.x(starts[i] ?? 0);
      const end = x + this.scaled(lengths[i] ?? 0);
      if (end < -8 || x > this.width + 8) continue;
      if (site.kind === "arrive" || site.kind === "copy" || site.kind === "product" || (lengths[i] ?? 0) === 0) instants.push(i);
      // Of what is narrower than a pixel one stands for all.
      else if (end - drawn >= 0.5 || this.look.lit(site)) {
        this.span(row, i, site, x, end, top);
        drawn = end;
      }
    }
    for (const i of instants) {
      const site = sites[numbers[i] ?? -1];
      if (site !== undefined) this.instant(site, this.x(starts[i] ?? 0), top);
    }
    row.gaps.forEach(([start, end]) => this.gap(start, end, top));
  }

  private scaled(length: number): number {
    return this.x(this.look.window.start + length);
  }

  private span(row: Row, number: number, site: Site, from: number, to: number, top: number): void {
    const { context, colours } = this;
    const [x, end] = [Math.max(-2, from), Math.min(this.width + 2, to)];
    const wide = Math.max(1, end - x);
    const isLit = this.look.lit(site);
    if (isLit) this.light(x, wide, top);
    if (site.kind === "mark") {
      context.fillStyle = colours.kinds.mark;
      context.fillRect(x, top + 1, wide, 2);
      return;
    }
    const colour = site.kind === "wait" ? colours.kinds[ABOUT[row.ended[number] ?? 0]] : colours.kinds[site.kind];
    context.fillStyle = this.hatch(site.kind === "barrier", colour);
    context.fillRect(x, top + TOP, wide, BAR);
    context.strokeStyle = isLit ? colours.edge : colour;
    if (wide > 3) context.strokeRect(x + 0.5, top + TOP + 0.5, wide - 1, BAR - 1);
    const word = AWAITED[row.ended[number] ?? 0] || (site.kind === "barrier" ? "barrier" : "");
    const room = context.measureText(word).width + 8;
    if (word !== "" && wide > room) {
      context.fillStyle = colours.background;
      context.fillRect(x + 3, top + TOP + 2, room - 4, BAR - 4);
      context.fillStyle = colours.text;
      context.fillText(word, x + 5, top + TOP + BAR / 2 + 0.5);
    }
  }

  private light(x: number, wide: number, top: number): void {
    this.context.fillStyle = this.colours.lit;
    this.context.fillRect(x - 1, top, wide + 2, ROW - 1);
  }

  /** Up for an arrival, down for a copy, a diamond for products, a line for the rest. */
  private instant(site: Site, x: number, top: number): void {
    const { context, colours } = this;
    const isLit = this.look.lit(site);
    if (isLit) this.light(x - 4, 8, top);
    const [high, low, middle] = [top + TOP + 2, top + TOP + BAR - 2, top + TOP + BAR / 2];
    context.fillStyle = colours.kinds[site.kind];
    context.strokeStyle = isLit ? colours.edge : colours.background;
    context.beginPath();
    if (site.kind === "arrive") polygon(context, [x, high, x + 4, low, x - 4, low]);
    else if (site.kind === "copy") polygon(context, [x - 4, high, x + 4, high, x, low]);
    else if (site.kind === "product") polygon(context, [x, high, x + 4, middle, x, low, x - 4, middle]);
    else polygon(context, [x - 1, high, x + 1, high, x + 1, low, x - 1, low]);
    context.fill();
    context.stroke();
  }

  /** Stripes one way, or both. */
  private hatch(crossed: boolean, colour: string): CanvasPattern | string {
    const key = `${crossed} ${colour}`;
    const known = this.hatches.get(key);
    if (known !== undefined) return known;
    const tile = document.createElement("canvas");
    const ratio = window.devicePixelRatio || 1;
    tile.width = tile.height = 6 * ratio;
    const context = tile.getContext("2d");
    let found: CanvasPattern | string = colour;
    if (context !== null) {
      context.scale(ratio, ratio);
      context.fillStyle = this.colours.background;
      context.fillRect(0, 0, 6, 6);
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.beginPath();
      for (const by of [-6, 0, 6]) {
        context.moveTo(by - 1, 7);
        context.lineTo(by + 7, -1);
        if (crossed) {
          context.moveTo(by - 1, -1);
          context.lineTo(by + 7, 7);
        }
      }
      context.stroke();
      const pattern = this.context.createPattern(tile, "repeat");
      pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
      found = pattern ?? found;
    }
    this.hatches.set(key, found);
    return found;
  }

  private gap(start: number, end: number, top: number): void {
    const { context, colours } = this;
    const [x, last] = [Math.max(0, this.x(start)), Math.min(this.width, this.x(end))];
    if (last <= x) return;
    context.fillStyle = colours.background;
    context.fillRect(x, top, last - x, ROW - 1);
    context.fillStyle = colours.muted;
    const text = "not kept";
    if (last - x > context.measureText(text).width + 6) context.fillText(text, x + 3, top + TOP + BAR / 2);
  }

  /** Below the bars of the lanes that it goes through, and from lane to lane. */
  private path(parts: readonly PathPart[]): void {
    const { context, colours } = this;
    context.strokeStyle = context.fillStyle = colours.path;
    let before: PathPart | null = null;
    for (const part of parts) {
      const [row, start, end, cause] = part;
      const [x, last] = [Math.max(-2, this.x(start)), Math.min(this.width + 2, this.x(end))];
      const y = AXIS + row * ROW + TOP + BAR + 3;
      if (last >= x) {
        if (cause === "instructions") context.fillRect(x, y, Math.max(0.5, last - x), 3);
        else this.dashed(x, last, y);
      }
      // Of several periods that are laid over one another not all parts follow each other.
      const follows = before !== null && before[0] !== row && Math.abs(before[2] - start) < 0.2;
      if (before !== null && follows && x >= -2 && x <= this.width + 2) {
        const other = AXIS + before[0] * ROW + TOP + BAR + 4;
        context.beginPath();
        context.moveTo(x, other);
        context.lineTo(x, y + 1);
        context.stroke();
      }
      before = part;
    }
  }

  /** What is no warp's doing: in flight, on its way. */
  private dashed(x: number, end: number, y: number): void {
    const { context } = this;
    context.save();
    context.lineWidth = 3;
    context.setLineDash([4, 2]);
    context.beginPath();
    context.moveTo(x, y + 1.5);
    context.lineTo(Math.max(end, x + 0.5), y + 1.5);
    context.stroke();
    context.restore();
  }

  private cursor(picture: Picture, { row, span }: { row: number; span: number }): void {
    const { context, colours } = this;
    const spans = picture.rows[row]?.spans;
    const start = spans?.starts[span];
    if (spans === undefined || start === undefined) return;
    const [x, wide] = [this.x(start), this.scaled(spans.lengths[span] ?? 0)];
    context.save();
    context.strokeStyle = colours.text;
    context.lineWidth = 2;
    context.strokeRect(x - 4, AXIS + row * ROW + 1, wide + 8, BAR + 4);
    context.restore();
  }
}

function polygon(context: CanvasRenderingContext2D, points: readonly number[]): void {
  context.moveTo(points[0] ?? 0, points[1] ?? 0);
  for (let i = 2; i < points.length; i += 2) context.lineTo(points[i] ?? 0, points[i + 1] ?? 0);
  context.closePath();
}
