/** The page of two records: head, list, texts. */

import { useEffect } from "preact/hooks";
import { Boundary } from "../boundary";
import { KeysDialog, listenToKeys } from "../keys";
import { belowHeight, leftOpen, rightWidth, sideBelow, sideOpen } from "../layout";
import { LeftButtons, LeftColumn, Skip, skipTo } from "../left";
import { followQuery } from "../searching";
import { PageButtons, SideButtons } from "../shell";
import { Splitter } from "../splitter";
import { STATUS, resumedText } from "../status";
import { notice, pair } from "../store";
import { Viewer } from "../viewer";
import type { PairSide } from "./data";
import { PairList } from "./list";
import { listWidth } from "./layout";
import { PairDetails } from "./side";

export function PairShell() {
  useEffect(() => {
    listenToKeys();
    followQuery();
  }, []);
  const below = sideBelow.value;
  const columns = [
    leftOpen.value ? `min(${listWidth.value}px, 60vw) 5px` : "",
    "minmax(0, 1fr)",
    sideOpen.value && !below ? `5px min(${rightWidth.value}px, 55vw)` : "",
  ].join(" ");
  const rows = sideOpen.value && below ? `minmax(0, 1fr) 5px min(${belowHeight.value}px, 75vh)` : "minmax(0, 1fr)";
  return (
    <>
      <Skip>
        <a href="#side" onClick={skipTo("#side [role=tab][aria-selected=true]")}>
          Skip to source and details
        </a>
      </Skip>
      <Head />
      <div class={below ? "columns below" : "columns"} style={{ gridTemplateColumns: columns, gridTemplateRows: rows }}>
        <LeftColumn List={PairList} width={listWidth} />
        <Boundary name="The text">
          <Viewer />
        </Boundary>
        {sideOpen.value && (
          <>
            {below ? (
              <Splitter key="below" label="Height of source and details" size={belowHeight} unit="px" grows={-1} across />
            ) : (
              <Splitter key="beside" label="Width of source and details" size={rightWidth} unit="px" grows={-1} />
            )}
            <PairDetails />
          </>
        )}
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
        <LeftButtons />
        <SideButtons />
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
