/** The values of a measure: of each line of a listing, and of each line of Python, its own and with what it calls. */

import type { Measure, Place, Points } from "../data";
import { type Chains, type LineKey, lineKey } from "../panels/chains";
import { keysOf } from "../panels/line-index";

/** Of one or several instructions. */
export interface Amount {
  value: number;
  /** Of a ratio, what the value is divided by. */
  over: number;
  parts: Map<string, number>;
}

/** What is known of a line of Python. */
export interface LineAmounts {
  /** Of the instructions that belong to the line; a library's belong to the line that called it. */
  self: Amount | null;
  /** Also of those that came about through a call in it; null where that is not known. */
  inclusive: Amount | null;
}

/** A listing as far as values need it. */
export interface Listed {
  file: string;
  places: ArrayLike<number>;
  table: readonly Place[];
  /** For each line its class, -1 where there is no instruction; of PTX not known. */
  classes: readonly number[];
}

/** The number that people see. */
export function shownNumber(measure: Measure, amount: Amount): number {
  if (measure.combine !== "ratio") return amount.value;
  return amount.over === 0 ? 0 : amount.value / amount.over;
}

function join(measure: Measure, known: Amount | null | undefined, other: Amount): Amount {
  if (known == null) return { ...other, parts: new Map(other.parts) };
  if (measure.combine === "max") return known.value >= other.value ? known : { ...other, parts: new Map(other.parts) };
  known.value += other.value;
  known.over += other.over;
  for (const [name, part] of other.parts) known.parts.set(name, (known.parts.get(name) ?? 0) + part);
  return known;
}

export class Values {
  /** By the listing's file its lines, from 0. */
  private readonly byFile = new Map<string, Map<number, Amount>>();
  readonly lines = new Map<LineKey, LineAmounts>();
  /** Of a listing the highest, of lines the highest of their own and with what they call. */
  readonly highest = { instruction: 0, self: 0, inclusive: 0 };
  /** Over all instructions, or lines. */
  readonly total: number;

  constructor(
    readonly measure: Measure,
    points: readonly Points[],
    listings: readonly Listed[],
    chains: Chains,
  ) {
    let total: Amount | null = null;
    for (const each of points) {
      const amounts = each.values.map((value, at) => amountAt(each, value, at));
      for (const amount of amounts) total = join(measure, total, amount);
      if (measure.level === "line") this.addSource(each, amounts);
      else this.addListing(each, amounts, listings.find(({ file }) => file === each.file), chains);
    }
    this.total = total === null ? 0 : shownNumber(measure, total);
    const highest = (amounts: Iterable<Amount | null>) => {
      let most = 0;
      for (const each of amounts) if (each !== null) most = Math.max(most, shownNumber(measure, each));
      return most;
    };
    this.highest.instruction = highest([...this.byFile.values()].flatMap((each) => [...each.values()]));
    this.highest.self = highest([...this.lines.values()].map(({ self }) => self));
    this.highest.inclusive = highest([...this.lines.values()].map(({ inclusive }) => inclusive));
  }

  /** Of a line of a listing, from 0. */
  atLine(file: string, line: number): Amount | null {
    return this.byFile.get(file)?.get(line) ?? null;
  }

  /** The lines of a listing that have a value. */
  linesOf(file: string): ReadonlyMap<number, Amount> | null {
    return this.byFile.get(file) ?? null;
  }

  ofLine(file: string, line: number): LineAmounts | null {
    return this.lines.get(lineKey(file, line)) ?? null;
  }

  private addSource({ file, at }: Points, amounts: Amount[]): void {
    amounts.forEach((self, index) => this.lines.set(lineKey(file, at?.[index] ?? 0), { self, inclusive: null }));
  }

  private addListing({ file, at }: Points, amounts: Amount[], listing: Listed | undefined, chains: Chains): void {
    if (listing === undefined) return;
    const instructions = this.measure.level === "ptx" ? null : instructionLines(listing.classes);
    const byLine = new Map<number, Amount>();
    const byPlace = new Map<number, Amount>();
    amounts.forEach((amount, index) => {
      const number = at?.[index] ?? index;
      const line = instructions === null ? number : instructions[number];
      if (line === undefined) return;
      byLine.set(line, amount);
      const place = listing.places[line] ?? -1;
      if (place >= 0) byPlace.set(place, join(this.measure, byPlace.get(place), amount));
    });
    this.byFile.set(file, byLine);
    for (const [place, amount] of byPlace) {
      const keys = keysOf(listing.table[place] as Place, chains);
      if (keys === null) continue;
      const known = this.known(keys.own);
      known.self = join(this.measure, known.self, amount);
      for (const key of [keys.own, ...keys.through]) {
        const line = this.known(key);
        line.inclusive = join(this.measure, line.inclusive, amount);
      }
    }
  }

  private known(key: LineKey): LineAmounts {
    let found = this.lines.get(key);
    if (found === undefined) this.lines.set(key, (found = { self: null, inclusive: null }));
    return found;
  }
}

function amountAt({ over, parts }: Points, value: number, at: number): Amount {
  const shares = Object.entries(parts ?? {}).map(([name, each]): [string, number] => [name, each[at] ?? 0]);
  return { value, over: over?.[at] ?? 0, parts: new Map(shares.filter(([, part]) => part !== 0)) };
}

/** The lines of a listing that are instructions, in order. */
function instructionLines(classes: readonly number[]): number[] {
  const found: number[] = [];
  for (let line = 0; line < classes.length; line++) if ((classes[line] as number) >= 0) found.push(line);
  return found;
}
