/** The functions whose code is in a kernel, and where each is called from, with their instructions. */

import type { CallFrame, Place } from "../data";
import type { Document } from "../documents";
import { type Chains, lineKey } from "./chains";
import type { PythonFunction } from "./python-functions";

/** Instructions. */
export interface Counts {
  ptx: number;
  sass: number;
}

/** A line that calls a function. */
export interface CallSite {
  file: string;
  line: number;
  /** The function that it is in; empty where that is not known. */
  caller: string;
  /** Instructions that came about through this call. */
  all: Counts;
}

export interface TreeFunction {
  name: string;
  file: string;
  /** Its first line that has instructions. */
  line: number;
  /** Instructions of its own lines. */
  self: Counts;
  /** Those of functions that it calls, too. */
  all: Counts;
  sites: CallSite[];
}

export interface KernelTree {
  /** Its symbol. */
  kernel: string;
  all: Counts;
  /** Instructions that belong to no line. */
  unplaced: Counts;
  /** Those with the most instructions first. */
  functions: TreeFunction[];
}

type Kind = keyof Counts;

const none = (): Counts => ({ ptx: 0, sass: 0 });

/** The function around a line of a file, from its source; null where that is not known. */
type Enclosing = (file: string, line: number) => PythonFunction | null;

/** Code of a place to which several chains lead counts for each of them. `documents` are of PTX and SASS. */
export function callTrees(documents: readonly Document[], chains: Chains, enclosing: Enclosing = () => null): KernelTree[] {
  const found = new Map<string, Builder>();
  for (const document of documents) {
    const kind: Kind = document.kind === "ptx" ? "ptx" : "sass";
    for (const { name, first, last } of document.listing?.functions ?? []) {
      const builder = found.get(name) ?? new Builder(name, enclosing);
      found.set(name, builder);
      const { uses, unplaced } = usesOf(document, first, last);
      builder.unplaced[kind] += unplaced;
      for (const [place, count] of uses) builder.add(chains.of(document.table[place] as Place), kind, count);
    }
  }
  return [...found.values()].map((each) => each.tree());
}

/** How many instructions between two lines each place has. */
function usesOf({ places, listing }: Document, first: number, last: number): { uses: Map<number, number>; unplaced: number } {
  const uses = new Map<number, number>();
  let unplaced = 0;
  const marks = listing?.kind === "sass" ? listing.classes : listing?.reasons;
  for (let line = first; line <= last; line++) {
    const place = places[line] ?? -1;
    const isInstruction = marks === undefined ? place >= 0 : (marks[line] ?? -1) >= 0;
    if (!isInstruction) continue;
    if (place >= 0) uses.set(place, (uses.get(place) ?? 0) + 1);
    else unplaced++;
  }
  return { uses, unplaced };
}

class Builder {
  readonly unplaced = none();
  private readonly all = none();
  private readonly functions = new Map<string, TreeFunction & { bySite: Map<string, CallSite> }>();

  constructor(
    private readonly kernel: string,
    private readonly enclosing: Enclosing,
  ) {}

  /** Count the instructions of a place, to which the chains lead. */
  add(ways: CallFrame[][], kind: Kind, count: number): void {
    this.all[kind] += count;
    const [self, all] = [new Set<Counts>(), new Set<Counts>()];
    for (const way of ways) {
      way.forEach((frame, at) => {
        const called = this.functionOf(frame);
        if (at === 0) self.add(called.self);
        all.add(called.all);
        const caller = way[at + 1];
        if (caller !== undefined) all.add(this.siteOf(called.bySite, caller).all);
      });
    }
    for (const each of [...self, ...all]) each[kind] += count;
  }

  tree(): KernelTree {
    const { kernel, all, unplaced } = this;
    all.ptx += unplaced.ptx;
    all.sass += unplaced.sass;
    const functions = [...this.functions.values()].map(({ bySite, ...each }) => ({ ...each, sites: [...bySite.values()].sort(most) }));
    return { kernel, all, unplaced, functions: functions.sort(most) };
  }

  private functionOf([file, line, , func]: CallFrame) {
    const around = this.enclosing(file, line);
    const name = func || (around?.name ?? "");
    const key = `${file}:${around?.line ?? name}`;
    const known = this.functions.get(key);
    if (known !== undefined) {
      known.line = Math.min(known.line, line);
      return known;
    }
    const made = { name, file, line, self: none(), all: none(), sites: [], bySite: new Map<string, CallSite>() };
    this.functions.set(key, made);
    return made;
  }

  private siteOf(sites: Map<string, CallSite>, [file, line, , func]: CallFrame): CallSite {
    const key = lineKey(file, line);
    const known = sites.get(key) ?? { file, line, caller: func || (this.enclosing(file, line)?.name ?? ""), all: none() };
    sites.set(key, known);
    return known;
  }
}

/** Orders by instructions, then as the source has them. */
function most(a: { all: Counts; file: string; line: number }, b: { all: Counts; file: string; line: number }): number {
  return b.all.sass - a.all.sass || b.all.ptx - a.all.ptx || (a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1);
}
