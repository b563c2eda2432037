/** What became of the selected line: traced operations, the passes that changed them, PTX and SASS. */

import type { Copies, HistoryEvent } from "../data";
import { type Document, documentOf } from "../documents";
import { history, manifest, notice, stops, userLine } from "../store";
import { EVENT_SIGNS } from "./event-signs";
import { becomesCode, fateOf, unrolledBy } from "./fate";
import { counterpart } from "./counterpart";
import { Overview } from "./overview";
import { files, historyOf, indexOf, passName, ptx, reveal, sass, shortName, userLines } from "./state";

function said(event: HistoryEvent, becameCode: boolean): string {
  const { kind, before, after } = event;
  const count = (number: number) => `${number.toLocaleString("en")} operation${number === 1 ? "" : "s"}`;
  if (becameCode) return `turned ${count(before)} into code`;
  if (event.counts[kind] === after - before && kind === "appeared" && before === 0) return `appeared: ${count(after)}`;
  if (event.counts[kind] === before && kind === "removed") return before === 1 ? "removed its operation" : `removed all ${count(before)}`;
  const parts = Object.entries(event.counts).map(([each, number]) => part(event, each, number));
  return `${before === after ? count(after) : `${before} → ${after}`}: ${parts.join(", ")}`;
}

function part({ rewritten_to, times, into }: HistoryEvent, kind: string, number: number): string {
  if (kind === "rewritten") return `rewritten ${number} → ${rewritten_to ?? 0}`;
  if (times !== undefined && (kind === "unrolled" || kind === "copied")) return `${kind} ×${times}`;
  if (kind !== "merged" || into === undefined) return `${number} ${kind}`;
  const lines = into.slice(0, 3).map(([file, line]) => `${shortName(file, files.value)}:${line}`);
  return `${number} merged into ${lines.join(", ")}${into.length > 3 ? ", …" : ""}`;
}

/** Show a stop at the line's first operation. */
async function open(id: string, file: string, line: number): Promise<void> {
  const document = await documentAt(id);
  const first = document === null ? undefined : indexOf(document).lines(file, line)[0];
  if (document === null || first === undefined) notice.value = "the page does not hold this text";
  else reveal(id, first);
}

async function documentAt(id: string): Promise<Document | null> {
  const found = stops.peek().find((each) => each.id === id);
  return found === undefined ? null : await documentOf(found);
}

/** Show what a pass did to the line: its diff, at the line's first operation, or where that was. */
async function openDiff(step: number, file: string, line: number): Promise<void> {
  const all = stops.peek();
  const at = all.findIndex((each) => each.id === String(step));
  const [after, before] = await Promise.all([documentAt(String(step)), documentAt(all[at - 1]?.id ?? "")]);
  if (after === null) {
    notice.value = "the page does not hold this text";
    return;
  }
  const first = indexOf(after).lines(file, line)[0];
  if (first !== undefined) {
    reveal(String(step), first, "unified");
    return;
  }
  const gone = before === null ? undefined : indexOf(before).lines(file, line)[0];
  reveal(String(step), before !== null && gone !== undefined ? counterpart(before.lines, gone, after.lines) : 0, "unified");
}

