/** Under the head, before anything is selected: what to know of each kernel first. */

import type { Fact } from "./data";
import { signal } from "@preact/signals";
import { openSide, verdictOpen } from "./layout";
import { files, select, shortName } from "./panels/state";
import { type SideTab, manifest, mode, selected, sideTab, stops, verdict } from "./store";
import "./verdict.css";

/** Where there is more about a fact. */
const TABS: Partial<Record<Fact["about"], SideTab>> = {
  occupancy: "resources",
  spills: "resources",
  remarks: "remarks",
  "heaviest lines": "functions",
  "mapping": "resources",
};

/** Whether all details are there in a window that is not high. */
const whole = signal(false);

/** As much as the strip has room for; a tooltip has all. */
const MOST_DETAILS = 5;

export function Verdict() {
  const found = verdict.value;
  if (found === null || !verdictOpen.value) return null;
  const [only, ...others] = found.kernels;
  // Of one kernel all is in one row.
  const rows =
    others.length === 0
      ? [{ kernel: only?.kernel ?? "", name: "", facts: [...found.facts, ...(only?.facts ?? [])] }]
      : [{ kernel: "", name: "", facts: found.facts }, ...found.kernels];
  return (
    <section class={whole.value ? "verdict-strip whole" : "verdict-strip"} id="verdict" aria-label="Verdict">
      <h2 class="hidden">Verdict</h2>
      {rows
        .filter((row) => row.facts.length > 0)
        .map(({ kernel, name, facts }) => (
          <section key={kernel} class="fact-row" aria-label={name === "" ? (manifest.value?.name ?? "") : name}>
            {name !== "" && <h3 title={kernel}>{name}</h3>}
            <ul>
              {facts.map((fact) => (
                <FactCell key={fact.about} fact={fact} />
              ))}
            </ul>
          </section>
        ))}
      <button type="button" class="quiet more" aria-expanded={whole.value} aria-controls="verdict" onClick={() => (whole.value = !whole.value)}>
        {whole.value ? "Less" : "More"}
      </button>
    </section>
  );
}

function FactCell({ fact }: { fact: Fact }) {
  const { about, text, details = [], bad = false, step } = fact;
  return (
    <li class={`fact of-${about.replaceAll(" ", "-")}${bad ? " bad" : ""}`} title={[`${about}: ${text}`, ...details.map((each) => each.text)].join("\n")}>
      <p class="headline">
        <span class="muted">{about}</span> {bad && <span aria-hidden="true">▲ </span>}
        <Headline about={about} step={step} text={text} />
      </p>
      {details.slice(0, MOST_DETAILS).map(({ text: said, line }, at) => (
        <p key={at} class="detail">
          {line !== undefined && (
            <>
              <button type="button" class="link" title={`${line[0]}:${line[1]}`} onClick={() => goToLine(about, line)}>
                {shortName(line[0], files.value)}:{line[1]}
              </button>{" "}
            </>
          )}
          {said}
        </p>
      ))}
    </li>
  );
}

function Headline({ about, step, text }: { about: Fact["about"]; step: number | undefined; text: string }) {
  const tab = TABS[about];
  const go = step !== undefined ? () => (selected.value = String(step)) : tab !== undefined ? () => goToTab(tab) : null;
  if (go === null) return <strong>{text}</strong>;
  return (
    <button type="button" class="link" onClick={go}>
      <strong>{text}</strong>
    </button>
  );
}

function goToTab(tab: SideTab): void {
  openSide(true);
  sideTab.value = tab;
}

function goToLine(about: Fact["about"], [file, line]: [string, number]): void {
  openSide(true);
  // The modules have no spills.
  const code = about === "spills" ? stops.value.find(({ kind, id }) => kind === "listing" && id.endsWith(".sass")) : undefined;
  if (code !== undefined) [selected.value, mode.value] = [code.id, "text"];
  select({ file, line });
}
