/** What a kernel takes of the hardware, and what its instructions are. */

import { Fragment } from "preact";
import type { KernelMix, KernelResources, SpilledValue } from "../data";
import { manifest, userLine, whose } from "../store";
import { percentOf } from "../numbers";
import { REASONS } from "./owners";
import { Whose, hasBoth, isShown } from "./ownership";
import { RooflineFigure } from "./roofline";
import { files, kernels, mix, select, shortName, userLines } from "./state";

export function ResourcesPanel() {
  const resources = manifest.value?.resources ?? [];
  const names = [...new Set([...resources.map((each) => each.kernel), ...kernels.value.map((each) => each.kernel)])];
  if (names.length === 0) return <p class="empty muted">This record holds no machine code, and so no resources.</p>;
  return (
    <section class="panel resources" aria-label="Resources">
      {mix.value !== null && !mix.value.line_info && (
        <p class="note">
          <strong>▲ Compiled without line information.</strong> Instructions cannot be told apart by line. Compile again with
          --report or --line-info.
        </p>
      )}
      <RooflineFigure />
      <Whose />
      {names.map((name) => (
        <Kernel
          key={name}
          name={name}
          several={names.length > 1}
          resources={resources.find((each) => each.kernel === name) ?? null}
          mix={kernels.value.find((each) => each.kernel === name) ?? null}
        />
      ))}
    </section>
  );
}

interface KernelProps {
  name: string;
  several: boolean;
  resources: KernelResources | null;
  mix: KernelMix | null;
}

function Kernel({ name, several, resources, mix }: KernelProps) {
  return (
    <section aria-label={name}>
      {several && <h2 class="kernel-name" title={name}>{name}</h2>}
      {resources !== null && <Taken resources={resources} />}
      {mix !== null && <Mapped mix={mix} />}
      {mix?.spilled !== undefined && mix.spilled.length > 0 && <Spilled values={mix.spilled} />}
      {mix !== null && <Classes mix={mix} />}
    </section>
  );
}

function bytes(value: number): string {
  return `${value.toLocaleString("en")} B`;
}

function Taken({ resources }: { resources: KernelResources }) {
  const { spill_store_bytes: stores, spill_load_bytes: loads, occupancy } = resources;
  const spills = (stores ?? 0) + (loads ?? 0);
  const shared =
    resources.shared_dynamic_bytes === null
      ? `${bytes(resources.shared_static_bytes)} static, dynamic not known`
      : `${bytes(resources.shared_static_bytes + resources.shared_dynamic_bytes)} (${bytes(resources.shared_dynamic_bytes)} dynamic)`;
  return (
    <>
      <dl class="facts-list">
        <dt>registers</dt>
        <dd>{resources.registers} per thread</dd>
        <dt>spills</dt>
        <dd class={spills > 0 ? "bad" : ""}>
          {stores === null ? "not known" : spills === 0 ? "none" : `▲ ${bytes(stores)} stored, ${bytes(loads ?? 0)} loaded`}
        </dd>
        <dt>stack</dt>
        <dd>{bytes(resources.stack_bytes)}</dd>
        <dt>shared memory</dt>
        <dd>{shared}</dd>
        <dt>constants</dt>
        <dd>{bytes(resources.constant_bytes)}</dd>
        {resources.barriers !== null && (
          <>
            <dt>barriers</dt>
            <dd>{resources.barriers}</dd>
          </>
        )}
        <dt>occupancy</dt>
        <dd>
          {occupancy === null ? (
            "not known: the block's size is only known when it runs"
          ) : (
            <>
              {percentOf(occupancy.fraction)} %: {occupancy.blocks_per_sm} block{occupancy.blocks_per_sm === 1 ? "" : "s"} of{" "}
              {occupancy.block_threads} threads on a multiprocessor, {occupancy.warps_per_sm} warps
              <Bar share={occupancy.fraction} />
              {occupancy.limited_by.length > 0 && <>limited by {occupancy.limited_by.join(" and ")}</>}
            </>
          )}
        </dd>
      </dl>
    </>
  );
}

