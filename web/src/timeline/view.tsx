/** A timeline in the middle of the page: a block's lanes, the period that they repeat, what the critical path is spent on. */

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { load } from "../chunks";
import { Chart } from "./chart";
import type { Block, Kind, Steady, Timeline } from "./data";
import { ofBlock, ofSteady } from "./rows";
import { type Window, openGroups, shownBlock } from "./state";
import { Lines, Shares, SpanTable } from "./tables";
import { KINDS, amount, blockName, slowdownText } from "./words";

export function TimelineView({ chunk }: { chunk: string }) {
  return <Opened chunk={chunk}>{(timeline) => <Whole timeline={timeline} />}</Opened>;
}

interface ExcerptProps {
  chunk: string;
  name: string;
  /** What stands below it. */
  children: ComponentChildren;
}

/** A block's lanes alone, to stand in another part of the page. */
export function TimelineExcerpt({ chunk, name, children }: ExcerptProps) {
  return (
    <section class="timeline" aria-label={name}>
      <Opened chunk={chunk}>
        {(timeline) => (
          <>
            <About timeline={timeline} />
            <BlockPart timeline={timeline} />
          </>
        )}
      </Opened>
      {children}
    </section>
  );
}

function Opened({ chunk, children }: { chunk: string; children: (timeline: Timeline) => ComponentChildren }) {
  const [timeline, setTimeline] = useState<Timeline | null | "none">(null);
  useEffect(() => void load<Timeline>(chunk).then((found) => setTimeline(found ?? "none")), [chunk]);
  if (timeline === null) return <p class="message">Opening the timeline…</p>;
  if (timeline === "none") return <p class="message">This page does not hold the timeline.</p>;
  return <>{children(timeline)}</>;
}

function Whole({ timeline }: { timeline: Timeline }) {
  return (
    <section class="sheet timeline" aria-label="Timeline" tabIndex={0}>
      <About timeline={timeline} />
      <BlockPart timeline={timeline} />
      <SteadyPart timeline={timeline} />
      <section aria-label="Critical path">
        <h2>What the critical path is spent on</h2>
        <p class="muted">What the end waited for, back to the start: to end earlier, one of these has to take less.</p>
        <Paths timeline={timeline} />
      </section>
      <section aria-label="Lines">
        <h2>Lines</h2>
        <Lines timeline={timeline} />
      </section>
    </section>
  );
}

function About({ timeline }: { timeline: Timeline }) {
  const { title, device, notes, lost, recorded_blocks: blocks } = timeline;
  const slowdown = slowdownText(timeline);
  return (
    <div class="timeline-about">
      <h2>
        Timeline{title === "" ? "" : `, ${title}`} <span class="muted">on {device === "emulator" ? "the CPU emulator" : device}</span>
      </h2>
      <p>
        {blocks.toLocaleString("en")} {blocks === 1 ? "block was" : "blocks were"} recorded.{" "}
        {lost > 0 && <strong>{lost.toLocaleString("en")} records found no room: what is missing was not drawn. </strong>}
        {slowdown}
      </p>
      {timeline.unit === "instructions" && (
        <p>
          <strong>Instructions, not time.</strong> It shows order and dependencies: each instruction of a warp counts one, who waits is as late as whom it
          waits for, and copies and products take nothing.
        </p>
      )}
      <Deadlock lines={timeline.deadlock} />
      {timeline.unit === "ns" && notes.map((note) => <p key={note}>{note}</p>)}
      <Legend />
    </div>
  );
}

function Deadlock({ lines: [why, ...where] }: { lines: string[] }) {
  if (why === undefined) return null;
  return (
    <>
      <p>
        <strong>{why}</strong>
      </p>
      <ul>
        {where.map((each) => (
          <li key={each}>{each}</li>
        ))}
      </ul>
    </>
  );
}

const LEGEND: readonly Kind[] = ["barrier", "copy", "product", "arrive", "mark"];
const WAITS = [
  ["copy", "for memory"],
  ["product", "for the tensor cores"],
  ["arrive", "for a warp"],
  ["wait", "shortly, for ever, or for what is not known"],
] as const;

