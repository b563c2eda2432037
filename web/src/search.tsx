/** The search: what to look for, and where it was found. */

import { computed, signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { type Hit, MOST_HITS } from "./matching-lines";
import { asRegex, caseSensitive, query, results } from "./searching";
import { FIRST, goTo, pair, selected, shownFunction, type Stop } from "./store";
import { focusText } from "./viewer";

export const searchOpen = signal(false);

/** Texts whose hits are listed in full; others show the first few. */
const expanded = signal<ReadonlySet<string>>(new Set());
const FEW = 4;

type Item = { kind: "hit"; stop: Stop; hit: Hit } | { kind: "more"; stop: Stop; rest: number };

const items = computed<Item[]>(() =>
  results.value.found.flatMap(({ stop, count, hits }) => {
    const all = expanded.value.has(stop.id);
    const listed: Item[] = hits.slice(0, all ? MOST_HITS : FEW).map((hit) => ({ kind: "hit", stop, hit }));
    if (count > listed.length && !all) listed.push({ kind: "more", stop, rest: count - listed.length });
    return listed;
  }),
);
const active = signal(0);

function labelOf(stop: Stop): string {
  if (pair.value === null) return stop.kind === "listing" ? stop.title : `${stop.id} ${stop.title}`;
  return `${stop.id.startsWith(FIRST) ? "A" : "B"}: ${stop.title}`;
}

function open(item: Item): void {
  if (item.kind === "more") {
    expanded.value = new Set([...expanded.value, item.stop.id]);
    return;
  }
  shownFunction.value = null;
  goTo(item.stop.id, item.hit.line);
}

export function SearchPanel() {
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    input.current?.focus();
    input.current?.select();
  }, []);
  const { found, done, total, error } = results.value;
  const at = Math.min(active.value, items.value.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at]);
  const lines = found.reduce((sum, each) => sum + each.count, 0);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (by !== undefined) {
      event.preventDefault();
      active.value = Math.max(0, Math.min(items.value.length - 1, at + by));
    } else if (event.key === "Enter") {
      const item = items.value[at];
      if (item) open(item);
      if (item?.kind === "hit" && event.shiftKey) focusText();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      closeSearch();
    }
  };
  let index = 0;
  return (
    <section class="search" aria-label="Search">
      <div class="list-head">
        <div class="row">
          <input
            ref={input}
            type="search"
            id="search"
            aria-controls="search-results"
            aria-activedescendant={at >= 0 ? `hit-${at}` : undefined}
            placeholder="Search all stages"
            aria-label="Search all stages and listings"
            autocomplete="off"
            spellcheck={false}
            value={query.value}
            onInput={(event) => {
              active.value = 0;
              query.value = event.currentTarget.value;
            }}
            onKeyDown={onKeyDown}
          />
          <button type="button" class="quiet" aria-label="Close search (Escape)" title="Close (Escape)" onClick={closeSearch}>
            ×
          </button>
        </div>
        <div class="row">
          <label class="check">
            <input type="checkbox" checked={asRegex.value} onChange={(event) => (asRegex.value = event.currentTarget.checked)} />
            Regex
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={caseSensitive.value}
              onChange={(event) => (caseSensitive.value = event.currentTarget.checked)}
            />
            Match case
          </label>
        </div>
        <p class="muted" role="status">
          {error !== ""
            ? error
            : query.value === ""
              ? "Enter goes to a line, ↑ ↓ move"
              : total === 0
                ? "Searching…"
              : done < total
                ? `${done} of ${total} texts searched…`
                : `${lines.toLocaleString("en")} ${lines === 1 ? "line" : "lines"} in ${found.length} of ${total} texts`}
        </p>
        {done < total && <progress value={done} max={total} aria-label="Searching" />}
      </div>
      <div class="hits" id="search-results" role="listbox" aria-label="Found" ref={list} tabIndex={0} onKeyDown={onKeyDown}>
        {found.map(({ stop, count }) => {
          const own = items.value.filter((item) => item.stop === stop);
          return (
            <div key={stop.id} role="group" aria-labelledby={`found-${stop.id}`}>
              <div id={`found-${stop.id}`} role="presentation" class={stop.id === selected.value ? "found-head current" : "found-head"}>
                <span>
                  {labelOf(stop)}
                </span>
                <span class="count">{count.toLocaleString("en")}</span>
              </div>
              {own.map((item) => {
                const number = index++;
                return (
                  <div
                    key={number}
                    id={`hit-${number}`}
                    role="option"
                    aria-selected={number === at}
                    class={item.kind}
                    onClick={() => {
                      active.value = number;
                      open(item);
                    }}
                  >
                    {item.kind === "hit" ? (
                      <>
                        <span class="line">{item.hit.line + 1}</span>
                        <code>
                          {item.hit.before.slice(-16)}
                          <mark>{item.hit.match}</mark>
                          {item.hit.after}
                        </code>
                      </>
                    ) : (
                      `${item.rest.toLocaleString("en")} more`
                    )}
                  </div>
                );
              })}
            </div>
          );
        })}
      </div>
    </section>
  );
}

export function openSearch(): void {
  searchOpen.value = true;
  const input = document.getElementById("search") as HTMLInputElement | null;
  input?.focus();
  input?.select();
}

export function closeSearch(): void {
  searchOpen.value = false;
  query.value = "";
  focusText();
}
