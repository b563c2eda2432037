/** How many operations kernels reach for each byte, under what the device reaches: drawn, and as a table. */

import { signal } from "@preact/signals";
import { load } from "../chunks";
import type { Roofline } from "../data";
import "./roofline.css";

/** Null where the page has none, or has not read it yet. */
const roofline = signal<Roofline | null>(null);

export function startRoofline(): void {
  void load<Roofline>("roofline").then((found) => (roofline.value = found));
}

const number = (value: number) => (value >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3));

export function RooflineFigure() {
  const found = roofline.value;
  if (found === null) return null;
  return (
    <figure class="roofline">
      <figcaption>{found.title}</figcaption>
      <svg viewBox={`0 0 ${found.width} ${found.height}`} role="img" aria-label={`${found.title}: ${found.description}`}>
        {found.shapes.map(({ kind, role, d, x = 0, y = 0, text, anchor, turn, tip }, at) =>
          kind === "path" ? (
            <path key={at} class={role} d={d}>
              {tip !== undefined && <title>{tip}</title>}
            </path>
          ) : (
            <text key={at} class={role} x={x} y={y} text-anchor={anchor} transform={turn === undefined ? undefined : `rotate(${turn} ${x} ${y})`}>
              {text}
            </text>
          ),
        )}
      </svg>
      <table>
        <thead>
          <tr>
            {["", "run", "FLOP/byte", "TFLOP/s", "% of roof", "limit"].map((name) => (name === "" ? <td key={name} /> : <th key={name} scope="col">{name}</th>))}
          </tr>
        </thead>
        <tbody>
          {found.points.map((each) => (
            <tr key={each.number}>
              <th scope="row">{each.number}</th>
              <td>{each.title}</td>
              <td class="count">{number(each.intensity)}</td>
              <td class="count">{number(each.teraflops)}</td>
              <td class="count">{each.percent.toFixed(0)}</td>
              <td>{each.limit}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {found.left_out.map((each) => (
        <p key={each} class="muted">
          not there: {each}
        </p>
      ))}
    </figure>
  );
}
