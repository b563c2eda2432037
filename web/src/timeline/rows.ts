/** What the lanes of a picture show: of a block, and of a period. */

import type { Block, Ended, Group, PathPart, Site, Spans, Steady, Waits } from "./data";
import { awaitedText } from "./words";

/** A line of the picture. */
export interface Row {
  title: string;
  role: Group["role"];
  /** When it begins and ends. */
  start: number;
  end: number;
  /** Times of which nothing is kept. */
  gaps: [start: number, end: number][];
  spans: Spans;
  ended: Ended[];
  /** What each wait was for, in words; empty for what is none. */
  awaited: (span: number) => string;
  /** Of a group: its key, and whether its warps are shown. Null for a single warp. */
  group: { key: string; open: boolean } | null;
}

/** Everything that a picture shows. */
export interface Picture {
  rows: Row[];
  start: number;
  end: number;
  /** Lanes are rows. */
  path: PathPart[];
}

export function ofBlock(block: Block, sites: readonly Site[], open: ReadonlySet<string>): Picture {
  const rows: Row[] = [];
  const rowOf = new Map<number, number>();
  for (const group of block.groups) {
    const lanes = group.warps.map((warp) => block.lanes.findIndex((lane) => lane.warp === warp)).filter((at) => at >= 0);
    const key = group.warps.join();
    const several = lanes.length > 1;
    const isOpen = several && open.has(key);
    for (const [number, at] of lanes.entries()) {
      if (number === 0 || isOpen) {
        const title = number === 0 ? group.title : "";
        rows.push(rowOfLane(block, at, sites, isOpen ? `warp ${block.lanes[at]?.warp}` : title, several && number === 0 ? { key, open: isOpen } : null));
      }
      rowOf.set(at, rows.length - 1);
    }
  }
  const path = block.path.map((part): PathPart => [rowOf.get(part[0]) ?? 0, part[1], part[2], part[3], part[4]]);
  return { rows, start: block.start, end: block.end, path };
}

function rowOfLane(block: Block, at: number, sites: readonly Site[], title: string, group: Row["group"]): Row {
  const { role, start, end, kept, spans, ended, ended_by } = block.lanes[at] as Block["lanes"][number];
  const awaited = (span: number) => {
    const by = ended_by[span];
    return awaitedText(ended[span] ?? 0, by ? `warp ${by[0]}` : "", by ? sites[by[1]] : undefined);
  };
  const gaps = kept.slice(1).map(([start], i): [number, number] => [kept[i]?.[1] ?? start, start]);
  return { title, role, start, end, gaps, spans, ended, awaited, group };
}

/** One period; what goes on beyond its end is what went on at its beginning. */
export function ofSteady(steady: Steady, sites: readonly Site[]): Picture {
  const { period } = steady;
  const rows = steady.lanes.map((lane): Row => {
    const { spans, from } = folded(lane, period);
    const awaited = (span: number) => {
      const index = from[span] ?? 0;
      const by = lane.ended_by[index];
      return awaitedText(lane.ended[index] ?? 0, by ? (steady.lanes[by[0]]?.title ?? "") : "", by ? sites[by[1]] : undefined);
    };
    const ended = from.map((index) => lane.ended[index] ?? 0);
    const turns = lane.turns === 1 ? "" : `, ${lane.turns} turns`;
    return { title: `${lane.title}${turns}`, role: lane.role, start: 0, end: period, gaps: [], spans, ended, awaited, group: null };
  });
  return { rows, start: 0, end: period, path: steady.path };
}

/** The spans of a lane within one period, in their order, and of each which one it is, or a part of. */
export function folded({ spans }: Waits, period: number): { spans: Spans; from: number[] } {
  const parts: [start: number, length: number, site: number, from: number][] = [];
  spans.starts.forEach((begin, i) => {
    const [site, length] = [spans.sites[i] ?? 0, Math.min(spans.lengths[i] ?? 0, period)];
    const start = ((begin % period) + period) % period;
    const inside = Math.min(length, period - start);
    parts.push([start, inside, site, i]);
    if (length > inside) parts.push([0, length - inside, site, i]);
  });
  parts.sort((a, b) => a[0] - b[0] || a[3] - b[3]);
  return {
    spans: { starts: parts.map(([start]) => start), lengths: parts.map(([, length]) => length), sites: parts.map(([, , site]) => site) },
    from: parts.map(([, , , from]) => from),
  };
}

/** The span of a row at a time: the shortest that holds it, else the nearest instant within `reach`; -1 for none. */
export function spanAt({ spans }: Row, time: number, reach: number): number {
  let [best, score] = [-1, Infinity];
  for (let i = 0; i < spans.starts.length; i++) {
    const [start, length] = [spans.starts[i] ?? 0, spans.lengths[i] ?? 0];
    const away = Math.max(start - time, time - start - length, 0);
    if (away > reach) continue;
    // Instants go first: they are small.
    const found = away + length;
    if (found < score) [best, score] = [i, found];
  }
  return best;
}