/** What goes to local memory for want of registers, by what made it. */
function Spilled({ values }: { values: SpilledValue[] }) {
  const count = (number: number, one: string) => `${number.toLocaleString("en")} ${one}${number === 1 ? "" : "s"}`;
  return (
    <>
      <h3 title="Each load and store once, and the bytes of one thread, however often it runs">Values that spill</h3>
      <ul class="lines wide spilled">
        {values.map(({ file, line, opcode, values: made, stores, loads, bytes: size }) => (
          <li key={`${file}:${line} ${opcode}`}>
            {file === "" ? (
              <span class="muted">of no line</span>
            ) : (
              <button type="button" class="line-link" title={file} onClick={() => select({ file, line })}>
                <span class="muted">
                  {shortName(file, files.value)}:{line}
                </span>
                <code>{userLines.value?.sources[file]?.split("\n")[line - 1]?.trim() ?? ""}</code>
              </button>
            )}
            <span class="said">
              {opcode === "" ? "what the kernel began with" : count(made, "value")}
              {opcode !== "" && ` of ${opcode}`}: {count(stores, "store")}, {count(loads, "load")}, {bytes(size)}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

function Bar({ share, part = 0 }: { share: number; part?: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <span class="whole" style={{ width: `${Math.min(100, share * 100)}%` }} />
      {part > 0 && <span class="part" style={{ width: `${Math.min(100, part * 100)}%` }} />}
    </span>
  );
}

function Mapped({ mix }: { mix: KernelMix }) {
  if (mix.instructions === 0) return null;
  const shareOf = (count: number) => `${((100 * count) / mix.instructions).toFixed(1)} %`;
  return (
    <details class="mapped">
      <summary>
        {shareOf(mix.mapped)} of {mix.instructions.toLocaleString("en")} SASS instructions belong to a line of the source
        {hasBoth() && mix.own !== undefined && `, ${shareOf(mix.own)} to a line of yours`}
      </summary>
      <p>
        {mix.mapped.toLocaleString("en")} instructions count: an operation of their line becomes such an instruction, or they are
        computed for one; and the line is a statement inside the kernel or a function that it calls, no def, decorator or
        launch. The padding behind the last instruction, which never runs, is in neither number.
      </p>
      {mix.reasons !== undefined && (
        <dl class="facts-list">
          {REASONS.map(([name, mark, meaning]) => (
            <Fragment key={name}>
              <dt title={meaning}>
                <span aria-hidden="true">{mark}</span> {name}
              </dt>
              <dd>
                {(mix.reasons?.[name] ?? 0).toLocaleString("en")} ({shareOf(mix.reasons?.[name] ?? 0)})
              </dd>
            </Fragment>
          ))}
        </dl>
      )}
    </details>
  );
}

interface Part {
  head: string;
  what: string;
  classes: Record<string, number>;
}

/** The part of a kernel's instructions that is set against all: the selected line's, or those of the files that are listed. */
function partOf(mix: KernelMix): Part | null {
  const line = userLine.value;
  const sum = (lines: KernelMix["lines"]) => {
    const classes: Record<string, number> = {};
    for (const each of lines) for (const [name, count] of Object.entries(each.classes)) classes[name] = (classes[name] ?? 0) + count;
    return classes;
  };
  if (line !== null) {
    const classes = sum(mix.lines.filter((each) => each.file === line.file && each.line === line.line));
    return { head: "line", what: `line: ${shortName(line.file, files.value)}:${line.line}`, classes };
  }
  if (whose.value === "all" || !hasBoth()) return null;
  const what = whose.value === "mine" ? "mine: lines of yours" : "library: lines of cutecc and of installed packages";
  return { head: whose.value, what, classes: sum(mix.lines.filter((each) => isShown(each.file))) };
}

function Classes({ mix }: { mix: KernelMix }) {
  const part = partOf(mix);
  const classes = Object.entries(mix.classes).sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
  const most = classes[0]?.[1] ?? 1;
  const total = Math.max(1, mix.instructions);
  return (
    <table class="classes">
      <caption>
        SASS instructions by class
        {part !== null && <span class="muted"> · {part.what}</span>}
      </caption>
      <thead>
        <tr>
          <th scope="col">class</th>
          <th scope="col" class="number">
            kernel
          </th>
          <th scope="col" class="number">
            %
          </th>
          {part !== null && (
            <th scope="col" class="number">
              {part.head}
            </th>
          )}
          <th>
            <span class="hidden">share</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {classes.map(([name, count]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class="number">{count.toLocaleString("en")}</td>
            <td class="number">{((100 * count) / total).toFixed(1)}</td>
            {part !== null && <td class="number">{part.classes[name]?.toLocaleString("en") ?? "·"}</td>}
            <td class="bar-cell">
              <Bar share={count / most} part={(part?.classes[name] ?? 0) / most} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
