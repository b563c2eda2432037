/** The list of a page of two records: how they compare, the passes of both beside each other, the listings. */

import { StopList, isFirstListing, optionOf } from "../stop-list";
import { pair, type Stop } from "../store";
import type { Lines, PassRun } from "./data";
import { nameOf, stateOfRun } from "./labels";

export function PairList() {
  const compared = (pair.value?.passes ?? []).filter((row) => row.lines !== null);
  const differing = compared.filter((row) => row.lines?.a || row.lines?.b).length;
  return (
    <StopList
      hides="Hide what is the same"
      summary={compared.length === 0 ? "No modules to compare" : `${differing} of ${compared.length} modules of both differ`}
      heads={
        <div class="pair-heads" aria-hidden="true">
          <span>A</span>
          <span>pass</span>
          <span>modules</span>
          <span>B</span>
        </div>
      }
      Row={Row}
    />
  );
}

function Row({ stop, current }: { stop: Stop; current: boolean }) {
  const { row } = stop;
  const index = pair.value?.first_difference ?? null;
  const isFirst = row !== null && index !== null && pair.value?.passes[index] === row;
  const begins = isFirstListing(stop);
  const lines = linesOf(stop);
  const differs = lines !== null && (lines.a > 0 || lines.b > 0);
  const classes = ["stop", "both", differs ? "differs" : "", isFirst ? "first-difference" : "", begins ? "first-listing" : ""];
  return (
    <li
      {...optionOf(stop, current)}
      class={classes.filter((each) => each !== "").join(" ")}
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
