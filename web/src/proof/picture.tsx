/** The skeleton of a kernel: a lane for each role, an edge from what completes a phase to who waits for it. */

import { useRef, useState } from "preact/hooks";
import { select } from "../panels/state";
import { userLine } from "../store";
import type { Box, Drawing } from "./data";
import { nextBox } from "./walking";

/** Letters that have room beside the number of the line. */
const LETTER = 6.7;

export function ProofPicture({ drawing }: { drawing: Drawing }) {
  const { title, width, height, heads, tails, boxes, arrows, others } = drawing;
  const [at, setAt] = useState(0);
  const [pointed, setPointed] = useState<number | null>(null);
  const [focused, setFocused] = useState(false);
  const host = useRef<SVGSVGElement>(null);
  const told = pointed ?? (focused ? at : null);
  const near = told === null ? [] : arrows.filter((each) => each.ends.includes(told));
  const go = (event: KeyboardEvent) => {
    const box = boxes[at];
    if (box !== undefined && (event.key === "Enter" || event.key === " ")) choose(box);
    const next = nextBox(boxes, at, event.key);
    if (next === null && event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    if (next === null) return;
    setAt(next);
    host.current?.querySelectorAll<SVGGElement>(".box")[next]?.focus();
  };
  return (
    <figure class="proof-picture">
      <figcaption>{title}</figcaption>
      <p class="told" role="status">
        {told === null ? "Point at an event, or go to it with the arrow keys: what it is, and what it waits for. Enter selects its line." : [boxes[told]?.tip, ...near.map((each) => each.tip)].join("; ")}
      </p>
        <svg ref={host} viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="group" aria-label={title} onKeyDown={go} onFocusIn={() => setFocused(true)} onFocusOut={() => setFocused(false)}>
          {heads.map((each, i) => (
            <path key={`lane ${i}`} class="lane" d={`M${each.x} 28V${height - (tails.length > 0 ? 18 : 0)}`} />
          ))}
          {heads.map((each, i) => (
            <text key={`head ${i}`} class="head" x={each.x} y={each.y}>
              {each.text}
            </text>
          ))}
          {tails.map((each, i) => (
            <text key={`tail ${i}`} class="tail" x={each.x} y={each.y}>
              {each.text}
            </text>
          ))}
          {arrows.map((each, i) => (
            <path key={`arrow ${i}`} class={`arrow ${each.role}${told === null ? "" : each.ends.includes(told) ? " near" : " far"}`} d={each.d}>
              <title>{each.tip}</title>
            </path>
          ))}
          {boxes.map((each, i) => (
            <Event key={`box ${i}`} box={each} reached={i === at} choose={() => (setAt(i), choose(each))} point={(is) => setPointed(is ? i : null)} />
          ))}
        </svg>
      {others.map((each) => (
        <p key={each} class="muted">
          {each}
        </p>
      ))}
    </figure>
  );
}

function choose({ file, line }: Box): void {
  if (line > 0) select({ file, line });
}

interface EventProps {
  box: Box;
  /** Whether the Tab key leads here. */
  reached: boolean;
  choose(): void;
  point(is: boolean): void;
}

function Event({ box, reached, choose, point }: EventProps) {
  const { x, y, width, height, kind, text, tip, file, line } = box;
  const own = userLine.value;
  const lit = line > 0 && own?.file === file && own.line === line;
  return (
    <g
      class={`box ${kind.replace(" ", "-")}${lit ? " lit" : ""}`}
      role="button"
      aria-pressed={lit}
      tabindex={reached ? 0 : -1}
      onClick={choose}
      onMouseEnter={() => point(true)}
      onMouseLeave={() => point(false)}
    >
      <title>{tip}</title>
      <rect x={x} y={y} width={width} height={height} rx={3} />
      <text x={x + 6} y={y + 14}>
        {text}
      </text>
      {line > 0 && text.length * LETTER < width - 50 && (
        <text class="line" x={x + width - 6} y={y + 14}>
          {line}
        </text>
      )}
    </g>
  );
}
