/** How two records compare: what they are, where they first differ, resources, instructions, results. */

import type { ComponentChildren } from "preact";
import type { KernelResources } from "../data";
import { openSide } from "../layout";
import { percentOf } from "../numbers";
import { resumedText } from "../status";
import { selected, stops } from "../store";
import { type FoundRemark, pairTab, remarks } from "./source-state";
import type { OutputPair, Pair, PairSide, Results, RunPair } from "./data";

export function PairOverview({ pair }: { pair: Pair }) {
  const kernels = [...new Set([...pair.resources, ...pair.instructions].map((each) => each.kernel))];
  return (
    <section class="sheet overview" aria-label="Overview" tabIndex={0}>
      <Verdict pair={pair} />
      <Records pair={pair} />
      {pair.results !== null && <Ran results={pair.results} outputs={pair.a.outputs} />}
      {kernels.map((name) => (
        <section key={name} aria-label={name}>
          <h2>{name}</h2>
          <div class="tables">
            {pair.resources
              .filter((each) => each.kernel === name)
              .map((each, i) => (
                <Resources key={i} a={each.a} b={each.b} />
              ))}
            {pair.instructions
              .filter((each) => each.kernel === name)
              .map((each, i) => (
                <Classes key={i} of={pair.instructions_of ?? ""} a={each.a} b={each.b} />
              ))}
          </div>
        </section>
      ))}
    </section>
  );
}

function Link({ id, children }: { id: string; children: ComponentChildren }) {
  if (!stops.value.some((each) => each.id === id)) return <>{children}</>;
  return (
    <button type="button" class="link" onClick={() => (selected.value = id)}>
      {children}
    </button>
  );
}

function Verdict({ pair }: { pair: Pair }) {
  const first = pair.first_difference === null ? null : (pair.passes[pair.first_difference] ?? null);
  const compared = pair.passes.some((each) => each.lines !== null);
  const { ptx } = pair;
  return (
    <ul class="verdict">
      {first?.a != null && first.b != null && first.lines !== null && (
        <li>
          The first modules that differ are those{" "}
          <Link id={`${first.a.index}-${first.b.index}`}>{first.a.index === 0 ? "that were traced" : `after ${first.a.selector}`}</Link>:{" "}
          {number(first.lines.a)} lines of A alone, {number(first.lines.b)} of B alone.
        </li>
      )}
      {first === null && compared && <li>The modules are the same wherever both have one.</li>}
      {ptx !== null && (
        <li>
          <Link id="listing:PTX">PTX</Link>:{" "}
          {ptx.same
            ? `the same, ${number(ptx.a)} lines`
            : ptx.lines.a === 0 && ptx.lines.b === 0
              ? "differs in line information and the names of registers and labels alone"
              : `${number(ptx.lines.a)} of ${number(ptx.a)} lines are in A alone, ${number(ptx.lines.b)} of ${number(ptx.b)} in B alone`}
          .
        </li>
      )}
      {pair.same_cubin !== null && (
        <li>
          <Link id="listing:SASS">Machine code</Link>: {pair.same_cubin ? "the same cubin" : "the cubins differ"}.
        </li>
      )}
      <RemarksVerdict />
      {pair.notes.map((note) => (
        <li key={note} class="muted">
          {note}
        </li>
      ))}
    </ul>
  );
}

/** How many remarks differ, and in what. */
function RemarksVerdict() {
  const count = (kind: FoundRemark["kind"]) => remarks.value.filter((each) => each.kind === kind).length;
  const said = (
    [
      ["only A", "in A alone"],
      ["only B", "in B alone"],
      ["changed", "in both with other numbers"],
    ] as const
  ).flatMap(([kind, where]) => (count(kind) > 0 ? [`${number(count(kind))} remark${count(kind) === 1 ? "" : "s"} ${where}`] : []));
  if (said.length === 0) return null;
  const show = () => {
    pairTab.value = "remarks";
    openSide(true);
  };
  return (
    <li>
      <button type="button" class="link" onClick={show}>
        Remarks
      </button>
      : {said.join(", ")}.
    </li>
  );
}

function options(of: PairSide): string {
  return Object.entries(of.options)
    .map(([name, value]) => `${name}=${String(value)}`)
    .join(", ");
}

function Records({ pair: { a, b } }: { pair: Pair }) {
  const facts: [string, (side: PairSide) => string][] = [
    ["record", (side) => side.record],
    ["kernel", (side) => side.kernel],
    ["target", (side) => side.target],
    ["source", (side) => side.source ?? ""],
    ["status", (side) => (side.failure === null ? side.status : `${side.status} in ${side.failure}`)],
    ["resumed", (side) => (side.resumed === null ? "" : resumedText(side.resumed).replace("resumed ", ""))],
    ["passes", (side) => String(side.passes)],
    ["options", options],
    ["pipeline", (side) => side.pipeline],
    ["command", (side) => side.command.join(" ")],
    ...[...new Set([...Object.keys(a.versions), ...Object.keys(b.versions)])].map((name): [string, (side: PairSide) => string] => [
      name.replaceAll("_", "-"),
      (side) => side.versions[name] ?? "",
    ]),
  ];
  return (
    <table class="records">
      <caption class="hidden">What the two are</caption>
      <thead>
        <tr>
          <td />
          <th scope="col">A</th>
          <th scope="col">B</th>
        </tr>
      </thead>
      <tbody>
        {facts
          .map(([name, of]) => [name, of(a), of(b)] as const)
          .filter(([, ours, theirs]) => ours !== "" || theirs !== "")
          .map(([name, ours, theirs]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>
                <Folded text={ours} />
              </td>
              <td class={ours === theirs ? "muted" : ""}>{ours === theirs ? "the same" : <Folded text={theirs} />}</td>
            </tr>
          ))}
      </tbody>
    </table>
  );
}

