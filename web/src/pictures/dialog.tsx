/** A layout as a grid: labels, banks, threads; scrolled and zoomed, copied as SVG. */

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Layouts, Picture } from "../data";
import { layouts } from "../panels/state";
import { effectiveTheme } from "../theme";
import { nested, sizeOf, unfolded } from "./cells";
import { Drawn, type Label, type Sizes, draw, sizesOf, svgText } from "./drawing";
import { opened } from "./state";
import "./pictures.css";

export function PictureDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = opened.value;
  useEffect(() => {
    if (open === null) dialog.current?.close();
    else if (dialog.current?.open === false) dialog.current.showModal();
  }, [open === null]);
  const common = layouts.value;
  const text = open?.texts[open.index] ?? "";
  const picture = common?.pictures[text];
  return (
    <dialog ref={dialog} class={`picture ${picture !== undefined && "grids" in picture ? "drawn" : ""}`} aria-labelledby="picture-title" onClose={() => (opened.value = null)}>
      {open !== null && (
        <>
          <div class="picture-head">
            <h2 id="picture-title">
              <code>{picture !== undefined && "title" in picture ? picture.title : text}</code>
            </h2>
            <button type="button" onClick={() => (opened.value = null)}>
              Close
            </button>
          </div>
          {open.texts.length > 1 && (
            <label class="row picture-choice">
              Layouts of this line
              <select
                value={String(open.index)}
                onChange={(event) => (opened.value = { ...open, index: Number(event.currentTarget.value) })}
              >
                {open.texts.map((each, at) => (
                  <option key={at} value={String(at)}>
                    {at + 1}: {each}
                  </option>
                ))}
              </select>
            </label>
          )}
          {common !== null && picture !== undefined && "grids" in picture ? (
            <Grids key={text} picture={picture} common={common} />
          ) : (
            <p class="reason">The page holds no such picture.</p>
          )}
        </>
      )}
    </dialog>
  );
}

const ZOOMS = [0.25, 0.35, 0.5, 0.7, 1, 1.4, 2];

