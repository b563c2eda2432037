/** Beside or below the texts of two records: their source, and below it the lines that differ and the remarks. */

import { Boundary } from "../boundary";
import { sideBelow, sourceShare } from "../layout";
import { Splitter } from "../splitter";
import { ChangedLines } from "./lines";
import { PairRemarks } from "./remarks";
import { PairSource } from "./source";
import { pairTab, remarks } from "./source-state";

export function PairDetails() {
  const below = sideBelow.value;
  const parts = `minmax(0, ${sourceShare.value}fr) 5px minmax(0, ${100 - sourceShare.value}fr)`;
  const differing = remarks.value.filter(({ kind }) => kind !== "same").length;
  const tabs = [
    { id: "lines", label: "Lines that differ", Panel: ChangedLines },
    { id: "remarks", label: differing > 0 ? `Remarks (${differing} differ)` : "Remarks", Panel: PairRemarks },
  ] as const;
  const open = tabs.find(({ id }) => id === pairTab.value) ?? tabs[0];
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    // There are two.
    const other = tabs[open === tabs[0] ? 1 : 0];
    pairTab.value = other.id;
    document.getElementById(`tab-${other.id}`)?.focus();
  };
  return (
    <aside
      class="column side"
      id="side"
      aria-label="Source and details"
      style={below ? { gridTemplateColumns: parts } : { gridTemplateRows: parts }}
    >
      <div class="side-source">
        <h2 class="hidden">Source</h2>
        <Boundary name="The source">
          <PairSource />
        </Boundary>
      </div>
      <Splitter label={below ? "Width of the source" : "Height of the source"} size={sourceShare} unit="%" grows={1} across={!below} />
      <div class="side-details">
        <h2 class="hidden">Details</h2>
        <div role="tablist" aria-label="Details" onKeyDown={onKeyDown}>
          {tabs.map(({ id, label }) => (
            <button
              key={id}
              id={`tab-${id}`}
              type="button"
              role="tab"
              aria-selected={id === open.id}
              aria-controls="side-panel"
              tabIndex={id === open.id ? 0 : -1}
              onClick={() => (pairTab.value = id)}
            >
              {label}
            </button>
          ))}
        </div>
        <div id="side-panel" role="tabpanel" aria-labelledby={`tab-${open.id}`} tabIndex={0}>
          <Boundary key={open.id} name={`The tab “${open.label}”`}>
            <open.Panel />
          </Boundary>
        </div>
      </div>
    </aside>
  );
}
