/** A warp's request as a picture: its 32 threads by banks or sectors, before and after the swizzle that is proposed. */

import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Remark, RequestPicture, WarpRequest } from "../data";
import { BANKS, type Figure, THREADS, aboutThread, bankText, commandOf, figureOf, takenBy, unitOf } from "./request";
import "./request.css";

/** The remark whose picture is open. */
const opened = signal<Remark | null>(null);

/** Opens the picture of a remark that has one. */
export function PictureButton({ remark }: { remark: Remark }) {
  if (!remark.picture) return null;
  return (
    <button type="button" onClick={() => (opened.value = remark)}>
      Picture
    </button>
  );
}

export function RequestDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const remark = opened.value;
  const picture = remark?.picture ?? null;
  useEffect(() => {
    if (picture === null) dialog.current?.close();
    else if (dialog.current?.open === false) dialog.current.showModal();
  }, [picture === null]);
  return (
    <dialog ref={dialog} class="picture request" aria-labelledby="request-title" onClose={() => (opened.value = null)}>
      {remark !== null && picture !== null && (
        <>
          <div class="picture-head">
            <h2 id="request-title">
              {picture.space === "shared" ? "A warp and the banks of shared memory" : "A warp and the sectors of global memory"}
            </h2>
            <button type="button" onClick={() => (opened.value = null)}>
              Close
            </button>
          </div>
          <p>{remark.message}</p>
          <Request picture={picture} />
        </>
      )}
    </dialog>
  );
}

function Request({ picture }: { picture: RequestPicture }) {
  const marked = useSignal<number | null>(null);
  const { request, swizzled, swizzle } = picture;
  const point = (thread: number | null) => (marked.value = thread);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by === undefined) return;
    marked.value = Math.min(THREADS - 1, Math.max(0, (marked.value ?? (by > 0 ? -1 : THREADS)) + by));
    event.preventDefault();
  };
  const command = commandOf(picture);
  const thread = marked.value;
  return (
    <>
      {picture.layout !== null && (
        <p class="muted">
          Thread → offset: <code>{picture.layout}</code> in {picture.unit === 1 ? "bytes" : `elements of ${8 * picture.unit} bits`}; {picture.size}{" "}
          {picture.size === 1 ? "byte" : "bytes"} a thread. The request that takes most of this line's.
        </p>
      )}
      <div class="requests" role="group" tabIndex={0} autofocus aria-label="Threads; up and down go from one to the next" onKeyDown={onKeyDown}>
        <Drawn picture={picture} request={request} name={swizzled === null ? "" : "As it is: "} marked={thread} point={point} />
        {swizzled !== null && <Drawn picture={picture} request={swizzled} name={`With ${swizzle}: `} marked={thread} point={point} />}
      </div>
      <p class="about-cell" role="status" aria-live="polite">
        {thread === null ? (
          <span class="muted">{picture.space === "shared" ? "Numbers are wavefronts, in the order of being served." : "Numbers are sectors of 32 bytes, in the order of addresses."}</span>
        ) : (
          `Thread ${thread}: ${aboutThread(picture, request, thread)}${swizzled === null ? "" : `; with ${swizzle}: ${aboutThread(picture, swizzled, thread)}`}`
        )}
      </p>
      <Legend picture={picture} />
      <details>
        <summary>As a table</summary>
        <Table picture={picture} />
      </details>
      {command !== "" && (
        <p class="muted">
          In the terminal: <code>{command}</code>
        </p>
      )}
    </>
  );
}

const CELL = 16;
const LEFT = 24;
const TOP = 16;

