/** Above the texts of two records: what they are, and how they are shown. */

import { formatSeconds } from "../passes";
import { type Stop, mode, pair, stop } from "../store";
import { Modes, TextOptions } from "../toolbar";
import type { PassRun } from "./data";
import { nameOf, stateOfRun, whyMissing } from "./labels";

const MODES = [
  { id: "first", label: "A", key: "1" },
  { id: "split", label: "Side by side", key: "2" },
  { id: "unified", label: "Unified", key: "3" },
  { id: "text", label: "B", key: "4" },
] as const;

export function PairToolbar() {
  const shown = stop.value;
  if (shown === null || shown.kind === "overview" || pair.value === null) return null;
  const compared = (mode.value === "split" || mode.value === "unified") && shown.chunk !== null && shown.first?.chunk != null;
  return (
    <div class="toolbar">
      <div class="row">
        <Modes modes={MODES} />
        <TextOptions compared={compared} />
      </div>
      <div class="row about">
        <h2>{shown.row === null ? shown.title : shown.kind === "traced" ? "traced module" : nameOf(shown.row)}</h2>
        <Facts shown={shown} />
        <span class="muted">{whyMissing(shown, pair.value)}</span>
      </div>
      {compared && (
        <div class={`sides ${mode.value}`} aria-hidden="true">
          <span>
            <b>{mode.value === "unified" && "− "}A</b> {pair.value.a.record}
          </span>
          <span>
            <b>{mode.value === "unified" && "+ "}B</b> {pair.value.b.record}
          </span>
        </div>
      )}
    </div>
  );
}

function Facts({ shown }: { shown: Stop }) {
  const { row } = shown;
  if (row === null || shown.kind === "traced") return null;
  const { a, b } = row;
  const texts = [a?.text, b?.text].filter((each) => each != null);
  return (
    <span class="facts">
      <Run side="A" run={a} />
      <Run side="B" run={b} />
      {new Set(texts).size > 1 && <span title={texts.join("\n")}>other options</span>}
    </span>
  );
}

function Run({ side, run }: { side: string; run: PassRun | null }) {
  const { sign, words } = stateOfRun(run);
  return (
    <span title={run?.text ?? undefined}>
      {side}: {run !== null && `${run.index} `}
      <span class={`state ${run?.state === "changed" || run?.state === "failed" ? run.state : ""}`}>
        {sign} {words}
      </span>
      {run?.seconds != null && ` ${formatSeconds(run.seconds)}`}
    </span>
  );
}
