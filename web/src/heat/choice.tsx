/** Which measure is shown, and what stands above its columns beside the source. */

import { heat } from "../store";
import { chosen, measures, values } from "./state";
import { shownNumber } from "./values";
import { fullNumber } from "./words";
import "./heat.css";

/** Nothing where the page has no measures. */
export function HeatChoice() {
  const all = measures.value;
  if (all.length === 0) return null;
  const sources = [...new Set(all.map(({ source }) => source))];
  return (
    <label class="heat-choice" title="What the columns beside source, stages, PTX and SASS show">
      Heat{" "}
      <select value={all[chosen.value]?.title ?? ""} onChange={(event) => (heat.value = event.currentTarget.value)}>
        <option value="">none</option>
        {sources.map((source) => (
          <optgroup key={source} label={source}>
            {all
              .filter((each) => each.source === source)
              .map(({ title }) => (
                <option key={title} value={title}>
                  {title}
                </option>
              ))}
          </optgroup>
        ))}
      </select>
    </label>
  );
}

export function HeatHeads() {
  const shown = values.value;
  if (shown === null) return null;
  const { title } = shown.measure;
  return (
    <>
      <span class="heat-head" aria-hidden="true" title={`${title} of the line's own instructions; those of a library are the caller's`}>
        self
      </span>
      <span class="heat-head" aria-hidden="true" title={`${title}, also of what the line calls: of all instructions that came about through it`}>
        incl
      </span>
    </>
  );
}

/** What a line of the source has, in words; nothing where it has nothing. */
export function HeatSaid({ file, line }: { file: string; line: number }) {
  const shown = values.value;
  const found = shown?.ofLine(file, line);
  if (shown == null || found == null) return null;
  const { measure } = shown;
  const said = (["self", "inclusive"] as const).flatMap((which) => {
    const amount = found[which];
    return amount === null ? [] : [`${fullNumber({ ...measure, unit: "" }, shownNumber(measure, amount))} ${which}`];
  });
  return (
    <span class="heat-said" title={measure.meaning}>
      {measure.title}: {said.join(", ")}
    </span>
  );
}