function Drawn(props: { picture: RequestPicture; request: WarpRequest; name: string; marked: number | null; point: (thread: number | null) => void }) {
  const { picture, request, name, marked, point } = props;
  const figure = figureOf(picture, request);
  const taken = unitOf(picture, figure.taken);
  // Few sectors are as wide as all banks are.
  const width = (CELL * BANKS) / figure.columns.length;
  const bottom = TOP + THREADS * CELL;
  const rowAt = (event: MouseEvent) => {
    const box = (event.currentTarget as SVGSVGElement).getBoundingClientRect();
    const row = Math.floor((((event.clientY - box.top) / box.height) * (bottom + TOP) - TOP) / CELL);
    return row >= 0 && row < THREADS ? row : null;
  };
  return (
    <figure>
      <figcaption>
        {name}
        <strong>{taken}</strong>
      </figcaption>
      <svg
        role="img"
        aria-label={`${name}${taken}; the table below says the same`}
        preserveAspectRatio="xMinYMin meet"
        viewBox={`0 0 ${LEFT + CELL * BANKS + 1} ${bottom + TOP}`}
        onMouseMove={(event) => point(rowAt(event))}
        onMouseLeave={() => point(null)}
      >
        {marked !== null && <rect class="marked" x={0} y={TOP + marked * CELL} width={LEFT + CELL * BANKS} height={CELL} />}
        <Rules figure={figure} width={width} bottom={bottom} />
        {Array.from({ length: THREADS }, (_, thread) => (
          <text key={thread} class="side" x={LEFT - 4} y={TOP + (thread + 0.72) * CELL} text-anchor="end">
            {thread}
          </text>
        ))}
        {figure.columns.map((column, at) => (
          <g key={at} text-anchor="middle">
            <text class="side" x={LEFT + (at + 0.5) * width} y={TOP - 4}>
              {column}
            </text>
            <text class={(figure.feet[at] as number) > 0 ? "foot" : "side"} x={LEFT + (at + 0.5) * width} y={bottom + 12}>
              {figure.feet[at]}
            </text>
          </g>
        ))}
        {figure.marks.map((mark) => (
          <g key={mark.thread} class={mark.costs ? "costs" : "served"}>
            <rect x={LEFT + mark.column * width + 1} y={TOP + mark.thread * CELL + 1} width={mark.columns * width - 2} height={CELL - 2} />
            <text x={LEFT + (mark.column + mark.columns / 2) * width} y={TOP + (mark.thread + 0.72) * CELL} text-anchor="middle">
              {mark.turn}
            </text>
          </g>
        ))}
      </svg>
    </figure>
  );
}

function Rules({ figure, width, bottom }: { figure: Figure; width: number; bottom: number }) {
  return (
    <g class="rules">
      {Array.from({ length: THREADS + 1 }, (_, row) => (
        <line key={`r${row}`} class={row % 8 === 0 ? "strong" : ""} x1={LEFT} x2={LEFT + CELL * BANKS} y1={TOP + row * CELL} y2={TOP + row * CELL} />
      ))}
      {Array.from({ length: figure.columns.length + 1 }, (_, column) => (
        <line key={`c${column}`} class={figure.lines.includes(column) ? "strong" : ""} x1={LEFT + column * width} x2={LEFT + column * width} y1={TOP} y2={bottom} />
      ))}
    </g>
  );
}

function Legend({ picture }: { picture: RequestPicture }) {
  const isShared = picture.space === "shared";
  return (
    <ul class="request-legend">
      <li>
        <span class="served">1</span> {isShared ? "served without waiting for another word of its bank" : "in a sector all of whose bytes are used"}
      </li>
      <li>
        <span class="costs">2</span> {isShared ? "waits for other words of its bank: a conflict" : "in a sector that also brings bytes that nobody uses"}
      </li>
      <li class="muted">
        Rows are threads, columns {isShared ? "banks; below, the wavefronts that use each bank" : "sectors, thick lines between lines of 128 bytes; below, the bytes that are used of each 32"}
      </li>
    </ul>
  );
}

function Table({ picture }: { picture: RequestPicture }) {
  const isShared = picture.space === "shared";
  const requests = [picture.request, ...(picture.swizzled === null ? [] : [picture.swizzled])];
  const heads = isShared ? ["offset", "banks", "wavefront", "waits for"] : ["offset", "sector"];
  const row = (request: WarpRequest, thread: number): string[] => {
    const offset = request.offsets[thread] as number;
    if (offset < 0) return heads.map(() => "–");
    const turn = String((request.turns[thread] as number) + 1);
    const bank = bankText(offset, picture.size).replace(/^banks? /, "");
    return isShared ? [String(offset), bank, turn, String(request.before[thread] ?? 0)] : [String(offset), turn];
  };
  return (
    <table class="request-table">
      <caption>
        {requests.map((request, at) => `${at === 0 ? "" : `; with ${picture.swizzle} `}${unitOf(picture, takenBy(request))}`).join("")}
      </caption>
      <thead>
        {requests.length > 1 && (
          <tr>
            <td />
            <th scope="colgroup" colSpan={heads.length}>
              as it is
            </th>
            <th scope="colgroup" colSpan={heads.length}>
              with {picture.swizzle}
            </th>
          </tr>
        )}
        <tr>
          <th scope="col">thread</th>
          {requests.flatMap((_, at) => heads.map((head) => <th key={`${at}${head}`} scope="col">{head}</th>))}
        </tr>
      </thead>
      <tbody>
        {Array.from({ length: THREADS }, (_, thread) => (
          <tr key={thread}>
            <th scope="row">{thread}</th>
            {requests.flatMap((request, at) => row(request, thread).map((text, column) => <td key={`${at}-${column}`}>{text}</td>))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