function Grids({ picture, common }: { picture: Picture; common: Layouts }) {
  const number = useSignal(0);
  const slice = useSignal<number[]>([]);
  const label = useSignal<Label | null>(null);
  const zoom = useSignal(1);
  const about = useSignal("");
  const corner = useSignal<[number, number]>([0, 0]);
  const copied = useSignal("");
  const folded = useSignal<boolean | null>(null);
  const grid = picture.grids[number.value] ?? picture.grids[0];
  const other = useMemo(() => (grid === undefined ? null : unfolded(grid)), [grid]);
  // A tower of thousands of rows says little.
  const unfold = other !== null && !(folded.value ?? sizeOf(grid!.axes[0]!) <= 32 * sizeOf(grid!.axes[1]!));
  const drawn = useMemo(
    () => (grid === undefined ? null : unfold ? new Drawn(other, common, grid) : new Drawn(grid, common)),
    [grid, unfold],
  );
  if (drawn === null || grid === undefined) return null;
  const at = drawn.further.map((_, index) => slice.value[index] ?? 0);
  const shownLabel: Label = label.value ?? "offset";
  const sizes = sizesOf(drawn, shownLabel, zoom.value);
  const labels: [Label, string][] =
    drawn.holders !== null
      ? [["offset", "thread and value"], ["index", "index"]]
      : [
          ["offset", drawn.hasCoordinates ? "leads to" : "offset"],
          ["index", "index"],
          ["coordinate", "coordinate"],
          ...(drawn.hasBanks ? ([["bank", "bank"]] as [Label, string][]) : []),
        ];
  const step = (by: number) => (zoom.value = ZOOMS[Math.min(ZOOMS.length - 1, Math.max(0, ZOOMS.indexOf(zoom.value) + by))] ?? 1);
  const copy = async () => {
    const text = svgText(picture.title, { drawn, label: shownLabel, slice: at, sizes: sizesOf(drawn, shownLabel, 1) }, corner.value);
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page from a file may not use the clipboard in every browser.
      const box = document.createElement("textarea");
      box.value = text;
      document.querySelector("dialog.picture")?.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
    copied.value = "Copied";
    setTimeout(() => (copied.value = ""), 1500);
  };
  return (
    <>
      <div class="row picture-tools">
        {picture.grids.length > 1 && (
          <span class="modes" role="radiogroup" aria-label="Grid">
            {picture.grids.map((each, index) => (
              <button
                key={index}
                type="button"
                role="radio"
                aria-checked={index === number.value}
                onClick={() => {
                  number.value = index;
                  slice.value = [];
                  about.value = "";
                }}
              >
                {each.name}
              </button>
            ))}
          </span>
        )}
        {picture.grids.length === 1 && grid.name !== "" && <span>{grid.name}</span>}
        <label>
          Label{" "}
          <select value={shownLabel} onChange={(event) => (label.value = event.currentTarget.value as Label)}>
            {labels.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {other !== null && (
          <label>
            Sides{" "}
            <select
              value={unfold ? "own" : "top"}
              onChange={(event) => {
                folded.value = event.currentTarget.value === "top";
                slice.value = [];
              }}
            >
              <option value="top">modes 0 and 1</option>
              <option value="own">modes of mode 0</option>
            </select>
          </label>
        )}
        {drawn.further.map((axis, index) => {
          const size = sizeOf(axis);
          const current = at[index] ?? 0;
          return (
            size > 1 && (
              <label key={index}>
                {unfold ? `Further mode ${index + 1}` : `Mode ${index + 2}`}{" "}
                <input
                  type="number"
                  min={0}
                  max={size - 1}
                  value={current}
                  onInput={(event) => {
                    const wanted = Math.min(size - 1, Math.max(0, Number(event.currentTarget.value) || 0));
                    slice.value = at.map((each, other) => (other === index ? wanted : each));
                  }}
                />{" "}
                of {size}
                {axis.modes.length > 1 && <span class="muted"> {nested(axis, current)}</span>}
              </label>
            )
          );
        })}
        <span class="row zoom">
          <button type="button" aria-label="Smaller" title="Smaller (-)" onClick={() => step(-1)}>
            −
          </button>
          <span class="percent">{Math.round(zoom.value * 100)} %</span>
          <button type="button" aria-label="Larger" title="Larger (+)" onClick={() => step(1)}>
            +
          </button>
        </span>
        <button type="button" onClick={() => void copy()}>
          Copy as SVG
        </button>
        <span role="status">{copied.value}</span>
      </div>
      <Field
        drawn={drawn}
        label={shownLabel}
        slice={at}
        sizes={sizes}
        title={picture.title}
        zoom={step}
        onPoint={(text) => (about.value = text)}
        onCorner={(cell) => (corner.value = cell)}
      />
      <p class="about-cell" role="status" aria-live="polite">
        {about.value === "" ? (
          <span class="muted">
            {drawn.rows.toLocaleString("en")} × {drawn.columns.toLocaleString("en")} cells
            {drawn.holders !== null && `, ${drawn.holders.threads} threads with ${drawn.holders.values} values each`}
          </span>
        ) : (
          about.value
        )}
      </p>
      <Legend drawn={drawn} common={common} />
      {(picture.notes ?? []).map((note) => (
        <p key={note} class="muted">
          {note}
        </p>
      ))}
    </>
  );
}

interface FieldProps {
  drawn: Drawn;
  label: Label;
  slice: number[];
  sizes: Sizes;
  title: string;
  zoom: (by: number) => void;
  onPoint: (about: string) => void;
  onCorner: (cell: [number, number]) => void;
}

/** The scrolled field; only the cells on the screen are drawn. */
function Field({ drawn, label, slice, sizes, title, zoom, onPoint, onCorner }: FieldProps) {
  const field = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const scroll = useSignal<[number, number]>([0, 0]);
  const size = useSignal<[number, number]>([800, 400]);
  const marked = useSignal<[number, number] | null>(null);
  const [width, height] = sizes.cell;
  const [left, top] = sizes.margin;
  const whole: [number, number] = [left + drawn.columns * width + 2, top + drawn.rows * height + 2];
  const window = useComputed(() => [scroll.value, size.value] as const);
  useEffect(() => {
    const box = field.current as HTMLDivElement;
    const observer = new ResizeObserver(() => (size.value = [box.clientWidth, box.clientHeight]));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    marked.value = null;
  }, [drawn]);
  const [[x, y], [wide, high]] = window.value;
  const first: [number, number] = [Math.floor(y / height), Math.floor(x / width)];
  const theme = effectiveTheme.value;
  useLayoutEffect(() => {
    const rows: [number, number] = [first[0], Math.min(drawn.rows, first[0] + Math.ceil(high / height) + 1)];
    const columns: [number, number] = [first[1], Math.min(drawn.columns, first[1] + Math.ceil(wide / width) + 1)];
    const ink = theme === "dark" ? "#9ba5b4" : "#586374";
    const shift: [number, number] = [x - first[1] * width, y - first[0] * height];
    svg.current?.replaceChildren(...draw({ drawn, label, slice, sizes, window: { rows, columns }, ink, marked: marked.value, shift }));
    onCorner(first);
  });
  const cellAt = (event: MouseEvent): [number, number] | null => {
    const box = (svg.current as SVGSVGElement).getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - left + x) / width);
    const row = Math.floor((event.clientY - box.top - top + y) / height);
    const inside = row >= 0 && row < drawn.rows && column >= 0 && column < drawn.columns;
    return inside && event.clientX - box.left >= left && event.clientY - box.top >= top ? [row, column] : null;
  };
  const point = (cell: [number, number] | null) => {
    if (cell?.[0] === marked.value?.[0] && cell?.[1] === marked.value?.[1]) return;
    marked.value = cell;
    onPoint(cell === null ? "" : drawn.about([...cell, ...slice]));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "+" || event.key === "=") zoom(1);
    else if (event.key === "-") zoom(-1);
    else {
      const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (by === undefined) return;
      const [row, column] = marked.value ?? [first[0] - (by[0] ?? 0), first[1] - (by[1] ?? 0)];
      const next: [number, number] = [
        Math.min(drawn.rows - 1, Math.max(0, row + (by[0] ?? 0))),
        Math.min(drawn.columns - 1, Math.max(0, column + (by[1] ?? 0))),
      ];
      point(next);
      const box = field.current as HTMLDivElement;
      const [cx, cy] = [next[1] * width, next[0] * height];
      if (cx < x) box.scrollLeft = cx;
      else if (cx + width + left > x + wide) box.scrollLeft = cx + width + left - wide;
      if (cy < y) box.scrollTop = cy;
      else if (cy + height + top > y + high) box.scrollTop = cy + height + top - high;
    }
    event.preventDefault();
  };
  return (
    <div
      class="picture-field"
      ref={field}
      tabIndex={0}
      autofocus
      role="group"
      aria-label="Grid; arrow keys go from cell to cell"
      onScroll={(event) => (scroll.value = [event.currentTarget.scrollLeft, event.currentTarget.scrollTop])}
      onKeyDown={onKeyDown}
      onMouseMove={(event) => point(cellAt(event))}
      onMouseLeave={() => point(null)}
    >
      <div class="picture-whole" style={{ width: `${whole[0]}px`, height: `${whole[1]}px` }}>
        <svg ref={svg} role="img" aria-label={title} width={Math.min(wide, whole[0])} height={Math.min(high, whole[1])} />
      </div>
    </div>
  );
}

function Legend({ drawn, common }: { drawn: Drawn; common: Layouts }) {
  const { colours } = common;
  if (drawn.holders !== null) return <p class="muted">One colour for each thread.</p>;
  if (drawn.hasCoordinates) return null;
  if (drawn.hasBanks)
    return (
      <div class="legend" role="img" aria-label="Colours of banks">
        <span>bank</span>
        {colours.banks.map((colour, bank) => (
          <span key={bank} class="swatch" style={{ background: colour }}>
            {bank}
          </span>
        ))}
      </div>
    );
  const [low, high] = drawn.range;
  return (
    <div class="legend">
      <span>offset {low.toLocaleString("en")}</span>
      <span class="gradient" style={{ background: `linear-gradient(to right, ${colours.scale.join(", ")})` }} />
      <span>{high.toLocaleString("en")}</span>
    </div>
  );
}
