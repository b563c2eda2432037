/** Above the text: what it is, what it is compared with, and how it is shown. */

import { AboutLlvm } from "./about-llvm";
import { HeatChoice } from "./heat/choice";
import { CLOSED_GENERATION } from "./llvm";
import { SassSwitches } from "./sass/switches";
import { dialectChanges, formatSeconds, providerName, stateOf } from "./passes";
import { defaultBase } from "./stops";
import { type Mode, base, foldTypes, mode, onlyLine, selected, shownFunction, stop, stops, type Stop, userLine } from "./store";
import { coloured, following, linked, toggleLinked } from "./linked/state";
import { followAtCaret } from "./linking";
import { baseStop, currentComparison, differences, functions, narrowed } from "./viewer";

const MODES = [
  { id: "text", label: "Text", key: "1" },
  { id: "split", label: "Side by side", key: "2" },
  { id: "unified", label: "Unified", key: "3" },
] as const;

const optionLabel = (each: Stop) => (each.kind === "pass" || each.kind === "llvm" ? `${each.id} ${each.title}` : each.title);

export function Toolbar() {
  const shown = stop.value;
  const listing = shown?.kind === "listing";
  const compared = mode.value !== "text";
  return (
    <div class="toolbar">
      <div class="row">
        <Modes modes={MODES} />
        {compared && (
          <label class="against">
            <span class="word">against</span>
            <select
              value={base.value ?? ""}
              aria-label="Compare with"
              onChange={(event) => (base.value = event.currentTarget.value === "" ? null : event.currentTarget.value)}
            >
              <option value="">{listing ? "nothing" : defaultName()}</option>
              {stops.value
                .filter((each) => each.id !== selected.value && each.chunk !== null)
                .map((each) => (
                  <option key={each.id} value={each.id}>
                    {optionLabel(each)}
                  </option>
                ))}
            </select>
          </label>
        )}
        <TextOptions compared={compared} />
        {/* A comparison has no room for it; the tab of heat has it, too. */}
        {!compared && <HeatChoice />}
        <SassSwitches />
      </div>
      <div class="about-line">
        {shown !== null && <About shown={shown} />}
        <span class="linked-buttons">
          <OnlyLine rows={compared && differences.value !== null} />
          {!listing && (
            <button type="button" class="quiet" title="Follow the value of the caret's line through the passes (v)" aria-label="Follow value" onClick={followAtCaret}>
              ▶<span class="word"> Follow value</span>
            </button>
          )}
          <LinkedButtons />
        </span>
      </div>
    </div>
  );
}

/** The linked view, and what it can do. */
function LinkedButtons() {
  return (
    <>
      <button type="button" class="quiet" aria-pressed={linked.value} title="Python, stage and code side by side (4)" aria-label="Linked" onClick={toggleLinked}>
        ‖<span class="word"> Linked</span>
      </button>
      {linked.value && (
        <button
          type="button"
          class="quiet"
          aria-pressed={following.value}
          title="What one text shows is brought into view in the others (g)"
          aria-label="Follow"
          onClick={() => (following.value = !following.value)}
        >
          ⇄<span class="word"> Follow</span>
        </button>
      )}
      <button
        type="button"
        class="quiet"
        aria-pressed={coloured.value}
        title="A colour for every line of Python, in all texts (c)"
        aria-label="Colours"
        onClick={() => (coloured.value = !coloured.value)}
      >
        ▤<span class="word"> Colours</span>
      </button>
    </>
  );
}

