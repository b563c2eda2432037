/** The remarks of two records: those of one alone, those of both with other numbers, those of both. */

import type { Remark } from "../data";
import { gradeOf, SIGNS } from "../panels/cost";
import { numbersOf } from "../panels/remarks-of";
import type { RemarkPair } from "./data";
import { type FoundRemark, lineName, remarks, rowOfRemark, selectRow } from "./source-state";

const GROUPS: { kind: FoundRemark["kind"]; title: string }[] = [
  { kind: "only A", title: "Only in A" },
  { kind: "only B", title: "Only in B" },
  { kind: "changed", title: "In both, with other numbers" },
  { kind: "same", title: "The same in both" },
];

/** What a remark says; where both say it with other numbers, also these, `sectors a request 16 → 4`. */
export function remarkText({ a, b }: RemarkPair): string {
  const said = (b ?? a)?.message ?? "";
  if (a === null || b === null) return said;
  const changed = changedNumbers(a, b);
  return changed.length === 0 ? said : `${said} (${changed.join(", ")})`;
}

/** A number that only one of them has stands against `–`. */
function changedNumbers(a: Remark, b: Remark): string[] {
  const [ours, theirs] = [new Map(numbersOf(a)), new Map(numbersOf(b))];
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((name) => ours.get(name) !== theirs.get(name))
    .map((name) => `${name} ${ours.get(name) ?? "–"} → ${theirs.get(name) ?? "–"}`);
}

export function PairRemarks() {
  const all = remarks.value;
  if (all.length === 0) return <p class="empty muted">No pass and no analysis of either had anything to say.</p>;
  return (
    <section class="panel remarks" aria-label="Remarks">
      {GROUPS.map(({ kind, title }) => {
        const found = all.filter((each) => each.kind === kind);
        if (found.length === 0) return null;
        return (
          <section key={kind} aria-label={title}>
            <h3>
              {title} <span class="muted">{found.length}</span>
            </h3>
            <ul>
              {found.map(({ remark }, i) => (
                <Entry key={i} remark={remark} />
              ))}
            </ul>
          </section>
        );
      })}
    </section>
  );
}

function Entry({ remark }: { remark: RemarkPair }) {
  const at = rowOfRemark(remark);
  const grade = gradeOf((remark.b ?? remark.a) as Remark);
  return (
    <li>
      <span class={`severity ${grade}`}>
        {SIGNS[grade]} {grade}
      </span>{" "}
      {at !== null && (
        <button type="button" class="link" onClick={() => selectRow(at.source, at.row)}>
          {lineName(at.source, at.row)}
        </button>
      )}{" "}
      {remarkText(remark)} <span class="muted">{remark.by}</span>
    </li>
  );
}
