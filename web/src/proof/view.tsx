/** What was proved of the record's kernels, and what that rests on, in the middle of the page. */

import { useEffect, useState } from "preact/hooks";
import { load } from "../chunks";
import { files, select, shortName } from "../panels/state";
import { selected, stops } from "../store";
import { TimelineExcerpt } from "../timeline/view";
import type { Place, Problem, Proof } from "./data";
import { ProofPicture } from "./picture";
import "./proof.css";

const SIGNS: Record<Proof["answer"], string> = { proved: "✓", refuted: "✗", suspicious: "▲", "cannot tell": "?" };

export function ProofView() {
  const [proofs, setProofs] = useState<Proof[] | null | "none">(null);
  useEffect(() => void load<Proof[]>("proof").then((found) => setProofs(found ?? "none")), []);
  if (proofs === null) return <p class="message">Opening the proof…</p>;
  if (proofs === "none") return <p class="message">This page does not hold the proof.</p>;
  return (
    <section class="sheet proof" aria-label="Proof" tabIndex={0}>
      {proofs.map((each) => (
        <KernelProof key={each.name} proof={each} />
      ))}
      <Assumptions />
      {proofs.flatMap(({ name, drawings }) => drawings.map((each) => <ProofPicture key={`${name} ${each.title}`} drawing={each} />))}
    </section>
  );
}

function KernelProof({ proof }: { proof: Proof }) {
  const { name, answer, reason, place, given, problems, sizes, below, effort } = proof;
  return (
    <section aria-label={`Proof of ${name}`}>
      <h2>
        {name}{" "}
        <span class={`answer ${answer.replace(" ", "-")}`}>
          <span aria-hidden="true">{SIGNS[answer]}</span> {answer}
        </span>
      </h2>
      <p>{meaning(proof)}</p>
      {reason !== "" && (
        <p>
          {place !== null && <Line place={place} />} {reason}
        </p>
      )}
      {given.length > 0 && <p>Precondition: {given.join(", ")}.</p>}
      <Problems problems={problems} />
      {sizes.length > 0 && <p>With {sizes.join(", ")}.</p>}
      {Object.entries(below).map(([number, found]) => (
        <section key={number} aria-label={`With less of ${number}`}>
          <h3>With less of {number}</h3>
          <Problems problems={found} />
        </section>
      ))}
      <Witness proof={proof} />
      <p class="muted">{effort}</p>
    </section>
  );
}

function meaning({ answer, given }: Proof): string {
  switch (answer) {
    case "proved": {
      const size = given.length === 0 ? "every size" : "every size that meets the precondition";
      return `No wait is for ever, and accesses of shared memory are ordered, in every schedule at ${size}.`;
    }
    case "refuted":
      return "A run on the emulator shows what is wrong.";
    case "suspicious":
      return "A condition of the proof fails at this line; no run has shown that anything goes wrong.";
    case "cannot tell":
      return "There is no proof, and nothing was found to be wrong, for this reason:";
  }
}

/** The run that shows it, with its timeline, or what was tried to find one. */
function Witness({ proof: { tried, reproduce, timeline, timelines } }: { proof: Proof }) {
  if (reproduce === null) return tried.length === 0 ? null : <p>No run on the emulator shows it: {tried.join("; ")}.</p>;
  return (
    <>
      <p>Reproduce:</p>
      <pre class="quoted">{reproduce}</pre>
      {timelines.length === 0 && timeline !== null && (
        <>
          <p>
            This makes its timeline, and <code>--profile</code> of the report shows here which warp waited where:
          </p>
          <pre class="quoted">{timeline}</pre>
        </>
      )}
      {stops.value
        .filter(({ id }) => timelines.includes(id))
        .map(({ id, title }) => (
          <TimelineExcerpt key={id} chunk={id} name={`${title} of the run`}>
            <p>
              <button type="button" class="link" onClick={() => (selected.value = id)}>
                {title}
              </button>{" "}
              has all of it, with its critical path and lines.
            </p>
          </TimelineExcerpt>
        ))}
    </>
  );
}

function Problems({ problems }: { problems: readonly Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul>
      {problems.map(({ kind, text, location, other }, i) => (
        <li key={i}>
          {location !== null && <Line place={location} />} <strong>{kind}</strong> {text}
          {other !== null && (
            <>
              {" "}
              (the other is at <Line place={other} />)
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

function Line({ place: { file, line } }: { place: Place }) {
  const text = `${shortName(file, files.value)}${line === null ? "" : `:${line}`}`;
  if (line === null) return <span class="muted">{text}</span>;
  return (
    <button type="button" class="link" title={`${file}:${line}`} onClick={() => select({ file, line })}>
      {text}
    </button>
  );
}

/** As docs/proving.md has it, shorter. */
const TAKEN_FOR_GRANTED = [
  "Instructions do what their model says, and the lowering from here to the machine keeps it.",
  "Lanes of a warp go in step.",
  "Fences are there: cutecc check looks for missing ones. Global memory is not looked at.",
  "Sizes are not negative, and counters do not wrap around.",
  "A matrix that is read by descriptor is read in whole rows of its swizzle.",
];

function Assumptions() {
  return (
    <details>
      <summary>What is taken for granted</summary>
      <ul>
        {TAKEN_FOR_GRANTED.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
    </details>
  );
}
