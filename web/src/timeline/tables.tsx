/** What the pictures show, as tables. */

import { useEffect } from "preact/hooks";
import { lineRows } from "../heat/hottest";
import { allValues, needSamples } from "../heat/state";
import type { Values } from "../heat/values";
import { type LineKey, lineKey } from "../panels/chains";
import { Whose, isShown } from "../panels/ownership";
import { files, select, shortName, userLines } from "../panels/state";
import { userLine } from "../store";
import type { Share, Timeline } from "./data";
import type { Picture } from "./rows";
import type { Window } from "./state";
import { CAUSES, amount, placeOf, siteText } from "./words";

const MOST_SHARES = 8;
const MOST_ROWS = 200;
const MOST_LINES = 30;

/** What a critical path is spent on. */
export function Shares({ of, shares, unit }: { of: string; shares: Share[]; unit: Timeline["unit"] }) {
  const shown = shares.slice(0, MOST_SHARES);
  return (
    <table class="shares">
      <caption>{of}</caption>
      <thead>
        <tr>
          <th scope="col">share</th>
          <th scope="col">{unit === "ns" ? "time" : "count"}</th>
          <th scope="col">on</th>
          <th scope="col">line</th>
        </tr>
      </thead>
      <tbody>
        {shown.map((each, i) => (
          <tr key={i}>
            <td class="number">
              <Bar share={each.share} />
            </td>
            <td class="number">{amount(unit, each.time)}</td>
            <td>{CAUSES[each.cause]}</td>
            <td>
              <LineLink {...each} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function LineLink({ file, line }: { file: string; line: number }) {
  if (line === 0) return <span class="muted">no line known</span>;
  const selected = userLine.value?.line === line && userLine.value.file === file;
  return (
    <button type="button" class="line-link" aria-pressed={selected} title={file} onClick={() => select({ file, line })}>
      <span class="muted">
        {shortName(file, files.value)}:{line}
      </span>{" "}
      <code>{userLines.value?.sources[file]?.split("\n")[line - 1]?.trim() ?? ""}</code>
    </button>
  );
}

/** Where warps were by the recording, beside where they were seen by samples. */
export function Lines({ timeline }: { timeline: Timeline }) {
  useEffect(needSamples, []);
  const sampled = allValues.value.find(({ measure }) => measure.is_sampled === true && measure.unit === "samples");
  const rows = linesOf(timeline, sampled);
  return (
    <>
      <Whose />
      <table class="shares">
        <caption>
          Part of their time that warps were at the sites of a line{sampled === undefined ? "" : ", and part of the samples that are of it"}
        </caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              recorded
            </th>
            {sampled !== undefined && (
              <th scope="col" class="number">
                sampled
              </th>
            )}
            <th scope="col">line</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_LINES).map(({ file, line, recorded, seen }) => (
            <tr key={`${file}:${line}`}>
              <td class="number">
                <Bar share={recorded} />
              </td>
              {sampled !== undefined && (
                <td class="number">
                  <Bar share={seen} />
                </td>
              )}
              <td>
                <LineLink file={file} line={line} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

interface LineShares {
  file: string;
  line: number;
  /** Null where nothing of the line was recorded, or sampled. */
  recorded: number | null;
  seen: number | null;
}

/** Lines of which something was recorded, or that have a good part of the samples. */
function linesOf(timeline: Timeline, sampled: Values | undefined): LineShares[] {
  const found = new Map<LineKey, LineShares>();
  for (const { file, line, share } of timeline.lines)
    if (isShown(file) && share >= 0.0005) found.set(lineKey(file, line), { file, line, recorded: share, seen: null });
  for (const { place, self } of sampled === undefined ? [] : lineRows(sampled, files.value, isShown)) {
    if (!("file" in place) || self === null || sampled === undefined) continue;
    const [key, seen] = [lineKey(place.file, place.line), self / (sampled.total || 1)];
    const known = found.get(key);
    if (known !== undefined) known.seen = seen;
    else if (seen >= 0.01) found.set(key, { ...place, recorded: null, seen });
  }
  return [...found.values()].sort((a, b) => Math.max(b.recorded ?? 0, b.seen ?? 0) - Math.max(a.recorded ?? 0, a.seen ?? 0));
}

function Bar({ share }: { share: number | null }) {
  if (share === null) return <span class="muted">–</span>;
  return (
    <span class="share-bar" style={{ "--share": `${(100 * share).toFixed(1)}%` }}>
      {percent(share)}
    </span>
  );
}

/** What the lanes on the screen show, lane by lane. */
export function SpanTable({ picture, timeline, window }: { picture: Picture; timeline: Timeline; window: Window }) {
  const rows = picture.rows.flatMap((row) =>
    row.spans.starts.flatMap((start, span) => {
      const length = row.spans.lengths[span] ?? 0;
      return start + length < window.start || start > window.end ? [] : [{ row, span, start, length }];
    }),
  );
  return (
    <details class="span-table">
      <summary>The same as a table</summary>
      {rows.length > MOST_ROWS && (
        <p class="muted">
          The first {MOST_ROWS} of {rows.length.toLocaleString("en")} on the screen; zoom in for others.
        </p>
      )}
      <table>
        <thead>
          <tr>
            <th scope="col">warps</th>
            <th scope="col">from</th>
            <th scope="col">for</th>
            <th scope="col">at</th>
            <th scope="col">waited for</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST_ROWS).map(({ row, span, start, length }, i) => {
            const site = timeline.sites[row.spans.sites[span] ?? -1];
            return (
              <tr key={i}>
                <td>{row.title}</td>
                <td class="number">{amount(timeline.unit, start)}</td>
                <td class="number">{length > 0 ? amount(timeline.unit, length) : ""}</td>
                <td>
                  {site !== undefined && site.line > 0 ? (
                    <button type="button" class="line-link" onClick={() => select({ file: site.file, line: site.line })}>
                      {site.name} <span class="muted">{placeOf(site)}</span>
                    </button>
                  ) : (
                    site && siteText(site)
                  )}
                </td>
                <td>{row.awaited(span).replace(/^waited for /, "")}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </details>
  );
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