function Legend() {
  return (
    <ul class="legend" aria-label="Signs of the picture">
      <li>
        <span class="sign run" aria-hidden="true" /> executes
      </li>
      <li>
        waits
        {WAITS.map(([kind, text]) => (
          <span key={kind} class="of-wait">
            <span class={`sign wait ${kind}`} aria-hidden="true" /> {text}
          </span>
        ))}
      </li>
      {LEGEND.map((kind) => (
        <li key={kind}>
          <span class={`sign ${kind}`} aria-hidden="true" /> {KINDS[kind]}
        </li>
      ))}
      <li>
        <span class="sign path" aria-hidden="true" /> the critical path; broken where something is in flight
      </li>
    </ul>
  );
}

function BlockPart({ timeline }: { timeline: Timeline }) {
  const block = timeline.blocks[shownBlock.value] ?? timeline.blocks[0];
  if (block === undefined) return <p>No block was recorded.</p>;
  return <BlockPicture key={timeline.blocks.indexOf(block)} timeline={timeline} block={block} />;
}

function BlockPicture({ timeline, block }: { timeline: Timeline; block: Block }) {
  const open = openGroups.value;
  const picture = useMemo(() => ofBlock(block, timeline.sites, open), [block, open]);
  const [window, setWindow] = useState<Window>(picture);
  return (
    <section aria-label="Block">
      <div class="row">
        <h2>
          {blockName(block)} <span class="muted">{amount(timeline.unit, block.end - block.start)}</span>
        </h2>
        <label>
          <span class="hidden">Block</span>
          <select value={shownBlock.value} onChange={(event) => (shownBlock.value = Number(event.currentTarget.value))}>
            {timeline.blocks.map((each, i) => (
              <option key={i} value={i}>
                {blockName(each)} ({each.why.join(", ")})
              </option>
            ))}
          </select>
        </label>
      </div>
      <Chart name={`Lanes of ${blockName(block)}`} picture={picture} timeline={timeline} onWindow={setWindow} />
      <SpanTable picture={picture} timeline={timeline} window={window} />
    </section>
  );
}

function Paths({ timeline }: { timeline: Timeline }) {
  const { steady, unit } = timeline;
  const block = timeline.blocks[shownBlock.value] ?? timeline.blocks[0];
  return (
    <>
      {steady !== null && <Shares of="A period" shares={steady.shares} unit={unit} />}
      {block !== undefined && <Shares of={`All of ${blockName(block)}`} shares={block.shares} unit={unit} />}
    </>
  );
}

function SteadyPart({ timeline }: { timeline: Timeline }) {
  const { steady } = timeline;
  return (
    <section aria-label="Steady state">
      {steady === null ? (
        <>
          <h2>Steady state</h2>
          <p>There is none: {timeline.why_no_steady}.</p>
        </>
      ) : (
        <SteadyPicture timeline={timeline} steady={steady} />
      )}
    </section>
  );
}

function SteadyPicture({ timeline, steady }: { timeline: Timeline; steady: Steady }) {
  const picture = useMemo(() => ofSteady(steady, timeline.sites), [steady]);
  const [window, setWindow] = useState<Window>(picture);
  const count = (number: number, what: string) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;
  return (
    <>
      <h2>
        One period of the steady state <span class="muted">{amount(timeline.unit, steady.period)}</span>
      </h2>
      <p class="muted">
        Medians of {count(steady.periods, "period")} of {count(steady.blocks, "block")}. What goes on beyond the right edge is what went on at the left one;
        where the critical path goes back through several periods, they are laid over one another.
      </p>
      {steady.left_out.map((why) => (
        <p key={why}>{`${why.charAt(0).toUpperCase()}${why.slice(1)}.`}</p>
      ))}
      <Chart name="Lanes of one period" picture={picture} timeline={timeline} onWindow={setWindow} />
      <SpanTable picture={picture} timeline={timeline} window={window} />
    </>
  );
}
