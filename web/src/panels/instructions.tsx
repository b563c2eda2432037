/** The PTX and SASS of the selected line. */

import type { Document } from "../documents";
import { instructionOf } from "../sass/instruction";
import { userLine } from "../store";
import { copiesOf } from "./copies";
import { reasonOf } from "./owners";
import { files, indexOf, ptx, reveal, sass, shortName } from "./state";

const MOST = 400;

/** Where an instruction is, and its text: machine code has addresses. */
function shownAs(document: Document, line: number): { where: string; text: string } {
  const text = document.lines[line]?.trim() ?? "";
  const { address, guard, opcode, operands } = instructionOf(text);
  if (document.kind !== "sass" || address === "") return { where: `line ${line + 1}`, text };
  return { where: address, text: [guard, opcode, operands].filter((each) => each !== "").join(" ") };
}

export function InstructionsPanel() {
  const line = userLine.value;
  const documents = [...ptx.value, ...sass.value];
  if (documents.length === 0) return <p class="empty muted">This page holds neither PTX nor SASS.</p>;
  if (line === null) return <p class="empty muted">Select a line of the source to see its instructions.</p>;
  return (
    <section class="panel instructions" aria-label="Instructions">
      <h2>
        {shortName(line.file, files.value)}:{line.line}
      </h2>
      {documents.map((document) => (
        <Instructions key={document.stop} document={document} lines={indexOf(document).lines(line.file, line.line)} />
      ))}
    </section>
  );
}

function Instructions({ document, lines }: { document: Document; lines: Int32Array }) {
  const { listing } = document;
  const name = document.kind === "ptx" ? "PTX" : "SASS";
  const copies = copiesOf(document, lines);
  return (
    <>
      <h3>
        {name} <span class="muted">{lines.length.toLocaleString("en")} instruction{lines.length === 1 ? "" : "s"}</span>
      </h3>
      {copies.length > 0 && (
        <p class="muted" title="What one operation of the line became so many of, in a loop that was unrolled or in parts">
          copies of each operation: {copies.map(([opcode, count]) => `${opcode} ×${count}`).join(", ")}
        </p>
      )}
      {lines.length === 0 && <p class="muted">Nothing of this line is in {name}.</p>}
      <ul>
        {[...lines.subarray(0, MOST)].map((line) => {
          const number = listing?.classes[line] ?? -1;
          const reason = reasonOf(document, line);
          const { where, text } = shownAs(document, line);
          return (
            <li key={line}>
              <button type="button" class="instruction" title={`Show ${where} in ${name}`} onClick={() => reveal(document.stop, line)}>
                <span class="number">{where.replace("line ", "")}</span>
                <code>{text}</code>
                {reason !== null && (
                  <span class={`owner ${reason.name}`} title={reason.text}>
                    {reason.mark} {reason.name}
                  </span>
                )}
                {number >= 0 && <span class="muted class">{listing?.class_names[number]}</span>}
              </button>
            </li>
          );
        })}
      </ul>
      {lines.length > MOST && (
        <p class="muted">
          and {(lines.length - MOST).toLocaleString("en")} more; n and p go through all of them in the listing
        </p>
      )}
    </>
  );
}
