/** The columns of the linked view: Python, stage, and PTX or SASS; details below them. */

import type { ComponentChild } from "preact";
import { Boundary } from "../boundary";
import { leftOpen, leftWidth, linkedCode, linkedDetails, linkedSource, sideOpen } from "../layout";
import { LeftColumn } from "../left";
import { SourcePanel } from "../panels/source";
import { PassList } from "../passes";
import { Splitter } from "../splitter";
import { Viewer } from "../viewer";
import { CodePane } from "./code-pane";

export function LinkedColumns({ details }: { details: ComponentChild }) {
  const list = leftOpen.value;
  const columns = [
    list ? `${leftWidth.value}px 5px` : "",
    `min(${linkedSource.value}px, ${list ? 24 : 32}vw) 5px minmax(0, 1fr) 5px min(${linkedCode.value}px, ${list ? 26 : 34}vw)`,
  ].join(" ");
  const rows = sideOpen.value ? `minmax(0, 1fr) 5px min(${linkedDetails.value}px, 60vh)` : "minmax(0, 1fr)";
  return (
    <div class="columns linked" style={{ gridTemplateColumns: columns, gridTemplateRows: rows }}>
      <LeftColumn List={PassList} width={leftWidth} />
      <aside class="column source-column" aria-label="Source">
        <Boundary name="The source">
          <SourcePanel />
        </Boundary>
      </aside>
      <Splitter label="Width of the source" size={linkedSource} unit="px" grows={1} />
      <Boundary name="The text">
        <Viewer />
      </Boundary>
      <Splitter label="Width of the code" size={linkedCode} unit="px" grows={-1} />
      <Boundary name="The code">
        <CodePane />
      </Boundary>
      {sideOpen.value && (
        <>
          <Splitter label="Height of the details" size={linkedDetails} unit="px" grows={-1} across />
          <aside class="linked-details" id="side" aria-label="Details">
            {details}
          </aside>
        </>
      )}
    </div>
  );
}
