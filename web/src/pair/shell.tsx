/** The page of two records: head, list, texts. */

import { useEffect } from "preact/hooks";
import { Boundary } from "../boundary";
import { KeysDialog, listenToKeys } from "../keys";
import { leftOpen } from "../layout";
import { LeftButtons, LeftColumn, Skip } from "../left";
import { followQuery } from "../searching";
import { PageButtons } from "../shell";
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
      <Skip />
      <Head />
      <div class="columns" style={{ gridTemplateColumns: columns, gridTemplateRows: "minmax(0, 1fr)" }}>
        <LeftColumn List={PairList} width={listWidth} />
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
        <LeftButtons />
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
