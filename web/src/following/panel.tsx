/** The tab “Value”: one operation through the passes, with its text after each, down to PTX and SASS. */

import { useEffect, useState } from "preact/hooks";
import type { EventKind } from "../data";
import { foldsOf } from "../editor/types";
import { EVENT_SIGNS } from "../panels/event-signs";
import { reasonOf } from "../panels/owners";
import { passName, reveal } from "../panels/state";
import { stop, stops, value } from "../store";
import { type Link, rowsOf, saidOf } from "./chain";
import { chain, codeStep, instructions, showValue, stepValue, textsOf, unfollow } from "./state";
import "./following.css";

/** Operations or instructions of one stage whose text is shown. */
const MOST = 4;

export function ValuePanel() {
  const found = chain.value;
  if (value.value === null)
    return (
      <p class="empty muted">
        Put the caret on an operation of a stage and press <kbd>v</kbd>, or choose <em>Follow value</em> above the text: here is what each
        pass made of it.
      </p>
    );
  if (found === null) return <p class="empty muted">Following the value…</p>;
  const first = Math.min(...found.lines.keys());
  return (
    <section class="panel following" aria-label="Value">
      <div class="row">
        <button type="button" title="Where it changed before (,)" aria-label="Before" onClick={() => stepValue(-1)}>
          ↑
        </button>
        <button type="button" title="Where it changes next (.)" aria-label="Next" onClick={() => stepValue(1)}>
          ↓
        </button>
        <button type="button" class="quiet" title="Follow no value" onClick={unfollow}>
          Clear
        </button>
      </div>
      <ol class="events">
        <Row sign="●" meaning="where it begins" name={first === 0 ? "traced" : passName(first)} stage={first} lines={found.lines.get(first) ?? []} said="" />
        {rowsOf(found.links).map((links) => (
          <Links key={links[0]?.step} links={links} />
        ))}
        {instructions.value.map(({ document, lines, others }) => (
          <li key={document.stop}>
            <span class="sign" title={lines.length > 0 ? "instructions" : "no instruction"}>
              {lines.length > 0 ? "▸" : "∅"}
            </span>
            <span>
              {document.kind.toUpperCase()}: {lines.length.toLocaleString("en")} instruction{lines.length === 1 ? "" : "s"} of its {document.kind === "sass" ? "line" : "place"}
              {lines.length > 0 && others > 0 && `, which ${others === 1 ? "another operation shares" : `${others} other operations share`}`}
            </span>
            <ul class="texts">
              {lines.slice(0, MOST).map((line) => {
                const reason = reasonOf(document, line);
                return (
                  <li key={line}>
                    <button type="button" class="instruction" title={`Show line ${line + 1}`} onClick={() => reveal(document.stop, line)}>
                      <code>{document.lines[line]?.trim()}</code>
                      {reason !== null && (
                        <span class={`owner ${reason.name}`} title={reason.text}>
                          {reason.mark} {reason.name}
                        </span>
                      )}
                    </button>
                  </li>
                );
              })}
              <More count={lines.length} />
            </ul>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Links({ links }: { links: Link[] }) {
  const [first, last] = [links[0] as Link, links.at(-1) as Link];
  const kind = first.happened[0]?.kind ?? "unchanged";
  if (kind === "unchanged" && first.happened.length === 1)
    return (
      <li class="quiet">
        <span class="sign">=</span>
        <span class="muted">
          {links.length === 1 ? `unchanged by ${first.step} ${passName(first.step)}` : `unchanged by ${links.length} passes, to ${last.step} ${passName(last.step)}`}
        </span>
      </li>
    );
  const [sign, meaning] = kind === "unchanged" ? ["~", ""] : EVENT_SIGNS[kind as EventKind];
  return <Row sign={sign} meaning={meaning} name={`${first.step} ${passName(first.step)}`} stage={first.step} lines={first.after} said={first.step === codeStep.value ? "turned into code" : saidOf(first)} />;
}

interface RowProps {
  sign: string;
  meaning: string;
  name: string;
  stage: number;
  lines: readonly number[];
  said: string;
}

function Row({ sign, meaning, name, stage, lines, said }: RowProps) {
  const [texts, setTexts] = useState<string[]>([]);
  // The value itself is made last.
  const shown = lines.slice(-MOST);
  useEffect(() => {
    let wanted = true;
    void textsOf(stage, shown).then((found) => wanted && setTexts(found));
    return () => void (wanted = false);
  }, [stage, shown.join()]);
  const target = stops.value.find((each) => each.id === String(stage));
  return (
    <li aria-current={stop.value === target ? "step" : undefined}>
      <span class="sign" title={meaning}>
        {sign}
      </span>
      <button type="button" class="link" disabled={target === undefined} onClick={() => target && showValue(target)}>
        {name}
      </button>
      <span>{said}</span>
      <ul class="texts">
        <More count={lines.length} />
        {texts.map((text, at) => (
          <li key={at}>
            <code title={text}>{folded(text)}</code>
          </li>
        ))}
      </ul>
    </li>
  );
}

const More = ({ count }: { count: number }) => (count > MOST ? <li class="muted">{(count - MOST).toLocaleString("en")} more</li> : null);

/** With long types short, as in the text. */
function folded(text: string): string {
  let found = "";
  let end = 0;
  for (const { from, to, short } of foldsOf(text)) {
    found += text.slice(end, from) + short;
    end = to;
  }
  return found + text.slice(end);
}
