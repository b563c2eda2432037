/** The tab of heat: what the measure means, all numbers of the selected line, and the hottest lines and instructions. */

import { signal } from "@preact/signals";
import type { Measure } from "../data";
import type { Document } from "../documents";
import { Whose, isShown } from "../panels/ownership";
import { files, ptx, reveal, sass, select, shortName, userLines } from "../panels/state";
import { place, userLine } from "../store";
import { HeatChoice } from "./choice";
import { type Column, type Row, instructionRows, lineRows, sorted } from "./hottest";
import { allValues, measures, values } from "./state";
import { type Amount, type Values, shownNumber } from "./values";
import { amountLines, fullNumber, heatOf, partsOf, shareText, shortNumber, stepOf } from "./words";

const FEW = 10;
const MOST = 200;
const MOST_PARTS = 6;

const listed = signal<"lines" | "instructions">("lines");
const many = signal(false);
const order = signal<{ column: Column; descending: boolean }>({ column: "self", descending: true });

export function HeatPanel() {
  const shown = values.value;
  if (measures.value.length === 0) return <p class="empty muted">This page holds nothing that was measured or counted.</p>;
  return (
    <section class="panel heat-panel" aria-label="Heat">
      <div class="row">
        <HeatChoice />
        <Whose />
      </div>
      {shown === null ? (
        <p class="muted">Choose what is shown in columns beside the source, stages, PTX and SASS.</p>
      ) : (
        <>
          <About {...shown.measure} />
          <Hottest shown={shown} />
          <Selected />
        </>
      )}
    </section>
  );
}

function About({ meaning, source, is_sampled, is_worse }: Measure) {
  return (
    <p>
      {meaning}{" "}
      <span class="muted">
        {is_sampled === true ? "Sampled" : "Exact"}
        {is_worse === true ? "; more is worse" : ""}. {source}
      </span>
    </p>
  );
}

