/** The user's Python beside the module. */

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { notice, stop, userLine, whose } from "../store";
import { tracked } from "../linked/panes";
import { lineKey } from "./chains";
import { HeatHeads, HeatSaid } from "../heat/choice";
import { fateOf } from "./fate";
import { kernelLine } from "./kernel-line";
import { gradeOf } from "./cost";
import { Whose, isShown } from "./ownership";
import { numbersOf, remarksByLine } from "./remarks-of";
import { type LineFacts, type SourceEditor, sourceEditor } from "./source-editor";
import {
  chains,
  files,
  historyOf,
  indexOf,
  instructionsOf,
  passName,
  picked,
  ptx,
  sass,
  select,
  shortName,
  shown,
  userLines,
} from "./state";
import "./source.css";

/** The file that is open; null: the first. */
const openFile = signal<string | null>(null);
const showRemarks = signal(true);
/** Those that the filter lets through. */
const listedFiles = computed(() => files.value.filter(isShown));
const file = computed(() => {
  const open = openFile.value;
  return open !== null && listedFiles.value.includes(open) ? open : (listedFiles.value[0] ?? null);
});

/** Lines of the selected operation's or instruction's chains besides the user's line. */
const chainLines = computed(() => {
  const found = new Set<string>();
  for (const chain of picked.value?.chains ?? []) for (const frame of chain) found.add(lineKey(frame[0], frame[1]));
  for (const frame of picked.value?.place ?? []) found.add(lineKey(frame[0], frame[1]));
  return found;
});

/** Why a line has nothing in the text that is shown. */
function fate(name: string, line: number): string {
  const current = stop.value;
  if (current === null) return "";
  const step = current.kind === "listing" || current.kind === "llvm" ? null : Number(current.id);
  return fateOf(historyOf(name, line), step, passName);
}

function factsOf(name: string, line: number): LineFacts {
  const here = shown.value === null ? null : indexOf(shown.value).count(name, line);
  const selected = userLine.value;
  const own = selected !== null && selected.file === name && selected.line === line;
  const remarks = showRemarks.value ? (remarksByLine.value.get(lineKey(name, line)) ?? []) : [];
  return {
    here,
    ptx: instructionsOf(name, line, ptx.value),
    sass: instructionsOf(name, line, sass.value),
    fate: here === 0 ? fate(name, line) : "",
    remarks: remarks.map(({ remark, from }) => ({
      grade: gradeOf(remark),
      text: remark.message,
      from,
      numbers: numbersOf(remark).map(([name, value]) => `${name} ${value}`).join("\n"),
    })),
    lit: own ? "own" : chainLines.value.has(lineKey(name, line)) ? "chain" : null,
  };
}

/** `1 operation here`, of a listing `3 instructions here`. */
function countHere(count: number): string {
  const what = shown.value !== null && shown.value.kind !== "mlir" ? "instruction" : "operation";
  return `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"} here`;
}

function choose(name: string, line: number | null): void {
  if (line === null) {
    select(null);
    return;
  }
  select({ file: name, line });
  const found = factsOf(name, line);
  notice.value =
    found.here !== null && found.here > 0
      ? `line ${line}: ${countHere(found.here)}, ${found.ptx} in PTX, ${found.sass} in SASS`
      : `line ${line}: nothing here${found.fate === "" ? "" : `, ${found.fate}`}`;
}

/** The first line of a file that has anything in the text that is shown, 0 for none. */
function firstLine(name: string, lines: number): number {
  const document = shown.peek();
  if (document === null) return 0;
  const index = indexOf(document);
  for (let line = 1; line <= lines; line++) if (index.ownLines(name, line).length > 0) return line;
  return 0;
}

