/** Searching all texts of the page, one after the other, so that the page answers meanwhile. */

import { effect, signal } from "@preact/signals";
import { load } from "./chunks";
import type { Listing, Stage } from "./data";
import { heads, raw } from "./sass/choices";
import { columnsOf } from "./sass/searched";
import { type Hit, linesMatching, patternOf } from "./matching-lines";
import { inOrder } from "./search-order";
import { type Stop, selected, stops } from "./store";
import { textsOf } from "./stops";

export const query = signal("");
export const asRegex = signal(false);
export const caseSensitive = signal(false);

/** The matches in one text. */
export interface Found {
  stop: Stop;
  /** All matching lines; `hits` are the first of them. */
  count: number;
  hits: Hit[];
}

export interface Search {
  found: Found[];
  /** Texts searched, of how many. */
  done: number;
  total: number;
  error: string;
}

const NOTHING: Search = { found: [], done: 0, total: 0, error: "" };
export const results = signal<Search>(NOTHING);

/** What is searched for, with flag g; null for nothing. */
export const pattern = signal<RegExp | null>(null);

/** Texts stay expanded for the next search, up to this many characters. */
const MOST_KEPT = 120e6;
let keptCharacters = 0;
const texts = new Map<string, string>();

async function textOf(chunk: string): Promise<string> {
  const known = texts.get(chunk);
  if (known !== undefined) return known;
  const text = (await load<Stage | Listing>(chunk))?.text ?? "";
  if (keptCharacters + text.length <= MOST_KEPT) {
    keptCharacters += text.length;
    texts.set(chunk, text);
  }
  return text;
}

let current = 0;

async function search(wanted: RegExp, searched: readonly Stop[]): Promise<void> {
  const own = ++current;
  const found: Found[] = [];
  let done = 0;
  let shown = 0;
  for (const stop of searched) {
    const columns = await columnsOf(stop);
    const text = columns?.text ?? (await textOf(stop.chunk as string));
    if (own !== current) return;
    const { count, hits } = linesMatching(text, wanted);
    if (columns !== null) for (const hit of hits) hit.line = columns.lines[hit.line] ?? 0;
    done++;
    if (count > 0) found.push({ stop, count, hits });
    const now = performance.now();
    if (now - shown > 60 || done === searched.length) {
      results.value = { found: [...found], done, total: searched.length, error: "" };
      shown = now;
      await new Promise((resolve) => setTimeout(resolve));
      if (own !== current) return;
    }
  }
}

/** Search whenever what is searched for changes, a moment after the last key. */
export function followQuery(): void {
  let timer = 0;
  effect(() => {
    const typed = query.value;
    const regex = asRegex.value;
    const sensitive = caseSensitive.value;
    // Machine code is searched as it is shown.
    void [raw.value, heads.value];
    // One stop for each text: a pass that changed nothing shows an earlier one's.
    const texts = [...new Map(textsOf(stops.value).map((stop) => [stop.chunk, stop] as const).reverse()).values()]
      .filter((stop) => stop.chunk !== null)
      .reverse();
    const searched = inOrder(texts, stops.peek().find((each) => each.id === selected.peek())?.chunk ?? null);
    window.clearTimeout(timer);
    current++;
    timer = window.setTimeout(() => {
      let wanted: RegExp | null = null;
      try {
        wanted = patternOf(typed, regex, sensitive);
      } catch (failure) {
        results.value = { ...NOTHING, error: (failure as Error).message };
        pattern.value = null;
        return;
      }
      pattern.value = wanted;
      if (wanted === null) results.value = NOTHING;
      else void search(wanted, searched);
    }, 120);
  });
}
