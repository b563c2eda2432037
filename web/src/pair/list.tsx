/** The list of a page of two records: how they compare, the passes of both beside each other, the listings. */

import { useEffect, useRef } from "preact/hooks";
import { listed, move, select } from "../passes";
import { filter, hideUnchanged, pair, selected, stops, type Stop } from "../store";
import type { Lines, PassRun } from "./data";
import { nameOf, stateOfRun } from "./labels";

export function PairList() {
  const list = useRef<HTMLUListElement>(null);
  const shown = listed.value;
  const current = selected.value;
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [current, shown.length]);
  const rows = pair.value?.passes ?? [];
  const compared = rows.filter((row) => row.lines !== null);
  const differing = compared.filter((row) => row.lines?.a || row.lines?.b).length;
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
          Hide what is the same
        </label>
        <p class="muted">
          {compared.length === 0 ? "No modules to compare" : `${differing} of ${compared.length} modules of both differ`}
        </p>
      </div>
      <div class="pair-heads" aria-hidden="true">
        <span>A</span>
        <span>pass</span>
        <span>modules</span>
        <span>B</span>
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
    </section>
  );
}

const optionId = (id: string) => `stop-${id}`;

function Row({ stop, current }: { stop: Stop; current: boolean }) {
  const { row } = stop;
  const index = pair.value?.first_difference ?? null;
  const isFirst = row !== null && index !== null && pair.value?.passes[index] === row;
  const begins = stop.kind === "listing" && stops.value.find((each) => each.kind === "listing") === stop;
  const lines = linesOf(stop);
  const differs = lines !== null && (lines.a > 0 || lines.b > 0);
  const classes = ["stop", "both", differs ? "differs" : "", isFirst ? "first-difference" : "", begins ? "first-listing" : ""];
  return (
    <li
      id={optionId(stop.id)}
      role="option"
      aria-selected={current}
      class={classes.filter((each) => each !== "").join(" ")}
      onClick={() => select(stop)}
      title={row === null ? undefined : [...new Set([row.a?.text, row.b?.text].filter((each) => each != null))].join("\n")}
    >
      {row === null ? <span class="of" /> : <Of side="A" run={row.a} />}
      <span class="name">
        <span class="title">{row === null || stop.kind === "traced" ? stop.title : nameOf(row)}</span>
        {isFirst && <span class="tag differs">first difference</span>}
        {row === null && stop.kind === "listing" && stop.chunk === null && <span class="tag">only A</span>}
        {stop.first !== null && stop.first.chunk === null && row === null && <span class="tag">only B</span>}
      </span>
      <span class="lines">
        {lines !== null &&
          (differs ? (
            <>
              <span class="removed">−{lines.a.toLocaleString("en")}</span> <span class="added">+{lines.b.toLocaleString("en")}</span>
              <span class="hidden"> lines differ</span>
            </>
          ) : (
            <span class="muted">same</span>
          ))}
      </span>
      {row === null ? <span class="of" /> : <Of side="B" run={row.b} />}
    </li>
  );
}

/** How many lines differ, of modules and of PTX; null where nobody counted them. */
function linesOf(stop: Stop): Lines | null {
  if (stop.row !== null) return stop.row.lines;
  return stop.id === "listing:PTX" ? (pair.value?.ptx?.lines ?? null) : null;
}

/** What a pass did in one of them. */
function Of({ side, run }: { side: string; run: PassRun | null }) {
  const { sign, words } = stateOfRun(run);
  return (
    <span class={`of ${run?.state ?? "none"}`}>
      <span class="number">{run?.index ?? ""}</span>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      {words !== "" && (
        <span class="hidden">
          {" "}
          {side}: {words}
        </span>
      )}
    </span>
  );
}
