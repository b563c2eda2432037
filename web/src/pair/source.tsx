/** The Python of two records in one text, with what each line has in A and in B. */

import { effect, signal, untracked } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { notice, userLine } from "../store";
import type { SourcePair } from "./data";
import { remarkText } from "./remarks";
import { type LineFacts, type PairSourceEditor, pairSourceEditor } from "./source-editor";
import { type ShownLine, type SourceRow, changeOf, changeText, shownLines } from "./source-rows";
import {
  columns,
  countOf,
  differs,
  lineName,
  nameOf,
  onlyDiffering,
  openFile,
  ptx,
  remarks,
  remarksOf,
  sass,
  selectRow,
  shown,
  waitsOf,
} from "./source-state";
import { linesOf, rowsOf, selectedRow, sources, textOf } from "./sides";
import "../panels/source.css";

const showRemarks = signal(true);

function factsOf(source: SourcePair, line: ShownLine): LineFacts {
  const found = showRemarks.value && line.counts ? remarksOf(source, line.row) : [];
  return {
    lit: selectedRow.value?.row === line.row && selectedRow.value.source === source,
    remarks: found.map(({ remark, kind }) => ({
      kind: kind === "same" ? "both" : kind,
      differs: kind !== "same",
      text: remarkText(remark),
      by: remark.by,
    })),
  };
}

function choose(source: SourcePair, line: ShownLine | null): void {
  if (line === null) {
    userLine.value = null;
    return;
  }
  selectRow(source, line.row);
  const counted = columns.value.map(({ name, head }) => {
    const change = countOf(source, line.row, name);
    return `${changeText(change) || "0"} ${head}${changeOf(change) === 0 ? "" : " in A → in B"}`;
  });
  notice.value = [`line ${lineName(source, line.row)}`, ...counted, ...waitsOf(source, line.row)].join(", ");
}

/** An editor for the open file, with the lines and the columns that are asked for. */
function makeEditor(host: HTMLElement, source: SourcePair): { editor: PairSourceEditor; lines: ShownLine[] } {
  const rows = rowsOf(source);
  const lines = shownLines(rows, (row) => !onlyDiffering.value || differs(source, row));
  const texts = { a: textOf("a", source.a)?.split("\n") ?? [], b: textOf("b", source.b)?.split("\n") ?? [] };
  const moved = rows.some(({ a, b }) => a !== b);
  const editor = pairSourceEditor(
    host,
    lines,
    lines.map(({ row, sign }) => (sign === "−" ? texts.a[(row.a ?? 0) - 1] : texts.b[(row.b ?? 0) - 1]) ?? ""),
    {
      label: `Source ${nameOf(source)}`,
      columns: columns.value.map(({ name, title }) => ({ name, title, of: ({ row }) => countOf(source, row, name) })),
      numbers: moved ? { a: texts.a.length, b: texts.b.length } : null,
      factsOf: (line) => factsOf(source, line),
      pick: (line) => choose(source, line),
    },
  );
  return { editor, lines };
}

export function PairSource() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let made: ReturnType<typeof makeEditor> | null = null;
    let file: SourcePair | null = null;
    let begun = false;
    /** A file begins with much that is no kernel: it is shown from the first line on that differs, or where the reader was. */
    const begin = (top: SourceRow | null) => {
      const source = file;
      if (made === null || source === null || begun || sass.value.b.length === 0) return;
      begun = true;
      const chosen = selectedRow.value?.source === source ? selectedRow.value.row : top;
      const at = made.lines.findIndex(({ row }) => (chosen === null ? differs(source, row) : row === chosen));
      if (at >= 0) made.editor.show(at + 1);
    };
    const stopMaking = effect(() => {
      const source = sources.value[openFile.value] ?? null;
      // Read here, so that a change of any of them makes it anew.
      void [linesOf.a.value, linesOf.b.value, onlyDiffering.value, columns.value];
      if (onlyDiffering.value) void [shown.value, ptx.value, sass.value];
      const top = made !== null && begun && file === source ? (made.lines[made.editor.top() - 1]?.row ?? null) : null;
      const focused = made?.editor.view.hasFocus === true;
      made?.editor.destroy();
      made = null;
      file = source;
      begun = false;
      if (source === null || host.current === null) return;
      // Of what it shows, the editor is told when that changes.
      const parent = host.current;
      made = untracked(() => makeEditor(parent, source));
      untracked(() => begin(top));
      if (focused) made.editor.view.focus();
    });
    const stopRefreshing = effect(() => {
      void [shown.value, ptx.value, sass.value, selectedRow.value, remarks.value, showRemarks.value];
      made?.editor.refresh();
      untracked(() => begin(null));
    });
    const stopFollowing = effect(() => {
      const row = selectedRow.value?.row;
      if (row === undefined || sources.value[openFile.value] !== selectedRow.value?.source) return;
      const at = made?.lines.findIndex((line) => line.row === row && line.counts) ?? -1;
      if (at >= 0 && made?.editor.view.hasFocus !== true) made?.editor.reveal(at + 1);
    });
    return () => {
      stopMaking();
      stopRefreshing();
      stopFollowing();
      made?.editor.destroy();
    };
  }, []);
  const isEmpty = sources.value.length === 0;
  return (
    <section class="source-pane pair-source" aria-label="Source">
      {isEmpty ? (
        <p class="empty muted">
          The two records hold no Python. Compile with <code>--report</code> to see it here.
        </p>
      ) : (
        <div class="source-bar">
          <Files />
          <label class="check" title="Leave out lines that are the same in text, counts and remarks (v)">
            <input type="checkbox" checked={onlyDiffering.value} onChange={() => (onlyDiffering.value = !onlyDiffering.value)} />
            lines that differ
          </label>
          <label class="check">
            <input type="checkbox" checked={showRemarks.value} onChange={() => (showRemarks.value = !showRemarks.value)} />
            remarks
          </label>
        </div>
      )}
      {!isEmpty && (
        <div class="change-heads" aria-hidden="true">
          {columns.value.map(({ name, head, title }) => (
            <span key={name} class={`of-${name}`} title={title}>
              {head}
            </span>
          ))}
          <span class="of-lines">A → B</span>
        </div>
      )}
      <div class="source-editor" ref={host} />
    </section>
  );
}

function Files() {
  const found = sources.value;
  if (found.length === 1) return <strong class="file">{nameOf(found[0] as SourcePair)}</strong>;
  return (
    <select class="file" aria-label="File" value={openFile.value} onChange={(event) => (openFile.value = Number(event.currentTarget.value))}>
      {found.map((source, i) => (
        <option key={i} value={i}>
          {nameOf(source)}
          {source.a === null ? " (only B)" : source.b === null ? " (only A)" : source.stretches.some((each) => !each[3]) || source.stretches.length > 1 ? " (other text)" : ""}
        </option>
      ))}
    </select>
  );
}
