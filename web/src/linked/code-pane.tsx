/** The right of the linked view: PTX, SASS or LLVM IR. */

import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { documentOf } from "../documents";
import { type Shown, showText } from "../editor/text";
import { heads as headings, raw } from "../sass/choices";
import { rowsOf, showSass } from "../sass/view";
import { pattern } from "../searching";
import { goToSpot } from "../spot";
import { foldTypes, onlyLine, userLine } from "../store";
import { chains, litLines } from "../panels/state";
import { chooseCode, codeStop, codeStops } from "./state";

export function CodePane() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let shown: Shown | null = null;
    let gone = false;
    const narrowShown = () => shown?.only(onlyLine.value && userLine.value !== null ? litLines : null);
    const show = async () => {
      const wanted = codeStop.value;
      const inColumns = !raw.value;
      void headings.value;
      const document = wanted === null ? null : await documentOf(wanted);
      const columns = inColumns && document?.kind === "sass" ? await rowsOf(document) : null;
      if (gone || codeStop.peek() !== wanted || raw.peek() === inColumns) return;
      shown?.destroy();
      shown = null;
      if (document === null || wanted === null || host.current === null) return;
      shown =
        columns === null
          ? showText(host.current, document, wanted.title, foldTypes.peek())
          : showSass(host.current, columns, wanted.title, foldTypes.peek());
      goToSpot(shown, document, null);
      narrowShown();
    };
    const effects = [
      effect(() => void show()),
      effect(() => shown?.setFolding(foldTypes.value)),
      effect(() => {
        const wanted = pattern.value;
        shown?.setPattern(wanted);
      }),
      effect(() => {
        void [onlyLine.value, userLine.value, chains.value];
        narrowShown();
      }),
    ];
    return () => {
      gone = true;
      effects.forEach((end) => end());
      shown?.destroy();
    };
  }, []);
  const current = codeStop.value;
  return (
    <section class="linked-code" aria-label="Code">
      <div class="code-head">
        <div class="modes" role="radiogroup" aria-label="Code">
          {codeStops.value.map((each) => (
            <button key={each.id} type="button" role="radio" aria-checked={each === current} onClick={() => chooseCode(each.id)}>
              {each.title}
            </button>
          ))}
        </div>
      </div>
      {current === null && <p class="message">This page holds neither PTX nor SASS.</p>}
      <div class="code-editor" ref={host} />
    </section>
  );
}
