/** The page of two records: head, list, texts. */

import { useEffect } from "preact/hooks";
import { Boundary } from "../boundary";
import { KeysDialog, listenToKeys } from "../keys";
import { leftOpen, openLeft } from "../layout";
import { SearchPanel, openSearch, searchOpen } from "../search";
import { followQuery } from "../searching";
import { PageButtons, skipTo } from "../shell";
import { Splitter } from "../splitter";
import { STATUS, resumedText } from "../status";
import { notice, pair } from "../store";
import { Viewer } from "../viewer";
import type { PairSide } from "./data";
import { PairList } from "./list";
import { listWidth } from "./layout";

export function PairShell() {
  useEffect(() => {
    listenToKeys();
    followQuery();
  }, []);
  const columns = `${leftOpen.value ? `min(${listWidth.value}px, 60vw) 5px` : ""} minmax(0, 1fr)`;
  return (
    <>
      <nav class="skip" aria-label="Skip">
        <a href="#text" onClick={skipTo("#text .cm-content", "#text")}>
          Skip to the text
        </a>
        <a href="#pass-list" onClick={skipTo("#pass-list")}>
          Skip to the passes
        </a>
      </nav>
      <Head />
      <div class="columns" style={{ gridTemplateColumns: columns, gridTemplateRows: "minmax(0, 1fr)" }}>
        {leftOpen.value && (
          <>
            <div class="column left">
              <Boundary key={searchOpen.value ? "search" : "list"} name={searchOpen.value ? "The search" : "The list"}>
                {searchOpen.value ? <SearchPanel /> : <PairList />}
              </Boundary>
            </div>
            <Splitter label="Width of the list" size={listWidth} unit="px" grows={1} />
          </>
        )}
        <Boundary name="The text">
          <Viewer />
        </Boundary>
      </div>
      <div class="hidden" role="status" aria-live="polite">
        {notice.value}
      </div>
      <KeysDialog />
    </>
  );
}

function Head() {
  const found = pair.value;
  return (
    <header class="pair">
      <div class="records">
        <h1 class="hidden">Two records compared</h1>
        {found !== null && <Record side="A" of={found.a} />}
        {found !== null && <Record side="B" of={found.b} />}
      </div>
      <span class="buttons">
        <button type="button" class="quiet" title="Search (/)" onClick={() => { openLeft(true); openSearch(); }}>
          Search
        </button>
        <button type="button" class="quiet" aria-pressed={leftOpen.value} title="List ([)" onClick={() => openLeft(!leftOpen.value)}>
          List
        </button>
        <PageButtons />
      </span>
    </header>
  );
}

function Record({ side, of }: { side: string; of: PairSide }) {
  return (
    <p title={[of.source ?? "", of.command.join(" ")].join("\n")}>
      <b class="side-name">{side}</b>
      <b>{of.record}</b>
      <span>
        {of.kernel} for {of.target}
      </span>
      <span class={`status ${of.status}`}>{STATUS[of.status] ?? of.status}</span>
      <span class="muted">{of.passes} passes</span>
      {of.resumed !== null && <span class="resumed">{resumedText(of.resumed)}</span>}
    </p>
  );
}
