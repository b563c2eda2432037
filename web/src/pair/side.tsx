/** Beside or below the texts of two records: their source, and below it the lines that differ and the remarks. */

import { DetailTabs, SideColumn } from "../details";
import { ChangedLines } from "./lines";
import { PairRemarks } from "./remarks";
import { PairSource } from "./source";
import { pairTab, remarks } from "./source-state";

export function PairDetails() {
  const differing = remarks.value.filter(({ kind }) => kind !== "same").length;
  return (
    <SideColumn source={<PairSource />}>
      <DetailTabs
        tabs={[
          { id: "lines", label: "Lines that differ", Panel: ChangedLines },
          { id: "remarks", label: differing > 0 ? `Remarks (${differing} differ)` : "Remarks", Panel: PairRemarks },
        ]}
        chosen={pairTab.value}
        choose={(id) => (pairTab.value = id)}
      />
    </SideColumn>
  );
}