/** How the text is shown. */
export function Modes({ modes }: { modes: readonly { id: Mode; label: string; key: string }[] }) {
  return (
    <div class="modes" role="radiogroup" aria-label="View">
      {modes.map(({ id, label, key }) => (
        <button
          key={id}
          type="button"
          role="radio"
          aria-checked={mode.value === id}
          title={`${label} (${key})`}
          onClick={() => (mode.value = id)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** Which function, what is folded, and where the text differs from another one. */
export function TextOptions({ compared }: { compared: boolean }) {
  return (
    <>
      {functions.value.length > 1 && (
        <select
          class="functions"
          aria-label="Function"
          value={functions.value.some((each) => each.name === shownFunction.value) ? (shownFunction.value ?? "") : ""}
          onChange={(event) => (shownFunction.value = event.currentTarget.value === "" ? null : event.currentTarget.value)}
        >
          <option value="">all functions</option>
          {functions.value.map((each) => (
            <option key={each.name} value={each.name}>
              {shortened(each.name)}
            </option>
          ))}
        </select>
      )}
      <label class="check" title="Fold long types, strings and names (t)">
        <input
          type="checkbox"
          checked={foldTypes.value}
          onChange={(event) => (foldTypes.value = event.currentTarget.checked)}
        />
        Fold types
      </label>
      {compared && differences.value !== null && (
        <span class="differences">
          {differences.value === 0
            ? "no differences"
            : `${differences.value.toLocaleString("en")} ${differences.value === 1 ? "line differs" : "lines differ"}`}
          {differences.value > 0 && (
            <>
              <button type="button" class="quiet" title="Change before (p)" aria-label="Change before" onClick={() => currentComparison()?.step(-1)}>
                ↑
              </button>
              <button type="button" class="quiet" title="Next change (n)" aria-label="Next change" onClick={() => currentComparison()?.step(1)}>
                ↓
              </button>
              <button type="button" class="quiet" title="Show unchanged lines" onClick={() => currentComparison()?.showUnchanged(true)}>
                All lines
              </button>
            </>
          )}
        </span>
      )}
    </>
  );
}

/** Whether only what belongs to the selected line is shown, and how much that is. */
function OnlyLine({ rows }: { rows: boolean }) {
  const line = userLine.value;
  const found = narrowed.value;
  return (
    <label class="check only-line" title={line === null ? "Select a line of the source first" : `Only what belongs to line ${line.line} (o)`}>
      <input type="checkbox" checked={onlyLine.value} disabled={line === null} onChange={() => (onlyLine.value = !onlyLine.value)} />
      Only this line
      {found !== null && line !== null && (
        <span class="muted">
          {found.shown.toLocaleString("en")} of {found.of.toLocaleString("en")} {rows ? "rows" : "lines"}
        </span>
      )}
    </label>
  );
}

function defaultName(): string {
  const found = defaultBase(stops.value, selected.value);
  return found ? `${optionLabel(found)} (before it)` : "nothing";
}

function shortened(name: string): string {
  return name.length > 60 ? `${name.slice(0, 44)}…${name.slice(-14)}` : name;
}

function About({ shown }: { shown: Stop }) {
  const { step } = shown;
  const state = stateOf(shown);
  const against = mode.value === "text" ? null : baseStop();
  const changes = step === null ? [] : dialectChanges(step);
  return (
    <div class="row about">
      <h2>
        {against !== null && <span class="muted">{optionLabel(against)} → </span>}
        {optionLabel(shown)}
      </h2>
      {step !== null && (
        <span class="facts">
          <span class={`state ${state.name}`}>
            {state.sign} {state.words}
          </span>
          <span>{formatSeconds(step.seconds)}</span>
          <span title="Who runs the pass">{providerName(step)}</span>
        </span>
      )}
      {shown.llvm !== undefined && <AboutLlvm row={shown.llvm} partly={shown.llvm.partly} />}
      {step?.name === CLOSED_GENERATION && (
        <p class="step-remark">
          NVIDIA's compiler generates the code in this one step and shows none of its own passes. With{" "}
          <code>--pipeline open</code> or <code>--backend llvm</code> LLVM generates it, and its passes are listed here.
        </p>
      )}
      {changes.length > 0 && (
        <ul
          class="dialects"
          aria-label="Operations by dialect, before and after"
          title={changes.map(({ dialect, before, after }) => `${dialect} ${before} → ${after}`).join("\n")}
        >
          {changes.map(({ dialect, before, after }) => (
            <li key={dialect} class={before === after ? "muted" : ""}>
              {dialect} {before === after ? after : `${before}→${after}`}
            </li>
          ))}
        </ul>
      )}
      {step?.summary && <p class="summary muted">{step.summary}</p>}
      {(step?.remarks ?? []).map((remark, i) => (
        <p key={i} class="step-remark">
          {remark.severity}: {remark.message}
        </p>
      ))}
    </div>
  );
}
