/** Above machine code: its text as nvdisasm prints it, which columns there are, folding. */

import { signal } from "@preact/signals";
import { COLUMNS, type Column, chosen, hasColumns, heads, isShown, raw } from "./choices";
import { foldLines } from "./view";

const folded = signal(false);

export function SassSwitches() {
  if (!hasColumns.value) return null;
  return (
    <>
      <label class="check" title="The text of nvdisasm, as the record has it">
        <input type="checkbox" checked={raw.value} onChange={(event) => (raw.value = event.currentTarget.checked)} />
        Raw
      </label>
      {!raw.value && (
        <>
          <button
            type="button"
            title="Fold the instructions of every line of the source, or open them"
            onClick={() => {
              folded.value = !folded.value;
              foldLines(folded.value);
            }}
          >
            {folded.value ? "Open lines" : "Fold lines"}
          </button>
          <details class="sass-columns" onKeyDown={(event) => event.key === "Escape" && event.currentTarget.removeAttribute("open")}>
            <summary>Columns</summary>
            <div role="group" aria-label="Columns of machine code">
              <label class="check">
                <input type="checkbox" checked={heads.value} onChange={(event) => (heads.value = event.currentTarget.checked)} />
                source above instructions
              </label>
              {(Object.keys(COLUMNS) as Column[]).map((column) => (
                <label key={column} class="check">
                  <input
                    type="checkbox"
                    checked={isShown(column)}
                    onChange={(event) => (chosen.value = { ...chosen.value, [column]: event.currentTarget.checked })}
                  />
                  {COLUMNS[column]}
                </label>
              ))}
            </div>
          </details>
        </>
      )}
    </>
  );
}
