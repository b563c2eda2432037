/** Why a compilation ended early, and how to see it again. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { load } from "./chunks";
import type { Reproducer, Step } from "./data";
import { manifest, notice, selected, stops } from "./store";

const reproducer = signal<Reproducer | null>(null);

/** `alone`: there is no text below, so that it takes the room and shows all. */
export function FailureNotice({ alone }: { alone: boolean }) {
  const failure = manifest.value?.failure ?? null;
  useEffect(() => {
    if (failure !== null) void load<Reproducer>("reproducer").then((found) => (reproducer.value = found));
  }, [failure]);
  if (failure === null) return null;
  const step = manifest.value?.steps.find((each) => each.status === "failed" && each.name === failure.stage);
  return (
    <section class={alone ? "failure alone" : "failure"} aria-label="Failure">
      <h2>
        ✗ {failure.stage} failed
        {step !== undefined && selected.value !== String(step.index) && (
          <button type="button" class="quiet" onClick={() => (selected.value = String(step.index))}>
            Go to pass {step.index}
          </button>
        )}
      </h2>
      {failure.location !== null && <p class="failure-place">{failure.location}</p>}
      <pre>{[failure.message, ...failure.notes].join("\n")}</pre>
      {alone && <NextSteps step={step ?? null} reproducer={reproducer.value} />}
      {failure.reproducer !== null && (
        <details key={String(alone)} open={alone}>
          <summary>Reproducer {failure.reproducer}</summary>
          {reproducer.value !== null ? (
            <>
              {reproducer.value.command !== "" && <Copied label="Command" text={reproducer.value.command} />}
              <Copied label={reproducer.value.file} text={reproducer.value.text} />
            </>
          ) : (
            <p class="muted">Its text is in the record, not in this page.</p>
          )}
        </details>
      )}
    </section>
  );
}

/** What can be done about it. */
function NextSteps({ step, reproducer }: { step: Step | null; reproducer: Reproducer | null }) {
  const failed = stops.value.findIndex((each) => each.id === String(step?.index));
  const before = stops.value.slice(0, Math.max(0, failed)).findLast((each) => each.chunk !== null);
  const location = manifest.value?.failure?.location;
  return (
    <>
      <h3>What to do next</h3>
      <ul class="next-steps">
        {before !== undefined && (
          <li>
            <button type="button" class="link" onClick={() => (selected.value = before.id)}>
              See the module before it
            </button>
            : {before.title}
          </li>
        )}
        {location && <li>Look at {location}, which it is about.</li>}
        {reproducer !== null && reproducer.command !== "" && <li>Run the command below: it fails again, with that one pass.</li>}
        {step !== null && (
          <li>
            Compile without the pass, to see whether it is needed: <code>--without {step.name}</code>
          </li>
        )}
        <li>
          Check that what is installed fits together, for a report too: <code>cutecc doctor --json</code>
        </li>
      </ul>
    </>
  );
}

function Copied({ label, text }: { label: string; text: string }) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      notice.value = `${label} copied`;
    } catch {
      notice.value = "This browser does not let a page copy; select the text instead";
    }
  };
  const LONGEST = 20_000;
  return (
    <div class="copied">
      <p>
        {label}{" "}
        <button type="button" class="quiet" onClick={() => void copy()}>
          Copy
        </button>
      </p>
      <pre tabIndex={0}>
        {text.slice(0, LONGEST)}
        {text.length > LONGEST && `\n… ${(text.length - LONGEST).toLocaleString("en")} more characters; Copy takes all of them`}
      </pre>
    </div>
  );
}
