/** What of every line of the source differs between two records: operations, instructions, remarks, counters. */

import { batch, computed, effect, signal } from "@preact/signals";
import { chunkNames, load } from "../chunks";
import type { Counters, UserLines } from "../data";
import { type Document, documentOf } from "../documents";
import { whenIdle } from "../idle";
import { userLineOf } from "../panels/chains";
import { asked, indexOf, placeOf, shortName } from "../panels/state";
import { pair, place, stop, stops, userLine } from "../store";
import { textsOf } from "../stops";
import type { Costs, RemarkPair, SourcePair } from "./data";
import { type Side, SIDES, linesOf, rowsOf, sources } from "./sides";
import { type Change, type SourceRow, changeOf, changeText, rowWith } from "./source-rows";

type Documents = Record<Side, Document[]>;

/** The stages or the listings of both that are shown; none where the overview is. */
export const shown = signal<Documents>({ a: [], b: [] });
export const ptx = signal<Documents>({ a: [], b: [] });
export const sass = signal<Documents>({ a: [], b: [] });
const counters = signal<Record<Side, ReadonlyMap<string, number>> | null>(null);

/** Whether lines of the source that tell nothing are left out. */
export const onlyDiffering = signal(false);
/** Which of the files is open. */
export const openFile = signal(0);
/** The tab below the source. */
export const pairTab = signal<"lines" | "remarks">("lines");

/** What lines cost by profiles of both; chunk `costs` of each. */
export const costs = signal<Record<Side, Costs> | null>(null);
const costOf = computed(() => costs.value && { a: byLine(costs.value.a), b: byLine(costs.value.b) });
const byLine = ({ lines }: Costs) => new Map(lines.map((each) => [`${each.file}:${each.line}`, each]));
/** Of what a call takes: samples of the same code differ by less. */
const LEAST_COST = 0.01;

export type Counted = "here" | "ptx" | "sass" | "warps" | "cost";
interface CountedColumn {
  name: Counted;
  head: string;
  title: string;
}

const COLUMNS: CountedColumn[] = [
  { name: "here", head: "here", title: "Operations or instructions in the text that is shown, in A → in B" },
  { name: "ptx", head: "PTX", title: "Instructions in PTX, in A → in B" },
  { name: "sass", head: "SASS", title: "Instructions in SASS, in A → in B" },
  { name: "warps", head: "warp", title: "Warp instructions that the emulator executed, in A → in B" },
];

/** What the column of costs is called, and of which runs they are. */
function costColumn({ a, b }: Record<Side, Costs>): CountedColumn {
  const run = ({ title, device }: Costs) => [title, device].filter((each) => each !== "").join(" on ");
  const runs = run(a) === run(b) ? run(a) : `${run(a)} → ${run(b)}`;
  const what = a.unit === "%" ? "Percent of the samples" : `Microseconds of a call, of ${a.total.toLocaleString("en")} → ${b.total.toLocaleString("en")}`;
  return { name: "cost", head: a.unit, title: `${what}, by samples in A → in B: ${runs}` };
}

/** The columns that there is something for. */
export const columns = computed(() => {
  const isThere = {
    here: [...shown.value.a, ...shown.value.b].some((each) => each.kind === "mlir" || each.kind === "llvm-ir"),
    ptx: ptx.value.a.length > 0 || ptx.value.b.length > 0,
    sass: sass.value.a.length > 0 || sass.value.b.length > 0,
    warps: counters.value !== null,
    cost: false,
  };
  const counted = COLUMNS.filter(({ name }) => isThere[name]);
  return costs.value === null ? counted : [...counted, costColumn(costs.value)];
});

const DOCUMENTS = { here: shown, ptx, sass };

/** How much a row has of something in A and in B. */
export function countOf(source: SourcePair, row: SourceRow, what: Counted): Change {
  const of = (side: Side): number | null => {
    const [file, line] = [source[side], row[side]];
    if (file === null || line === null) return null;
    if (what === "cost") return costOf.value?.[side].get(`${file}:${line}`)?.cost ?? 0;
    if (what === "warps") return counters.value?.[side].get(`${file}:${line}`) ?? 0;
    return DOCUMENTS[what].value[side].reduce((sum, document) => sum + indexOf(document).count(file, line), 0);
  };
  return { a: of("a"), b: of("b") };
}

