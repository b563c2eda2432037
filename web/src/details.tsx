/** The column of source and details: the source above or beside, and below it what its tabs choose. */

import type { ComponentChild, ComponentChildren } from "preact";
import { Boundary } from "./boundary";
import { sideBelow, sourceShare } from "./layout";
import { Splitter } from "./splitter";

export function SideColumn({ source, children }: { source: ComponentChild; children: ComponentChildren }) {
  const below = sideBelow.value;
  const parts = `minmax(0, ${sourceShare.value}fr) 5px minmax(0, ${100 - sourceShare.value}fr)`;
  return (
    <aside
      class="column side"
      id="side"
      aria-label="Source and details"
      style={below ? { gridTemplateColumns: parts } : { gridTemplateRows: parts }}
    >
      <div class="side-source">
        <h2 class="hidden">Source</h2>
        <Boundary name="The source">{source}</Boundary>
      </div>
      <Splitter label={below ? "Width of the source" : "Height of the source"} size={sourceShare} unit="%" grows={1} across={!below} />
      {children}
    </aside>
  );
}

export interface Tab<Id extends string> {
  id: Id;
  label: string;
  Panel: () => ComponentChild;
}

interface TabsProps<Id extends string> {
  tabs: readonly [Tab<Id>, ...Tab<Id>[]];
  chosen: Id;
  choose(id: Id): void;
  /** What stands behind the label of a tab. */
  behind?: (id: Id) => ComponentChild;
}

/** Tabs, and the panel of the chosen one; arrows go around. */
export function DetailTabs<Id extends string>({ tabs, chosen, choose, behind }: TabsProps<Id>) {
  const open = tabs.find(({ id }) => id === chosen) ?? tabs[0];
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(open) + by + tabs.length) % tabs.length];
    if (next === undefined) return;
    choose(next.id);
    document.getElementById(`tab-${next.id}`)?.focus();
  };
  return (
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
            onClick={() => choose(id)}
          >
            {label} {behind?.(id)}
          </button>
        ))}
      </div>
      <div id="side-panel" role="tabpanel" aria-labelledby={`tab-${open.id}`} tabIndex={0}>
        <Boundary key={open.id} name={`The tab “${open.label}”`}>
          <open.Panel />
        </Boundary>
      </div>
    </div>
  );
}
