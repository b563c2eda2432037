/** What the page of a record and that of two share: the way past the head, the left column, its buttons. */

import type { Signal } from "@preact/signals";
import type { ComponentChild, FunctionComponent } from "preact";
import { Boundary } from "./boundary";
import { leftOpen, openLeft } from "./layout";
import { SearchPanel, openSearch, searchOpen } from "./search";
import { Splitter } from "./splitter";

/** Links that only a keyboard finds; `children` are those of a page alone. */
export function Skip({ children }: { children?: ComponentChild }) {
  return (
    <nav class="skip" aria-label="Skip">
      <a href="#text" onClick={skipTo("#text .cm-content", "#text")}>
        Skip to the text
      </a>
      <a href="#pass-list" onClick={skipTo("#pass-list")}>
        Skip to the passes
      </a>
      {children}
    </nav>
  );
}

/** The address keeps the view, so a link to an element must not change it. */
export function skipTo(...selectors: string[]) {
  return (event: MouseEvent) => {
    event.preventDefault();
    const found = selectors.map((selector) => document.querySelector<HTMLElement>(selector));
    const target = found.find((element) => element !== null);
    if (target && target.tabIndex < 0 && !target.isContentEditable) target.tabIndex = -1;
    target?.focus();
  };
}

/** The list, or the search in its place, while it is open. */
export function LeftColumn({ List, width }: { List: FunctionComponent; width: Signal<number> }) {
  if (!leftOpen.value) return null;
  return (
    <>
      <nav class="column left" aria-label="Passes and texts">
        <Boundary key={searchOpen.value ? "search" : "list"} name={searchOpen.value ? "The search" : "The list"}>
          {searchOpen.value ? <SearchPanel /> : <List />}
        </Boundary>
      </nav>
      <Splitter label="Width of the list" size={width} unit="px" grows={1} />
    </>
  );
}

export function LeftButtons() {
  return (
    <>
      <button type="button" class="quiet" title="Search (/)" onClick={() => { openLeft(true); openSearch(); }}>
        Search
      </button>
      <button type="button" class="quiet" aria-pressed={leftOpen.value} title="List ([)" onClick={() => openLeft(!leftOpen.value)}>
        List
      </button>
    </>
  );
}