/** What the warps of a row waited for in A and in B, in words, what changed most first; empty without profiles. */
export function waitsOf(source: SourcePair, row: SourceRow): string[] {
  const of = (side: Side) => costOf.value?.[side].get(`${source[side]}:${row[side]}`)?.waits ?? {};
  const [a, b, unit] = [of("a"), of("b"), costs.value?.a.unit ?? ""];
  return [...new Set([...Object.keys(a), ...Object.keys(b)])]
    .map((name): [string, Change] => [name, { a: a[name] ?? 0, b: b[name] ?? 0 }])
    .filter(([, change]) => changeText(change) !== "")
    .sort(([, one], [, other]) => Math.abs(changeOf(other)) - Math.abs(changeOf(one)))
    .map(([name, change]) => `${changeText(change)} ${unit}: ${name}`);
}

/** Whether a number of a row differs; costs are measured, and differ a little in any case. */
function countDiffers(name: Counted, change: Change): boolean {
  const by = Math.abs(changeOf(change));
  if (name !== "cost") return by !== 0;
  return by >= LEAST_COST * Math.max(costs.value?.a.total ?? 0, costs.value?.b.total ?? 0);
}

export interface FoundRemark {
  remark: RemarkPair;
  kind: "only A" | "only B" | "changed" | "same";
}

function kindOf({ a, b }: RemarkPair): FoundRemark["kind"] {
  if (a === null) return "only B";
  if (b === null) return "only A";
  return a.message === b.message && JSON.stringify(a.numbers) === JSON.stringify(b.numbers) ? "same" : "changed";
}

export const remarks = computed<FoundRemark[]>(() => (pair.value?.remarks ?? []).map((remark) => ({ remark, kind: kindOf(remark) })));

/** Remarks by the line that they stand at, as `side:file:line`: of both at that of B. */
const remarksByLine = computed(() => {
  const found = new Map<string, FoundRemark[]>();
  for (const each of remarks.value) {
    const { a_line, b_line } = each.remark;
    const key = b_line !== null ? `b:${b_line.join(":")}` : a_line !== null ? `a:${a_line.join(":")}` : "";
    found.set(key, [...(found.get(key) ?? []), each]);
  }
  return found;
});

/** The remarks of a row; those that A alone has stand there too. */
export function remarksOf(source: SourcePair, row: SourceRow): FoundRemark[] {
  return SIDES.flatMap((side) => remarksByLine.value.get(`${side}:${source[side]}:${row[side]}`) ?? []);
}

/** Whether anything of a row differs: its text, a count, a remark. */
export function differs(source: SourcePair, row: SourceRow): boolean {
  return (
    !row.same ||
    columns.value.some(({ name }) => countDiffers(name, countOf(source, row, name))) ||
    remarksOf(source, row).some(({ kind }) => kind !== "same")
  );
}

/** What the files of a pair are called, with both names where they have two. */
export function nameOf({ a, b }: SourcePair): string {
  const all = sources.value.flatMap((each) => [each.a, each.b]).filter((each) => each !== null);
  const short = [a, b].filter((each) => each !== null).map((each) => shortName(each, all));
  return [...new Set(short)].join(" → ");
}

/** `12`, and where a line has moved `12 → 14`. */
export function numberOf({ a, b }: SourceRow): string {
  return a !== null && b !== null && a !== b ? `${a} → ${b}` : String(b ?? a);
}

/** `gemm.py:12`. */
export function lineName(source: SourcePair, row: SourceRow): string {
  return `${nameOf(source)}:${numberOf(row)}`;
}

