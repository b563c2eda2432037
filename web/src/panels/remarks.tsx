/** All remarks, by what made them. */

import { signal } from "@preact/signals";
import { manifest } from "../store";
import { type FoundRemark, SEVERITIES, SIGNS, numbersOf, remarks } from "./remarks-of";
import { files, select, shortName } from "./state";

/** The analysis or pass whose remarks are shown; empty: all. */
const from = signal("");
const least = signal<(typeof SEVERITIES)[number]>("note");

export function RemarksPanel() {
  const all = remarks.value;
  const analyses = manifest.value?.analyses ?? [];
  const makers = [...new Set([...analyses.map((each) => each.name), ...all.map((each) => each.from)])];
  const shown = all.filter(
    (each) =>
      (from.value === "" || each.from === from.value) &&
      SEVERITIES.indexOf(each.remark.severity) <= SEVERITIES.indexOf(least.value),
  );
  const failures = analyses.filter((each) => each.failure !== null);
  if (makers.length === 0) return <p class="empty muted">No pass and no analysis had anything to say.</p>;
  if (all.length === 0 && failures.length === 0) {
    return <p class="empty muted">Nothing to remark on. Looked: {makers.join(", ")}.</p>;
  }
  const groups = makers
    .map((maker) => ({ maker, own: shown.filter((each) => each.from === maker) }))
    .filter(({ own }) => own.length > 0);
  return (
    <section class="panel remarks" aria-label="Remarks">
      <div class="row remark-filter">
        <label>
          From{" "}
          <select value={from.value} onChange={(event) => (from.value = event.currentTarget.value)}>
            <option value="">all ({all.length})</option>
            {makers.map((maker) => (
              <option key={maker} value={maker}>
                {maker} ({all.filter((each) => each.from === maker).length})
              </option>
            ))}
          </select>
        </label>
        <label>
          At least{" "}
          <select
            value={least.value}
            onChange={(event) => (least.value = event.currentTarget.value as (typeof SEVERITIES)[number])}
          >
            {SEVERITIES.map((severity) => (
              <option key={severity} value={severity}>
                {SIGNS[severity]} {severity}
              </option>
            ))}
          </select>
        </label>
      </div>
      {failures.map((each) => (
        <p key={each.name} class="note">
          <strong>▲ {each.name} failed</strong> {each.failure}
        </p>
      ))}
      {groups.length === 0 && <p class="muted">No such remarks.</p>}
      {groups.map(({ maker, own }) => (
        <section key={maker} aria-label={maker}>
          <h3>
            {maker} <span class="muted">{own.length}</span>
          </h3>
          <ul>
            {own.map((each, at) => (
              <Remark key={at} found={each} />
            ))}
          </ul>
        </section>
      ))}
    </section>
  );
}

function Remark({ found: { remark, place } }: { found: FoundRemark }) {
  const numbers = numbersOf(remark);
  return (
    <li class="remark">
      <span class={`severity ${remark.severity}`}>
        {SIGNS[remark.severity]} {remark.severity}
      </span>
      {place === null ? (
        remark.location && <span class="muted">{remark.location}</span>
      ) : (
        <button type="button" class="link" title={`${place.file}:${place.line}`} onClick={() => select(place)}>
          {shortName(place.file, files.value)}:{place.line}
        </button>
      )}
      <p>{remark.message}</p>
      {numbers.length > 0 && (
        <dl>
          {numbers.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
    </li>
  );
}
