/** The page: head, list, text, source and details. */

import { useEffect } from "preact/hooks";
import { Boundary } from "./boundary";
import { KeysDialog, keysOpen, listenToKeys } from "./keys";
import { ValuePanel } from "./following/panel";
import {
  belowHeight,
  leftOpen,
  leftWidth,
  openSide,
  rightWidth,
  sideBelow,
  sideOpen,
  toggleBelow,
  verdictOpen,
} from "./layout";
import { LeftButtons, LeftColumn, Skip, skipTo } from "./left";
import { DetailTabs, SideColumn, type Tab } from "./details";
import { HeatPanel } from "./heat/panel";
import { LinkedColumns } from "./linked/columns";
import { linked } from "./linked/state";
import { HistoryPanel } from "./panels/history";
import { InstructionsPanel } from "./panels/instructions";
import { RemarksPanel } from "./panels/remarks";
import { ResourcesPanel } from "./panels/resources";
import { SourcePanel } from "./panels/source";
import { FunctionsPanel } from "./panels/functions";
import { countOf } from "./panels/tab-counts";
import { PassList } from "./passes";
import { PictureDialog } from "./pictures/dialog";
import { RequestDialog } from "./pictures/request-dialog";
import { searchOpen } from "./search";
import { followQuery } from "./searching";
import { Splitter } from "./splitter";
import { STATUS, resumedText } from "./status";
import { type SideTab, manifest, notice, sideTab, theme, verdict } from "./store";
import { effectiveTheme } from "./theme";
import { Verdict } from "./verdict";
import { Viewer } from "./viewer";

export function Shell() {
  useEffect(() => {
    listenToKeys();
    followQuery();
  }, []);
  return (
    <>
      <Skip>
        <a href="#side" onClick={skipTo("#side [role=tab][aria-selected=true]")}>
          Skip to source and details
        </a>
      </Skip>
      <Head />
      <Boundary name="The verdict">
        <Verdict />
      </Boundary>
      {linked.value ? <LinkedColumns details={<Details />} /> : <Columns />}
      <div class="hidden" role="status" aria-live="polite">
        {notice.value}
      </div>
      <KeysDialog />
      <Boundary name="The picture">
        <PictureDialog />
        <RequestDialog />
      </Boundary>
    </>
  );
}

/** The list, the text, and beside or below it source and details. */
function Columns() {
  const below = sideBelow.value;
  const columns = [
    // Lines that were found need more room than names.
    leftOpen.value ? `${searchOpen.value ? Math.max(280, leftWidth.value) : leftWidth.value}px 5px` : "",
    "minmax(0, 1fr)",
    sideOpen.value && !below ? `5px min(${rightWidth.value}px, 55vw)` : "",
  ].join(" ");
  const rows = sideOpen.value && below ? `minmax(0, 1fr) 5px min(${belowHeight.value}px, 75vh)` : "minmax(0, 1fr)";
  return (
    <div class={below ? "columns below" : "columns"} style={{ gridTemplateColumns: columns, gridTemplateRows: rows }}>
      <LeftColumn List={PassList} width={leftWidth} />
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
          <Side />
        </>
      )}
    </div>
  );
}

function Head() {
  const { value: found } = manifest;
  return (
    <header>
      <h1 title={found?.name}>{found?.name ?? "No manifest in this page"}</h1>
      {found !== null && (
        <>
          <span>{found.target}</span>
          <span class={`status ${found.status}`}>{STATUS[found.status] ?? found.status}</span>
          {found.resumed != null && (
            <span class="resumed" title={`${resumedText(found.resumed)}: ${found.resumed.dump}`}>
              {resumedText(found.resumed)}
            </span>
          )}
          <span class="muted source" title={[found.source ?? "", found.command.join(" ")].join("\n")}>
            {found.source ?? ""}
          </span>
          <span class="muted versions">
            cutecc {found.versions["cutecc"]} · nvidia-cutlass-dsl {found.versions["nvidia_cutlass_dsl"]} {found.versions["flavour"]}
          </span>
        </>
      )}
      <span class="buttons">
        {verdict.value !== null && (
          <button type="button" class="quiet" aria-pressed={verdictOpen.value} title="Verdict (w)" onClick={() => (verdictOpen.value = !verdictOpen.value)}>
            Verdict
          </button>
        )}
        <LeftButtons />
        <SideButtons />
        <PageButtons />
      </span>
    </header>
  );
}

/** Whether source and details are there, and where. */
export function SideButtons() {
  return (
    <>
      <button type="button" class="quiet" aria-pressed={sideOpen.value} title="Source and details (])" onClick={() => openSide(!sideOpen.value)}>
        Source
      </button>
      <button type="button" class="quiet" aria-pressed={sideBelow.value} title="Source and details below the text (b)" onClick={toggleBelow}>
        Below
      </button>
    </>
  );
}

/** What is for the page and not for what it shows. */
export function PageButtons() {
  const next = effectiveTheme.value === "dark" ? "light" : "dark";
  return (
    <>
      <button type="button" class="quiet" title={`Colours: ${next} (d)`} onClick={() => (theme.value = next)}>
        {next === "dark" ? "Dark" : "Light"}
      </button>
      <button type="button" class="quiet" title="Keys (?)" onClick={() => (keysOpen.value = true)}>
        Keys
      </button>
    </>
  );
}

const TABS: readonly [Tab<SideTab>, ...Tab<SideTab>[]] = [
  { id: "history", label: "History", Panel: HistoryPanel },
  { id: "heat", label: "Heat", Panel: HeatPanel },
  { id: "value", label: "Value", Panel: ValuePanel },
  { id: "instructions", label: "Instructions", Panel: InstructionsPanel },
  { id: "resources", label: "Resources", Panel: ResourcesPanel },
  { id: "remarks", label: "Remarks", Panel: RemarksPanel },
  { id: "functions", label: "Functions", Panel: FunctionsPanel },
];

function Count({ of }: { of: SideTab }) {
  const found = countOf(of);
  return found && <span class="count" title={found.meaning}>{found.text}</span>;
}

function Details() {
  return <DetailTabs tabs={TABS} chosen={sideTab.value} choose={(id) => (sideTab.value = id)} behind={(id) => <Count of={id} />} />;
}

function Side() {
  return (
    <SideColumn source={<SourcePanel />}>
      <Details />
    </SideColumn>
  );
}