export function SourcePanel() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let editor: SourceEditor | null = null;
    let showing: string | null = null;
    let scrolled = false;
    const stopShowing = effect(() => {
      const name = file.value;
      const text = name === null ? undefined : userLines.value?.sources[name];
      if (name === showing && editor !== null) return;
      editor?.destroy();
      editor = null;
      showing = name;
      if (name === null || text === undefined || host.current === null) return;
      editor = sourceEditor(host.current, name, text, (line) => factsOf(name, line), (line) => choose(name, line));
      scrolled = false;
    });
    const stopRefreshing = effect(() => {
      // Read here, so that a change of any of them counts anew.
      void [shown.value, stop.value, ptx.value, sass.value, userLine.value, picked.value, chains.value];
      void [remarksByLine.value, showRemarks.value, file.value];
      editor?.refresh();
      // A file begins with much that is no kernel.
      if (editor !== null && !scrolled && shown.value !== null && showing !== null) {
        scrolled = true;
        const line = kernelLine(shown.value, chains.peek(), showing, editor.view.state.doc) ?? firstLine(showing, editor.view.state.doc.lines);
        if (line > 0 && userLine.peek() === null) editor.show(line);
      }
    });
    const stopFollowing = effect(() => {
      const line = userLine.value;
      if (line === null || userLines.value?.sources[line.file] === undefined) return;
      openFile.value = line.file;
      // What a line leads to is shown, whatever is listed.
      if (!isShown(line.file)) whose.value = "all";
      if (editor?.view.hasFocus !== true) editor?.reveal(line.line);
    });
    const stopTracking = effect(() => {
      const line = tracked.value;
      if (line === null || userLines.value?.sources[line.file] === undefined || !isShown(line.file)) return;
      if (line.file === file.peek()) return;
      openFile.value = line.file;
      queueMicrotask(() => editor?.show(line.line));
    });
    return () => {
      stopTracking();
      stopShowing();
      stopRefreshing();
      stopFollowing();
      editor?.destroy();
    };
  }, []);
  const names = listedFiles.value;
  // A column is left out that would be empty, or the same as that of the text that is shown.
  const kind = shown.value?.kind;
  const withPtx = ptx.value.length > 0 && kind !== "ptx";
  const withSass = sass.value.length > 0 && kind !== "sass";
  const hidden = { ptx: !withPtx, sass: !withSass, signs: remarksByLine.value.size === 0 };
  const without = Object.entries(hidden).map(([what, isHidden]) => (isHidden ? ` without-${what}` : "")).join("");
  return (
    <section class={`source-pane${without}`} aria-label="Source">
      {names.length === 0 ? (
        <p class="empty muted">
          {userLines.value === null ? "" : "This page holds no Python source. Compile a kernel with --report to see it here."}
        </p>
      ) : (
        <>
          <div class="files">
            <Files names={names} />
            <Whose />
          </div>
          <div class="count-heads">
            <span aria-hidden="true" title="Operations or instructions in the text that is shown">
              here
            </span>
            {withPtx && (
              <span aria-hidden="true" title="Instructions in PTX">
                PTX
              </span>
            )}
            {withSass && (
              <span aria-hidden="true" title="Instructions in SASS">
                SASS
              </span>
            )}
            <HeatHeads />
            {remarksByLine.value.size > 0 && (
              <label class="check">
                <input type="checkbox" checked={showRemarks.value} onChange={() => (showRemarks.value = !showRemarks.value)} />
                remarks
              </label>
            )}
          </div>
        </>
      )}
      <div class="source-editor" ref={host} />
      <Selected />
    </section>
  );
}

function Files({ names }: { names: string[] }) {
  const open = file.value;
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const at = (names.indexOf(open ?? "") + by + names.length) % names.length;
    openFile.value = names[at] ?? null;
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[at]?.focus();
  };
  return (
    <div role="tablist" aria-label="Source files" onKeyDown={onKeyDown}>
      {names.map((name) => (
        <button
          key={name}
          type="button"
          role="tab"
          title={name}
          aria-selected={name === open}
          tabIndex={name === open ? 0 : -1}
          onClick={() => (openFile.value = name)}
        >
          {shortName(name, names)}
        </button>
      ))}
    </div>
  );
}

/** The selected line: its fate here, and how the picked operation or instruction came about. */
function Selected() {
  const line = userLine.value;
  if (line === null) return null;
  const found = factsOf(line.file, line.line);
  const ways = (picked.value?.chains ?? []).filter((chain) => chain.length > 1);
  return (
    <div class="selected-line">
      <div class="row">
        <strong>
          {shortName(line.file, files.value)}:{line.line}
        </strong>
        <span class="muted facts">
          {found.here !== null && found.here > 0
            ? countHere(found.here)
            : `nothing here${found.fate === "" ? "" : `: ${found.fate}`}`}
        </span>
        <HeatSaid file={line.file} line={line.line} />
        <button type="button" class="quiet" title="Select no line (Escape)" onClick={() => select(null)}>
          Clear
        </button>
      </div>
      {ways.slice(0, 3).map((chain, way) => (
        <ol class="chain" key={way} aria-label="Call chain, innermost first">
          {chain.map(([name, number, , func], at) => (
            <li key={at} aria-current={name === line.file && number === line.line ? "true" : undefined}>
              <button
                type="button"
                class="link"
                title={`${name}:${number}`}
                onClick={() => {
                  userLine.value = { file: name, line: number };
                }}
              >
                {shortName(name, files.value)}:{number}
              </button>
              {func !== "" && <span class="muted"> in {func}</span>}
            </li>
          ))}
        </ol>
      ))}
      {ways.length > 3 && <p class="muted">and {ways.length - 3} more ways</p>}
    </div>
  );
}
