/** Before a line is selected: the lines that became the most instructions, and those of which nothing is left. */

import type { LineHistory } from "../data";
import { history, manifest } from "../store";
import { fateOf } from "./fate";
import { Whose, isOwn, isShown } from "./ownership";
import { files, passName, select, shortName, userLines } from "./state";

const MOST = 12;

export function Overview() {
  const all = (history.value?.lines ?? []).filter((each) => isShown(each.file));
  const machine = all.some((each) => each.sass > 0) ? "sass" : "ptx";
  const code = all.filter((each) => each[machine] > 0).sort((a, b) => ownFirst(a, b) || b[machine] - a[machine]);
  const gone = all
    .filter((each) => each.traced > 0 && each.ptx + each.sass === 0 && each.events.some((event) => event.after === 0))
    .filter((each) => !each.copies?.some(({ body }) => body !== undefined))
    .sort((a, b) => ownFirst(a, b) || b.traced - a.traced);
  const compiled = manifest.value?.status === "ok" && code.length > 0;
  return (
    <section class="panel overview" aria-label="Lines">
      <p class="muted">Select a line of the source, an operation or an instruction to see what each pass made of it.</p>
      <Whose />
      {compiled && <Lines title={`Most ${machine.toUpperCase()} instructions, with calls`} lines={code} said={(each) => each[machine].toLocaleString("en")} />}
      {compiled && gone.length > 0 && (
        <Lines title="Nothing left" lines={gone} said={(each) => fateOf(each, null, passName)} wide />
      )}
    </section>
  );
}

/** Orders lines: the user's own before a library's. */
const ownFirst = (a: LineHistory, b: LineHistory) => Number(isOwn(b.file)) - Number(isOwn(a.file));

interface LinesProps {
  title: string;
  lines: LineHistory[];
  said: (line: LineHistory) => string;
  /** What is said takes a line of its own. */
  wide?: boolean;
}

function Lines({ title, lines, said, wide = false }: LinesProps) {
  const oneFile = lines.every((each) => each.file === lines[0]?.file);
  return (
    <>
      <h3>
        {title} <span class="muted">{lines.length > MOST ? `the first ${MOST} of ${lines.length} lines` : ""}</span>
      </h3>
      <ul class={wide ? "lines wide" : "lines"}>
        {lines.slice(0, MOST).map((each) => (
          <li key={`${each.file}:${each.line}`}>
            <button type="button" class="line-link" title={each.file} onClick={() => select({ file: each.file, line: each.line })}>
              <span class="muted">
                {oneFile ? <span class="hidden">line </span> : `${shortName(each.file, files.value)}:`}
                {each.line}
              </span>
              <code>{userLines.value?.sources[each.file]?.split("\n")[each.line - 1]?.trim() ?? ""}</code>
            </button>
            <span class="said">{said(each)}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
