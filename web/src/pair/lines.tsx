/** The lines of the source of two records that differ, in a table that sorts. */

import { computed, signal } from "@preact/signals";
import type { SourcePair } from "./data";
import { type Change, type SourceRow, changeOf, changeSign, changeText } from "./source-rows";
import { type Counted, columns, countOf, differs, lineName, numberOf, remarksOf, selectRow, waitsOf } from "./source-state";
import { rowsOf, selectedRow, sources, textOf } from "./sides";

const MOST = 500;

/** What the table is sorted by; null: the order of the source. */
const sortedBy = signal<{ column: Counted; descending: boolean } | null>({ column: "sass", descending: true });

interface Entry {
  source: SourcePair;
  row: SourceRow;
  counts: Map<Counted, Change>;
}

const entries = computed<Entry[]>(() =>
  sources.value.flatMap((source) =>
    rowsOf(source)
      .filter((row) => differs(source, row))
      .map((row) => ({ source, row, counts: new Map(columns.value.map(({ name }) => [name, countOf(source, row, name)])) })),
  ),
);

/** By how much a number changed, those that rose first, or those that fell. */
const sorted = computed(() => {
  const by = sortedBy.value;
  const all = entries.value;
  const column = columns.value.some((each) => each.name === by?.column) ? by?.column : undefined;
  if (by === null || column === undefined) return all;
  const change = (each: Entry) => changeOf(each.counts.get(column) ?? { a: 0, b: 0 });
  const sign = by.descending ? 1 : -1;
  return [...all].sort((one, other) => sign * (change(other) - change(one)));
});

function textOfRow(source: SourcePair, { a, b }: SourceRow): string {
  const text = b === null ? textOf("a", source.a) : textOf("b", source.b);
  return text?.split("\n", b ?? a ?? 0).at(-1)?.trim() ?? "";
}

const state = (row: SourceRow): string =>
  row.b === null ? "− only A" : row.a === null ? "+ only B" : row.same ? "" : "± changed";

export function ChangedLines() {
  const all = sorted.value;
  if (sources.value.length === 0) return <p class="empty muted">The two records hold no Python.</p>;
  if (all.length === 0) return <p class="empty muted">No line differs in text, counts or remarks.</p>;
  return (
    <section class="panel changed-lines" aria-label="Lines that differ">
      <table>
        <caption class="hidden">Lines that differ</caption>
        <thead>
          <tr>
            <th scope="col" aria-sort={sortedBy.value === null ? "ascending" : "none"}>
              <button type="button" onClick={() => (sortedBy.value = null)} title="In the order of the source">
                line<Arrow direction={sortedBy.value === null ? "ascending" : "none"} />
              </button>
            </th>
            {columns.value.map(({ name, head, title }) => (
              <Heading key={name} name={name} head={head} title={title} />
            ))}
            <th scope="col">source</th>
          </tr>
        </thead>
        <tbody>
          {all.slice(0, MOST).map((each) => (
            <Line key={lineName(each.source, each.row)} entry={each} />
          ))}
        </tbody>
      </table>
      {all.length > MOST && <p class="muted">and {(all.length - MOST).toLocaleString("en")} more, in the source</p>}
    </section>
  );
}

type Direction = "ascending" | "descending" | "none";

function Arrow({ direction }: { direction: Direction }) {
  return <span aria-hidden="true">{direction === "none" ? "" : direction === "ascending" ? " ↑" : " ↓"}</span>;
}

function Heading({ name, head, title }: { name: Counted; head: string; title: string }) {
  const by = sortedBy.value;
  const direction: Direction = by?.column !== name ? "none" : by.descending ? "descending" : "ascending";
  const sort = () => (sortedBy.value = { column: name, descending: direction !== "descending" });
  return (
    <th scope="col" aria-sort={direction} class="count">
      <button type="button" onClick={sort} title={title}>
        {head}
        <Arrow direction={direction} />
      </button>
    </th>
  );
}

function Line({ entry: { source, row, counts } }: { entry: Entry }) {
  const isSelected = selectedRow.value?.row === row;
  const remarked = remarksOf(source, row).filter(({ kind }) => kind !== "same").length;
  const facts = [state(row), remarked > 0 ? `${remarked} remark${remarked === 1 ? "" : "s"}` : ""].filter((each) => each !== "");
  return (
    <tr class={isSelected ? "selected" : ""}>
      <th scope="row">
        <button type="button" class="link" aria-pressed={isSelected} onClick={() => selectRow(source, row)}>
          {sources.value.length > 1 ? lineName(source, row) : numberOf(row)}
        </button>
      </th>
      {columns.value.map(({ name }) => {
        const change = counts.get(name) ?? { a: 0, b: 0 };
        const by = changeOf(change);
        return (
          <td key={name} class={`count ${by === 0 ? "same" : "other"}`} title={name === "cost" ? waitsOf(source, row).join("\n") : undefined}>
            {changeText(change)} {changeSign(change)}
          </td>
        );
      })}
      <td>
        {facts.length > 0 && <span class="muted">{facts.join(", ")} </span>}
        <code>{textOfRow(source, row)}</code>
      </td>
    </tr>
  );
}
