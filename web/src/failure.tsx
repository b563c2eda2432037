/** Why a compilation ended early, and how to see it again. */

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { load } from "./chunks";
import type { Reproducer } from "./data";
import { manifest, notice, selected } from "./store";

const reproducer = signal<Reproducer | null>(null);

export function FailureNotice() {
  const failure = manifest.value?.failure ?? null;
  useEffect(() => {
    if (failure !== null) void load<Reproducer>("reproducer").then((found) => (reproducer.value = found));
  }, [failure]);
  if (failure === null) return null;
  const step = manifest.value?.steps.find((each) => each.status === "failed" && each.name === failure.stage);
  return (
    <section class="failure" aria-label="Failure">
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
      {failure.reproducer !== null && (
        <details>
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
