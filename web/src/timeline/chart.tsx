/** A picture of lanes that one can zoom and walk through, by mouse and keyboard. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { select } from "../panels/state";
import { userLine } from "../store";
import { effectiveTheme } from "../theme";
import type { Site, Timeline } from "./data";
import { AXIS, ROW, draw, heightOf } from "./drawing";
import { type Picture, spanAt } from "./rows";
import { type Window, panned, toggleGroup, zoomed } from "./state";
import { amount, siteText } from "./words";

const HELP =
  "Arrows: the next thing that a warp did, or another warp. Plus, minus: zoom. Shift and an arrow: move. Zero: all of it. Enter: select the line.";
const REACH = 6;

interface Props {
  name: string;
  picture: Picture;
  timeline: Timeline;
  /** Told what is on the screen. */
  onWindow?: (window: Window) => void;
}

type Cursor = { row: number; span: number };

export function Chart({ name, picture, timeline, onWindow }: Props) {
  const { sites, unit } = timeline;
  const canvas = useRef<HTMLCanvasElement>(null);
  const whole = { start: picture.start, end: picture.end };
  const [shown, setShown] = useState<Window>(whole);
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const [width, setWidth] = useState(0);
  const [isFocused, setFocused] = useState(false);
  const help = useId();
  const line = userLine.value;
  const theme = effectiveTheme.value;

  const show = (next: Window) => {
    setShown(next);
    onWindow?.(next);
  };
  useEffect(() => show(whole), [whole.start, whole.end]);
  useEffect(() => {
    const watching = new ResizeObserver(() => setWidth(canvas.current?.clientWidth ?? 0));
    if (canvas.current) watching.observe(canvas.current);
    return () => watching.disconnect();
  }, []);
  const lit = (site: Site) => line !== null && site.line === line.line && site.file === line.file;
  useEffect(() => {
    if (canvas.current) draw(canvas.current, picture, sites, { window: shown, unit, cursor, lit });
  }, [picture, shown, cursor, width, line, theme]);

  const timeAt = (x: number) => shown.start + (x / Math.max(1, width)) * (shown.end - shown.start);
  const at = (event: MouseEvent): Cursor | null => {
    const row = Math.floor((event.offsetY - AXIS) / ROW);
    const lane = picture.rows[row];
    if (event.offsetY < AXIS || lane === undefined) return null;
    const span = spanAt(lane, timeAt(event.offsetX), ((shown.end - shown.start) * REACH) / Math.max(1, width));
    return span < 0 ? null : { row, span };
  };
  const selectAt = ({ row, span }: Cursor) => {
    const site = sites[picture.rows[row]?.spans.sites[span] ?? -1];
    if (site !== undefined && site.line > 0) select({ file: site.file, line: site.line });
  };
  const walk = (next: Cursor) => {
    setCursor(next);
    const start = picture.rows[next.row]?.spans.starts[next.span] ?? 0;
    const [before, margin] = [shown.end - shown.start, (shown.end - shown.start) / 10];
    if (start < shown.start) show(panned(shown, whole, start - shown.start - margin));
    else if (start > shown.end) show(panned(shown, whole, start - shown.end + Math.min(before, margin)));
  };
  const move = (rows: number, spans: number) => {
    const from = cursor ?? { row: 0, span: -1 };
    const row = Math.max(0, Math.min(picture.rows.length - 1, from.row + (cursor === null ? 0 : rows)));
    const lane = picture.rows[row];
    const count = lane?.spans.starts.length ?? 0;
    if (lane === undefined || count === 0) return;
    if (rows === 0) {
      walk({ row, span: Math.max(0, Math.min(count - 1, from.span + spans)) });
      return;
    }
    const time = picture.rows[from.row]?.spans.starts[from.span] ?? shown.start;
    walk({ row, span: Math.max(0, spanAt(lane, time, Infinity)) });
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [middle, step] = [cursorTime() ?? (shown.start + shown.end) / 2, (shown.end - shown.start) / 5];
    const actions: Record<string, () => void> = {
      ArrowRight: () => (event.shiftKey ? show(panned(shown, whole, step)) : move(0, 1)),
      ArrowLeft: () => (event.shiftKey ? show(panned(shown, whole, -step)) : move(0, -1)),
      ArrowDown: () => move(1, 0),
      ArrowUp: () => move(-1, 0),
      Home: () => move(0, -Infinity),
      End: () => move(0, Infinity),
      "+": () => show(zoomed(shown, whole, 0.5, middle)),
      "=": () => show(zoomed(shown, whole, 0.5, middle)),
      "-": () => show(zoomed(shown, whole, 2, middle)),
      "0": () => show(whole),
      Enter: () => cursor !== null && selectAt(cursor),
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const cursorTime = () => {
    const start = cursor === null ? undefined : picture.rows[cursor.row]?.spans.starts[cursor.span];
    return start !== undefined && start >= shown.start && start <= shown.end ? start : null;
  };

  const drag = useRef<{ x: number; window: Window; moved: boolean } | null>(null);
  const onPointerMove = (event: PointerEvent) => {
    const held = drag.current;
    if (held === null) return;
    const by = event.offsetX - held.x;
    if (Math.abs(by) > 3) held.moved = true;
    if (held.moved) show(panned(held.window, whole, (-by / Math.max(1, width)) * (shown.end - shown.start)));
  };
  const onPointerUp = (event: PointerEvent) => {
    const held = drag.current;
    drag.current = null;
    if (held === null || held.moved) return;
    const found = at(event);
    setCursor(found);
    if (found !== null) selectAt(found);
  };
  useEffect(() => {
    // Preact's own listeners are passive: the page would scroll as well.
    const element = canvas.current;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
        const by = event.deltaX || event.deltaY;
        show(panned(shown, whole, (by / Math.max(1, width)) * (shown.end - shown.start)));
      } else if (event.ctrlKey || shown.end - shown.start < whole.end - whole.start || event.deltaY < 0) {
        show(zoomed(shown, whole, event.deltaY < 0 ? 0.8 : 1.25, timeAt(event.offsetX)));
      }
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [shown, width, picture]);

  return (
    <div class="timeline-chart">
      <div class="lane-names" style={{ paddingTop: `${AXIS}px` }}>
        {picture.rows.map((row, i) => (
          <div key={i} class={`lane-name ${row.role}`} style={{ height: `${ROW}px` }} title={row.title}>
            {row.group === null ? (
              <span>{row.title}</span>
            ) : (
              <button type="button" class="quiet" aria-expanded={row.group.open} onClick={() => row.group && toggleGroup(row.group.key)}>
                <span aria-hidden="true">{row.group.open ? "▾" : "▸"}</span> {row.title}
              </button>
            )}
          </div>
        ))}
      </div>
      <div class="lanes">
        <canvas
          ref={canvas}
          style={{ height: `${heightOf(picture)}px` }}
          tabIndex={0}
          role="application"
          aria-roledescription="timeline"
          aria-label={name}
          aria-describedby={help}
          onFocus={() => setFocused(true)}
          onBlur={() => setFocused(false)}
          onKeyDown={onKeyDown}
          onPointerDown={(event) => {
            drag.current = { x: event.offsetX, window: shown, moved: false };
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerCancel={() => (drag.current = null)}
        />
        <p class="said" role="status">
          {cursor !== null && <Said picture={picture} cursor={cursor} timeline={timeline} />}
        </p>
        <p id={help} class={isFocused && cursor === null ? "muted" : "hidden"}>
          {HELP}
        </p>
      </div>
    </div>
  );
}

/** What the warp did at the cursor. */
function Said({ picture, cursor, timeline }: { picture: Picture; cursor: Cursor; timeline: Timeline }) {
  const row = picture.rows[cursor.row];
  const site = timeline.sites[row?.spans.sites[cursor.span] ?? -1];
  if (row === undefined || site === undefined) return null;
  const [start, length] = [row.spans.starts[cursor.span] ?? 0, row.spans.lengths[cursor.span] ?? 0];
  const time = length > 0 ? `for ${amount(timeline.unit, length)}` : "";
  const awaited = row.awaited(cursor.span);
  return (
    <>
      <strong>{row.title}</strong> at {amount(timeline.unit, start)}: {siteText(site)} {time}
      {awaited !== "" && <>; {awaited}</>}
    </>
  );
}