/** All numbers of the selected line, and of the instruction that was picked. */
function Selected() {
  const line = userLine.value;
  const at = place.value;
  const document = [...sass.value, ...ptx.value].find(({ stop }) => stop === at?.stop);
  const instruction = document === undefined || at === null ? null : document.lines[at.line]?.trim();
  if (line === null && !instruction) return null;
  const rows = allValues.value.flatMap((each) => {
    const lines = line === null ? null : each.ofLine(line.file, line.line);
    const here = document?.listing == null || at === null ? null : each.atLine(document.listing.file, at.line);
    return lines === null && here === null ? [] : [{ values: each, self: lines?.self ?? null, inclusive: lines?.inclusive ?? null, here }];
  });
  const withHere = rows.some(({ here }) => here !== null);
  return (
    <details class="numbers" open>
      <summary>
        Numbers of {line === null ? <code>{instruction}</code> : `${shortName(line.file, files.value)}:${line.line}`}
        {line !== null && withHere && (
          <>
            {" "}
            and of <code>{instruction}</code>
          </>
        )}
      </summary>
      {rows.length === 0 ? (
        <p class="muted">Nothing was counted or measured of it.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">measure</th>
              {withHere && <th scope="col">instruction</th>}
              <th scope="col">self</th>
              <th scope="col">inclusive</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ values: of, self, inclusive, here }) => (
              <Numbers key={of.measure.title} of={of} here={withHere ? here : undefined} self={self} inclusive={inclusive} />
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}

interface NumbersProps {
  of: Values;
  /** Left out where no instruction has any. */
  here: Amount | null | undefined;
  self: Amount | null;
  inclusive: Amount | null;
}

function Numbers({ of: { measure }, here, self, inclusive }: NumbersProps) {
  const text = (amount: Amount | null) => (amount === null ? "" : fullNumber({ ...measure, unit: "" }, shownNumber(measure, amount)));
  const whole = here ?? self ?? inclusive;
  return (
    <>
      <tr title={measure.meaning}>
        <th scope="row">{measure.title}</th>
        {here !== undefined && <td>{text(here)}</td>}
        <td>{text(self)}</td>
        <td>{text(inclusive)}</td>
      </tr>
      {whole !== null && whole.parts.size > 0 && (
        <tr>
          <td class="parts" colSpan={here === undefined ? 3 : 4}>
            <ul aria-label={`What ${measure.title} are of`}>
              {partsOf(measure, whole)
                .slice(0, MOST_PARTS)
                .map(({ name, words, value, share }) => (
                  <li key={name} title={`${name} ${value.toLocaleString("en")}`}>
                    <span class="share">{share}</span> {words} <span class="muted">{name}</span>
                  </li>
                ))}
            </ul>
          </td>
        </tr>
      )}
    </>
  );
}

function Hottest({ shown }: { shown: Values }) {
  const documents = [...sass.value, ...ptx.value].filter(({ listing }) => listing !== null && shown.linesOf(listing.file) !== null);
  const ofLines = listed.value === "lines" || documents.length === 0;
  const rows = ofLines ? lineRows(shown, files.value, isShown) : instructionRows(shown, documents);
  const { column, descending } = order.value;
  const by: Column = !ofLines && column === "inclusive" ? "self" : column;
  const all = sorted(rows, by, descending);
  const first = all.slice(0, many.value ? MOST : FEW);
  return (
    <>
      {documents.length > 0 && (
        <div class="modes" role="radiogroup" aria-label="Hottest">
          {(["lines", "instructions"] as const).map((each) => (
            <button key={each} type="button" role="radio" aria-checked={(each === "lines") === ofLines} onClick={() => (listed.value = each)}>
              {each === "lines" ? "Lines" : "Instructions"}
            </button>
          ))}
        </div>
      )}
      <table class="hottest">
        <caption class="hidden">
          {ofLines ? "Lines" : "Instructions"} by {shown.measure.title}
        </caption>
        <thead>
          <tr>
            <Head column="self" by={by} label={ofLines ? "self" : shown.measure.unit || "value"} />
            {ofLines && <Head column="inclusive" by={by} label="inclusive" />}
            <Head column="place" by={by} label={ofLines ? "line" : "instruction"} />
          </tr>
        </thead>
        <tbody>
          {first.map((row) => (
            <HotRow key={row.order} row={row} shown={shown} documents={documents} />
          ))}
        </tbody>
      </table>
      {all.length > FEW && (
        <p class="muted">
          {first.length} of {all.length.toLocaleString("en")}{" "}
          <button type="button" class="quiet" onClick={() => (many.value = !many.value)}>
            {many.value ? "Fewer" : "More"}
          </button>
        </p>
      )}
    </>
  );
}

function Head({ column, by, label }: { column: Column; by: Column; label: string }) {
  const sorting = column === by;
  const { descending } = order.value;
  const sort = () => (order.value = { column, descending: sorting ? !descending : column !== "place" });
  return (
    <th scope="col" class={column} aria-sort={sorting ? (descending ? "descending" : "ascending") : "none"}>
      <button type="button" class="quiet" title={`Sort by ${label}`} onClick={sort}>
        {label}
        <span aria-hidden="true">{sorting ? (descending ? " ▾" : " ▴") : ""}</span>
      </button>
    </th>
  );
}

function HotRow({ row, shown, documents }: { row: Row; shown: Values; documents: readonly Document[] }) {
  const { measure, highest, total } = shown;
  const ofLine = "file" in row.place;
  return (
    <tr title={amountLines(measure, row.self === null ? "inclusive" : ofLine ? "self" : "here", row.amount, total).join("\n")}>
      <Number measure={measure} number={row.self} highest={ofLine ? highest.self : highest.instruction} total={total} />
      {ofLine && <Number measure={measure} number={row.inclusive} highest={highest.inclusive} total={total} />}
      <td>{"file" in row.place ? <LineLink {...row.place} /> : <InstructionLink {...row.place} documents={documents} />}</td>
    </tr>
  );
}

function Number({ measure, number, highest, total }: { measure: Measure; number: number | null; highest: number; total: number }) {
  if (number === null) return <td class="number">–</td>;
  const heat = heatOf(measure, number, highest);
  const share = (measure.combine ?? "sum") === "sum" ? shareText(number, total) : "";
  return (
    <td class="number">
      <span class={`heat heat-${stepOf(heat)} ${measure.is_worse === true ? "worse" : "neutral"}`} style={{ "--heat": `${(100 * heat).toFixed(1)}%` }}>
        {shortNumber(measure, number)}
      </span>
      {share !== "" && <span class="share">{share}</span>}
    </td>
  );
}

function LineLink({ file, line }: { file: string; line: number }) {
  return (
    <button type="button" class="line-link" title={file} onClick={() => select({ file, line })}>
      <span class="muted">
        {shortName(file, files.value)}:{line}
      </span>
      <code>{userLines.value?.sources[file]?.split("\n")[line - 1]?.trim() ?? ""}</code>
    </button>
  );
}

function InstructionLink({ stop, line, documents }: { stop: string; line: number; documents: readonly Document[] }) {
  const document = documents.find((each) => each.stop === stop);
  return (
    <button type="button" class="line-link" title={`Show line ${line + 1}`} onClick={() => reveal(stop, line)}>
      <span class="muted">{line + 1}</span>
      <code>{document?.lines[line]?.trim() ?? ""}</code>
    </button>
  );
}
