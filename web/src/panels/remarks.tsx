/** All remarks, by what made them. */

import { signal } from "@preact/signals";
import { PictureButton } from "../pictures/request-dialog";
import { manifest } from "../store";
import { GRADES, SIGNS, gradeOf } from "./cost";
import { Whose, isShown } from "./ownership";
import { type FoundRemark, numbersOf, remarks } from "./remarks-of";
import { files, select, shortName } from "./state";

/** The analysis or pass whose remarks are shown; empty: all. */
const from = signal("");
const least = signal<(typeof GRADES)[number]>("note");

export function RemarksPanel() {
  const all = remarks.value;
  const analyses = manifest.value?.analyses ?? [];
  const makers = [...new Set([...analyses.map((each) => each.name), ...all.map((each) => each.from)])];
  const shown = all.filter(
    (each) =>
      (from.value === "" || each.from === from.value) &&
      GRADES.indexOf(gradeOf(each.remark)) <= GRADES.indexOf(least.value) &&
      (each.place === null || isShown(each.place.file)),
  );
  const failures = analyses.filter((each) => each.failure !== null);
  if (makers.length === 0) return <p class="empty muted">No pass and no analysis had anything to say.</p>;
  if (all.length === 0 && failures.length === 0) {
    return <p class="empty muted">Nothing to remark on. Looked: {makers.join(", ")}.</p>;
  }
  // Remarks come worst first, and so do those who made them.
  const groups = [...new Set(shown.map((each) => each.from))].map((maker) => ({
    maker,
    own: shown.filter((each) => each.from === maker),
  }));
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
            onChange={(event) => (least.value = event.currentTarget.value as (typeof GRADES)[number])}
          >
            {GRADES.map((grade) => (
              <option key={grade} value={grade}>
                {SIGNS[grade]} {grade}
              </option>
            ))}
          </select>
        </label>
        <Whose />
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
  const grade = gradeOf(remark);
  return (
    <li class="remark">
      <span class={`severity ${grade}`}>
        {SIGNS[grade]} {grade}
      </span>
      {place === null ? (
        remark.location && <span class="muted">{remark.location}</span>
      ) : (
        <button type="button" class="link" title={`${place.file}:${place.line}`} onClick={() => select(place)}>
          {shortName(place.file, files.value)}:{place.line}
        </button>
      )}
      <PictureButton remark={remark} />
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