/** Select a row, whose operations are lit in both texts, which go to the first of them. */
export function selectRow(source: SourcePair, row: SourceRow): void {
  const side = row.b === null ? "a" : "b";
  batch(() => {
    const line = { file: source[side] as string, line: row[side] as number };
    userLine.value = side === "a" ? { ...line, side } : line;
    openFile.value = sources.value.indexOf(source);
    asked.value++;
  });
}

/** Select what a remark is about; false where that is in no file of the page. */
export function rowOfRemark({ a_line, b_line }: RemarkPair): { source: SourcePair; row: SourceRow } | null {
  const [side, line] = b_line !== null ? (["b", b_line] as const) : (["a", a_line] as const);
  const source = line === null ? undefined : sources.value.find((each) => each[side] === line[0]);
  const row = source && rowWith(rowsOf(source), side, (line as [string, number])[1]);
  return source === undefined || row === undefined ? null : { source, row };
}

export function startSource(): void {
  // The address may name a line of the source alone.
  if (userLine.peek() !== null && place.peek() === null) asked.value++;
  void loadSources();
  effect(() => {
    const current = stop.value;
    void documentsOf(current === null ? [] : [current]).then((found) => {
      if (stop.peek() === current) shown.value = found;
    });
  });
  effect(() => {
    const at = place.value;
    if (at !== null) void follow(at.stop, at.line);
  });
  whenIdle(() => {
    void loadListings();
    void loadCounters();
    void loadCosts();
  });
}

async function loadSources(): Promise<void> {
  const [found, ...lines] = await Promise.all([
    load<SourcePair[]>("sources"),
    ...SIDES.map((side) => load<UserLines>(`${side}:user-lines`)),
  ]);
  batch(() => {
    SIDES.forEach((side, i) => (linesOf[side].value = lines[i] ?? null));
    sources.value = found ?? [];
  });
}

/** The texts of both records at some stops. */
async function documentsOf(wanted: readonly (typeof stops.value)[number][]): Promise<Documents> {
  const texts = await Promise.all(textsOf(wanted).map((each) => documentOf(each)));
  const of = (side: Side) => texts.filter((each) => each !== null).filter((each) => each.side === side);
  return { a: of("a"), b: of("b") };
}

async function loadListings(): Promise<void> {
  const { a, b } = await documentsOf(stops.peek().filter((each) => each.kind === "listing"));
  const of = (kind: Document["kind"]) => ({ a: a.filter((each) => each.kind === kind), b: b.filter((each) => each.kind === kind) });
  batch(() => {
    ptx.value = of("ptx");
    sass.value = of("sass");
  });
}

/** Only what both have is compared. */
async function loadCounters(): Promise<void> {
  if (!SIDES.every((side) => chunkNames().includes(`${side}:counters`))) return;
  const [a, b] = await Promise.all(SIDES.map((side) => load<Counters>(`${side}:counters`)));
  if (a && b) counters.value = { a: warpsByLine(a), b: warpsByLine(b) };
}

async function loadCosts(): Promise<void> {
  if (!SIDES.every((side) => chunkNames().includes(`${side}:costs`))) return;
  const [a, b] = await Promise.all(SIDES.map((side) => load<Costs>(`${side}:costs`)));
  if (a && b) costs.value = { a, b };
}

function warpsByLine({ lines }: Counters): Map<string, number> {
  const found = new Map<string, number>();
  for (const { file, line, counts } of lines) {
    const key = `${file}:${line}`;
    found.set(key, (found.get(key) ?? 0) + (counts["warps"] ?? 0));
  }
  return found;
}

/** A line of a text was picked: its line of the user's becomes the selected one. */
async function follow(id: string, line: number): Promise<void> {
  const chosen = textsOf(stops.peek()).find((each) => each.id === id);
  const document = chosen ? await documentOf(chosen) : null;
  const found = document && placeOf(document, line);
  const user = found && userLineOf(found);
  if (document === null || user === null || place.peek()?.stop !== id || place.peek()?.line !== line) return;
  userLine.value = document.side === "a" ? { ...user, side: "a" } : user;
  const at = sources.peek().findIndex((each) => each[document.side ?? "b"] === user.file);
  if (at >= 0) openFile.value = at;
}