export function HistoryPanel() {
  const line = userLine.value;
  if (line === null) return <Overview />;
  const found = historyOf(line.file, line.line);
  const text = userLines.value?.sources[line.file]?.split("\n")[line.line - 1]?.trim() ?? "";
  const final = found && found.ptx + found.sass === 0 ? fateOf(found, null, passName) : "";
  const copiesBy = (by: Copies["by"]) => (found?.copies ?? []).filter((each) => each.by === by);
  const isLoop = found?.copies?.some((each) => each.body !== undefined) ?? false;
  return (
    <section class="panel history" aria-label="History">
      <h2>
        {shortName(line.file, files.value)}:{line.line}
      </h2>
      {text !== "" && <pre class="quoted" tabIndex={0}>{text}</pre>}
      {found === null ? (
        <p class="muted">
          {history.value === null ? "This page holds no history." : "Nothing was traced from this line: no pass saw an operation of it."}
        </p>
      ) : (
        <ol class="events">
          <li>
            <span class="sign" title="the traced module">
              ●
            </span>
            {found.traced > 0 ? (
              <button type="button" class="link" onClick={() => void open("0", line.file, line.line)}>
                traced: {found.traced.toLocaleString("en")} operation{found.traced === 1 ? "" : "s"}
              </button>
            ) : (
              <span class="muted">no operation was traced from it</span>
            )}
          </li>
          <Unrolled copies={copiesBy("trace")} />
          {found.events.map((event, at) => (
            <li key={at}>
              <span class={`sign ${event.kind}`} title={EVENT_SIGNS[event.kind]?.[1]}>
                {EVENT_SIGNS[event.kind]?.[0] ?? "~"}
              </span>
              <button
                type="button"
                class="link"
                title={`What pass ${event.step} did here`}
                onClick={() => void openDiff(event.step, line.file, line.line)}
              >
                <span class="muted">{event.step}</span> {passName(event.step)}
              </button>
              <span>{said(event, becomesCode(found, event))}</span>
            </li>
          ))}
          <Unrolled copies={copiesBy("pass")} />
          <Unrolled copies={copiesBy("LLVM")} />
          <Reached what="PTX" count={found.ptx} documents={ptx.value} file={line.file} line={line.line} />
          <Unrolled copies={copiesBy("ptxas")} />
          <Reached what="SASS" count={found.sass} documents={sass.value} file={line.file} line={line.line} />
        </ol>
      )}
      {final !== "" && <p class="fate">{isLoop ? `Nothing is left of the loop itself: it is ${final}.` : `Nothing is left: ${final}.`}</p>}
      {manifest.value?.status === "failed" && <p class="muted">The compilation failed; later passes saw nothing of it.</p>}
    </section>
  );
}

const COPIES_OF: Partial<Record<Copies["by"], string>> = {
  trace: "Python runs the loop, so that the first module has a copy of its body for each turn",
  LLVM: "PTX has so many copies of what an operation of LLVM IR became",
  ptxas: "SASS has so many copies of what an operation of LLVM IR became",
};

/** Who made copies of the line, or of a loop's body. */
function Unrolled({ copies }: { copies: Copies[] }) {
  return (
    <>
      {copies.map((each) => (
        <li key={`${each.by} ${each.step ?? 0}`}>
          <span class="sign unrolled" title={EVENT_SIGNS["unrolled"]?.[1]}>
            {EVENT_SIGNS["unrolled"]?.[0]}
          </span>
          <span title={COPIES_OF[each.by]}>
            {each.body !== undefined && `its body, ${linesOf(each.body)}, is `}
            {unrolledBy(each, passName)}
          </span>
        </li>
      ))}
    </>
  );
}

const linesOf = ([first, last]: [number, number]) => (first === last ? `line ${first}` : `lines ${first} to ${last}`);

interface ReachedProps {
  what: string;
  count: number;
  documents: Document[];
  file: string;
  line: number;
}

function Reached({ what, count, documents, file, line }: ReachedProps) {
  if (documents.length === 0) return null;
  const target = documents.find((each) => indexOf(each).count(file, line) > 0);
  const self = documents.reduce((sum, each) => sum + indexOf(each).ownLines(file, line).length, 0);
  return (
    <li>
      <span class="sign" title={count > 0 ? `instructions in ${what}` : `nothing in ${what}`}>
        {count > 0 ? "▸" : "∅"}
      </span>
      {target === undefined ? (
        <span class="muted">no instruction in {what}</span>
      ) : (
        <button type="button" class="link" onClick={() => void open(target.stop, file, line)}>
          {what}: {count.toLocaleString("en")} instruction{count === 1 ? "" : "s"}
          {self < count && ` with calls, ${self.toLocaleString("en")} self`}
        </button>
      )}
    </li>
  );
}
