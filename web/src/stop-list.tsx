/** The list on the left: what filters it, a row for each stop, the keys that move in it. */

import { computed } from "@preact/signals";
import type { ComponentChild } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { filter, hideLlvm, hideUnchanged, place, selected, stops, type Stop } from "./store";

export const listed = computed(() => {
  const wanted = filter.value.trim().toLowerCase();
  return stops.value.filter(
    (stop) =>
      (wanted === "" || stop.title.toLowerCase().includes(wanted) || stop.id === wanted) &&
      !(hideUnchanged.value && tellsNothing(stop)) &&
      !(hideLlvm.value && stop.kind === "llvm"),
  );
});

/** A pass that changed nothing; of two records, one after which both have the same module. */
function tellsNothing({ step, row }: Stop): boolean {
  if (row === null) return step?.changed === false && step.status === "ok";
  return row.a !== null && row.b !== null && !(row.lines?.a || row.lines?.b) && row.a.state !== "failed" && row.b.state !== "failed";
}

/** Show the next stop of the list, or the one before. */
export function move(by: number): void {
  const shown = listed.value;
  const at = shown.findIndex((stop) => stop.id === selected.value);
  // A stop that the filter hides is between two that it shows.
  const next = at >= 0 ? at + by : nearest(shown, by);
  const found = shown[Math.max(0, Math.min(shown.length - 1, next))];
  if (found) select(found);
}

function nearest(shown: readonly Stop[], by: number): number {
  const order = stops.value.findIndex((stop) => stop.id === selected.value);
  const after = shown.findIndex((stop) => stops.value.indexOf(stop) > order);
  const next = after < 0 ? shown.length : after;
  return by > 0 ? next : next - 1;
}

export function select(stop: Stop): void {
  if (stop.id === selected.value) return;
  if (place.value?.stop !== stop.id) place.value = null;
  selected.value = stop.id;
}

interface Props {
  /** What the box hides that is ticked. */
  hides: string;
  summary: ComponentChild;
  /** Between the filter and the rows. */
  heads?: ComponentChild;
  /** Under the rows. */
  foot?: ComponentChild;
  Row: (props: { stop: Stop; current: boolean }) => ComponentChild;
}

export function StopList({ hides, summary, heads, foot, Row }: Props) {
  const list = useRef<HTMLUListElement>(null);
  const shown = listed.value;
  const current = selected.value;
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current, shown.length]);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e6, End: 1e6 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(by);
  };
  return (
    <section class="passes" aria-label="Passes">
      <h2 class="hidden">Passes</h2>
      <div class="list-head">
        <input
          type="search"
          id="filter"
          placeholder="Filter passes (f)"
          aria-label="Filter passes by name"
          autocomplete="off"
          spellcheck={false}
          value={filter.value}
          onInput={(event) => (filter.value = event.currentTarget.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={hideUnchanged.value}
            onChange={(event) => (hideUnchanged.value = event.currentTarget.checked)}
          />
          {hides}
        </label>
        {stops.value.some((stop) => stop.kind === "llvm") && (
          <label class="check">
            <input
              type="checkbox"
              checked={hideLlvm.value}
              onChange={(event) => (hideLlvm.value = event.currentTarget.checked)}
            />
            Hide LLVM's passes
          </label>
        )}
        <p class="muted">{summary}</p>
      </div>
      {heads}
      <ul
        ref={list}
        id="pass-list"
        role="listbox"
        tabIndex={0}
        aria-label="Passes and listings"
        aria-activedescendant={shown.some((stop) => stop.id === current) ? optionId(current) : undefined}
        onKeyDown={onKeyDown}
      >
        {shown.map((stop) => (
          <Row key={stop.id} stop={stop} current={stop.id === current} />
        ))}
        {shown.length === 0 && <li class="muted empty">No pass has this name.</li>}
      </ul>
      {foot}
    </section>
  );
}

/** What every row is, whatever it shows of its stop. */
export function optionOf(stop: Stop, current: boolean) {
  return {
    id: optionId(stop.id),
    role: "option",
    "aria-selected": current,
    onClick: () => select(stop),
  } as const;
}

const optionId = (id: string) => `stop-${id}`;

export const isFirstListing = (stop: Stop) =>
  stop.kind === "listing" && stops.value.find((each) => each.kind === "listing") === stop;
