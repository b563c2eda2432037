/** The list of the traced module, the passes and the listings. */

import type { Step } from "./data";
import { LlvmRow } from "./about-llvm";
import { StopList, isFirstListing, optionOf } from "./stop-list";
import { manifest, stops, type Stop } from "./store";

interface State {
  sign: string;
  words: string;
  name: "changed" | "unchanged" | "failed" | "unknown" | "none";
}

/** Manifests keep the name that their first readers know. */
export function providerName(step: Step): string {
  return step.provider === "stand-in" ? "reimplementation" : step.provider;
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
  const steps = stops.value.filter((stop) => stop.kind === "pass");
  const changed = steps.filter((stop) => stop.step?.changed === true).length;
  const total = steps.reduce((sum, stop) => sum + (stop.step?.seconds ?? 0), 0);
  return (
    <StopList
      hides="Hide unchanged"
      summary={`${changed} of ${steps.length} passes changed the module · ${formatSeconds(total)}`}
      foot={manifest.value?.status === "running" && <p class="muted list-foot">This compilation had not ended.</p>}
      Row={Row}
    />
  );
}

function Row({ stop, current }: { stop: Stop; current: boolean }) {
  if (stop.llvm !== undefined) return <LlvmRow stop={stop} row={stop.llvm} current={current} />;
  const state = stateOf(stop);
  const { step } = stop;
  const changes = step?.changed === true ? dialectChanges(step).filter((each) => each.before !== each.after) : [];
  return (
    <li
      {...optionOf(stop, current)}
      class={`stop ${state.name}${isFirstListing(stop) ? " first-listing" : ""}`}
      title={[step?.summary, step?.pass_text].filter(Boolean).join("\n") || undefined}
    >
      <span class="number">{stop.kind === "pass" ? stop.id : stop.kind === "traced" ? "0" : ""}</span>
      <span class="sign" aria-hidden="true">
        {state.sign}
      </span>
      <span class="name">
        <span class="title">{stop.title}</span>
        {state.words !== "" && <span class="hidden">, {state.words}</span>}
        {state.name === "failed" && <span class="tag bad">failed</span>}
        {step !== null && step.provider !== "wheel" && <span class="tag">{providerName(step)}</span>}
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