const LONG = 160;

function Folded({ text }: { text: string }) {
  if (text.length <= LONG) return <>{text}</>;
  return (
    <details>
      <summary>{text.slice(0, LONG / 2)}…</summary>
      {text}
    </details>
  );
}

function number(value: number): string {
  return value.toLocaleString("en");
}

interface Counted {
  name: string;
  a: number | null;
  b: number | null;
  unit?: string;
}

/** Numbers of both with the change. */
function Counts({ caption, rows }: { caption: string; rows: Counted[] }) {
  return (
    <table class="counts">
      <caption>{caption}</caption>
      <thead>
        <tr>
          <td />
          <th scope="col">A</th>
          <th scope="col">B</th>
          <th scope="col">change</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ name, a, b, unit = "" }) => (
          <tr key={name} class={a === b ? "muted" : ""}>
            <th scope="row">{name}</th>
            <td>{a === null ? "?" : number(a) + unit}</td>
            <td>{b === null ? "?" : number(b) + unit}</td>
            <td>{a === null || b === null || a === b ? "" : `${b > a ? "+" : "−"}${number(Math.abs(b - a))}${unit}`}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const RESOURCES: [name: string, of: (found: KernelResources) => number | null, unit: string][] = [
  ["registers", (found) => found.registers, ""],
  ["spill stores", (found) => found.spill_store_bytes, " B"],
  ["spill loads", (found) => found.spill_load_bytes, " B"],
  ["stack", (found) => found.stack_bytes, " B"],
  ["shared, static", (found) => found.shared_static_bytes, " B"],
  ["shared, dynamic", (found) => found.shared_dynamic_bytes, " B"],
  ["constants", (found) => found.constant_bytes, " B"],
  ["barriers", (found) => found.barriers, ""],
  ["occupancy", (found) => (found.occupancy === null ? null : percentOf(found.occupancy.fraction)), " %"],
];

function Resources({ a, b }: { a: KernelResources | null; b: KernelResources | null }) {
  const rows = RESOURCES.map(([name, of, unit]) => ({ name, a: a && of(a), b: b && of(b), unit }));
  return <Counts caption="Resources" rows={rows} />;
}

function Classes({ of, a, b }: { of: string; a: Record<string, number> | null; b: Record<string, number> | null }) {
  const names = [...new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})])];
  const total = (mix: Record<string, number> | null) => mix && Object.values(mix).reduce((sum, each) => sum + each, 0);
  const rows = names.map((name) => ({ name, a: a && (a[name] ?? 0), b: b && (b[name] ?? 0) }));
  const change = (row: Counted) => Math.abs((row.b ?? 0) - (row.a ?? 0));
  rows.sort((one, other) => change(other) - change(one) || (other.a ?? 0) - (one.a ?? 0));
  return <Counts caption={`${of} instructions by class`} rows={[{ name: "all", a: total(a), b: total(b) }, ...rows]} />;
}

function sizesOf(run: RunPair): string {
  return Object.entries(run.sizes)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

function verdictOf(output: OutputPair): "same bits" | "in bounds" | "differs" {
  if (output.same_bits) return "same bits";
  return output.in_bounds ? "in bounds" : "differs";
}

function Ran({ results, outputs }: { results: Results; outputs: string[] }) {
  const { microseconds: times } = results;
  const error = (value: number | null) => (value === null ? "∞" : value === 0 ? "0" : value.toPrecision(3));
  return (
    <section aria-label="Results">
      <h2>Results on {results.device}</h2>
      {times !== null && (
        <p>
          A takes {times.a.toFixed(2)} µs, B {times.b.toFixed(2)} µs
          {times.a > 0 && `, ${(times.b / times.a).toFixed(2)} times as long`} (medians, taking turns).
        </p>
      )}
      {results.runs.map((run, i) => {
        // What a kernel does not write is of interest only where it differs.
        const shown = run.outputs.filter(
          (each) => outputs.length === 0 || !each.same_bits || outputs.includes(each.name.split("[")[0] as string),
        );
        return (
          <div key={i}>
            <p class="muted">
              {[sizesOf(run), `seed ${run.seed}`].filter((each) => each !== "").join("; ")}
            </p>
            {[...run.a_problems.map((each) => `A: ${each}`), ...run.b_problems.map((each) => `B: ${each}`)].map((problem) => (
              <p key={problem} class="bad">
                ✗ {problem}
              </p>
            ))}
            {shown.length > 0 && (
              <table class="counts results">
                <thead>
                  <tr>
                    {["tensor", "type", "shape", "abs error", "rel error", "tolerance", "verdict"].map((each) => (
                      <th key={each} scope="col">
                        {each}
                      </th>
                    ))}
                  </tr>
                </thead>
                <tbody>
                  {shown.map((each) => (
                    <tr key={each.name}>
                      <th scope="row">{each.name}</th>
                      <td>{each.type}</td>
                      <td>{each.shape.join("×")}</td>
                      <td>{error(each.max_absolute_error)}</td>
                      <td>{error(each.max_relative_error)}</td>
                      <td>{each.allowed}</td>
                      <td class={verdictOf(each) === "differs" ? "bad" : "good"}>
                        {verdictOf(each) === "differs" ? "✗" : "✓"} {verdictOf(each)}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </div>
        );
      })}
    </section>
  );
}
