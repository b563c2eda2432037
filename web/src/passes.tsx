/** The list of the traced module, the passes and the listings. */

import { computed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Step } from "./data";
import { filter, hideUnchanged, manifest, place, selected, stops, type Stop } from "./store";

export const listed = computed(() => {
  const wanted = filter.value.trim().toLowerCase();
  return stops.value.filter(
    (stop) =>
      (wanted === "" || stop.title.toLowerCase().includes(wanted) || stop.id === wanted) &&
      !(hideUnchanged.value && tellsNothing(stop)),
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

interface State {
  sign: string;
  words: string;
  name: "changed" | "unchanged" | "failed" | "unknown" | "none";
}

export function stateOf(stop: Stop): State {
  const { step } = stop;
  if (stop.kind !== "pass" || step === null) return { sign: "", words: "", name: "none" };
  if (step.status === "failed") return { sign: "✗", words: "failed", name: "failed" };
  if (step.changed === true) return { sign: "±", words: "changed", name: "changed" };
  if (step.changed === false) return { sign: "=", words: "unchanged", name: "unchanged" };
  return { sign: "?", words: "not compared", name: "unknown" };
}

export function formatSeconds(seconds: number): string {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 0.0001) return `${(seconds * 1000).toFixed(seconds >= 0.01 ? 0 : 1)} ms`;
  return `${(seconds * 1e6).toFixed(0)} µs`;
}

export interface DialectChange {
  dialect: string;
  before: number;
  after: number;
}

/** Operations by dialect, those that changed most first. */
export function dialectChanges(step: Step): DialectChange[] {
  const { operations_before: before, operations_after: after } = step;
  if (before === null || after === null) return [];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .map((dialect) => ({ dialect, before: before[dialect] ?? 0, after: after[dialect] ?? 0 }))
    .sort((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before) || b.after - a.after);
}

export function PassList() {
  const list = useRef<HTMLUListElement>(null);
  const shown = listed.value;
  const current = selected.value;
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current, shown.length]);
  const steps = stops.value.filter((stop) => stop.kind === "pass");
  const changed = steps.filter((stop) => stop.step?.changed === true).length;
  const total = steps.reduce((sum, stop) => sum + (stop.step?.seconds ?? 0), 0);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -1e6, End: 1e6 }[event.key];
    if (by === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    move(by);
  };
  return (
    <section class="passes" aria-label="Passes">
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
          Hide unchanged
        </label>
        <p class="muted">
          {changed} of {steps.length} passes changed the module · {formatSeconds(total)}
        </p>
      </div>
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
      {manifest.value?.status === "running" && <p class="muted list-foot">This compilation had not ended.</p>}
    </section>
  );
}

const optionId = (id: string) => `stop-${id}`;

function Row({ stop, current }: { stop: Stop; current: boolean }) {
  const state = stateOf(stop);
  const { step } = stop;
  const changes = step?.changed === true ? dialectChanges(step).filter((each) => each.before !== each.after) : [];
  const first = stop.kind === "listing" && stops.value.find((each) => each.kind === "listing") === stop;
  return (
    <li
      id={optionId(stop.id)}
      role="option"
      aria-selected={current}
      class={`stop ${state.name}${first ? " first-listing" : ""}`}
      onClick={() => select(stop)}
      title={step?.pass_text}
    >
      <span class="number">{stop.kind === "pass" ? stop.id : stop.kind === "traced" ? "0" : ""}</span>
      <span class="sign" aria-hidden="true">
        {state.sign}
      </span>
      <span class="name">
        <span class="title">{stop.title}</span>
        {state.words !== "" && <span class="hidden">, {state.words}</span>}
        {state.name === "failed" && <span class="tag bad">failed</span>}
        {step !== null && step.provider !== "wheel" && <span class="tag">{step.provider}</span>}
      </span>
      <span class="time">{step !== null ? formatSeconds(step.seconds) : ""}</span>
      {changes.length > 0 && (
        <span class="delta">
          {changes.slice(0, 3).map(({ dialect, before, after }) => (
            <span key={dialect}>
              {dialect} {before}→{after}
            </span>
          ))}
          {changes.length > 3 && <span>+{changes.length - 3}</span>}
        </span>
      )}
    </li>
  );
}
