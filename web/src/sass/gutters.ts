/** The columns beside the code: loops, address, control code, live registers, line of the source. */

import { Compartment, type Extension } from "@codemirror/state";
import { type EditorView, GutterMarker, gutter } from "@codemirror/view";
import { type Column, isShown } from "./choices";
import { controlWords } from "./control";
import { isFolded, toggleFold } from "./folding";
import { type Code, type Head, type Row, type SassRows, outerLoops } from "./rows";
import { peakOf } from "./table";

/** A text beside a row, with words where it is pointed at. */
class Cell extends GutterMarker {
  constructor(
    private readonly text: string,
    private readonly title: string,
    private readonly kind = "",
  ) {
    super();
  }

  override eq(other: Cell): boolean {
    return other.text === this.text && other.title === this.title && other.kind === this.kind;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    box.textContent = this.text;
    box.title = this.title;
    box.className = this.kind;
    return box;
  }
}

/** The loops around a row, a lane for each: `kinds` are names of classes. */
class Lanes extends GutterMarker {
  constructor(private readonly kinds: string) {
    super();
  }

  override eq(other: Lanes): boolean {
    return other.kinds === this.kinds;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    box.className = "lanes";
    for (const kind of this.kinds.split(",")) box.appendChild(document.createElement("span")).className = `lane ${kind}`;
    return box;
  }
}

const PIECES: Record<string, string> = { "│": "through", "┌": "first", "└": "last", "├": "through", "─": "alone" };
const TURNS: Record<string, string> = { "▸": "begins", "─": "back" };

function lanesOf(drawn: string): string {
  return Array.from({ length: drawn.length / 2 }, (_, i) =>
    `${PIECES[drawn[2 * i] as string] ?? ""} ${TURNS[drawn[2 * i + 1] as string] ?? ""}`.trim(),
  ).join(",");
}

export function loopsOf({ table }: SassRows, row: Row): string {
  return table.loop_names[row.table.loops[row.instruction] ?? -1] ?? "";
}

/** What a control code says of an instruction. */
export function controlOf({ table }: SassRows, row: Code): { code: string; words: string[] } | null {
  const code = table.control_names[row.table.controls[row.instruction] ?? -1];
  if (code === undefined) return null;
  const reused = [...row.parts.operands.matchAll(/(\bU?R\d+)\.reuse/g)].map((match) => match[1] as string);
  return { code, words: controlWords(code, reused) };
}

/** The first instruction with the most live registers. */
export function isPeak({ table, instruction }: Row): boolean {
  const { live } = table;
  const here = live[instruction] as number;
  if (live[instruction - 1] === here) return false;
  return here === peakOf(table);
}

type Marker = (rows: SassRows, row: Row, view: EditorView, from: number) => GutterMarker | null;

const MARKERS: Record<Column, Marker> = {
  loops: (rows, row) => {
    const drawn = loopsOf(rows, row);
    if (row.kind === "code") return drawn === "" ? null : new Lanes(lanesOf(drawn));
    const outer = outerLoops(drawn);
    return outer === 0 || row.kind === "function" ? null : new Lanes(Array<string>(outer).fill("through").join(","));
  },
  address: (_rows, row, view, from) => {
    if (row.kind === "code") return new Cell((row as Code).parts.address, "address in the function, in bytes");
    if (row.kind !== "head") return null;
    const { count } = row as Head;
    const folded = isFolded(view.state, from);
    const what = `${folded ? "Show" : "Fold"} its ${count === 1 ? "instruction" : `${count} instructions`} (Enter)`;
    return new Cell(`${folded ? "▸" : "▾"}${String(count).padStart(4)}`, what, "toggle");
  },
  control: (rows, row) => {
    if (row.kind !== "code") return null;
    const found = controlOf(rows, row as Code);
    return found && new Cell(found.code, found.words.join("\n"));
  },
  live: (_rows, row) => {
    if (row.kind !== "code") return null;
    const count = row.table.live[row.instruction] as number;
    if (isPeak(row)) return new Cell(`peak ${count}`, `${count} live registers: no instruction has more`, "peak");
    return new Cell(String(count), `${count} registers hold a value that is still needed`);
  },
  owner: (rows, row) => {
    const owner = row.kind === "code" ? rows.owner(row.table, row.instruction) : "";
    return owner === "" ? null : new Cell(owner, "the line of the source that the instruction is of");
  },
};

const WIDEST: Partial<Record<Column, string>> = { address: "00000", live: "peak 255", control: "B------:R-:W-:-:S00" };

/** Of a column, which is there or not as `isShown` says; `refresh` is dispatched when that changes. */
function column(rows: SassRows, name: Column): Extension {
  const spacer = WIDEST[name];
  return gutter({
    class: `cm-sass-${name}`,
    side: name === "owner" ? "after" : "before",
    lineMarker(view, block) {
      const row = rows.rows[view.state.doc.lineAt(block.from).number - 1];
      return row === undefined ? null : MARKERS[name](rows, row, view, block.from);
    },
    lineMarkerChange: (update) => update.transactions.some((each) => each.effects.length > 0),
    ...(spacer === undefined ? {} : { initialSpacer: () => new Cell(spacer, "") }),
    domEventHandlers: {
      mousedown(view, block) {
        const row = rows.rows[view.state.doc.lineAt(block.from).number - 1];
        return row?.kind === "head" && name === "address" ? toggleFold(view, rows, row as Head) : false;
      },
    },
  });
}

/** Columns at the left of what else stands beside the text, behind that, and at its right. */
export class Gutters {
  private readonly slots = new Map<Column, Compartment>();

  constructor(private readonly rows: SassRows) {}

  extension(names: readonly Column[]): Extension {
    return names.map((name) => {
      const slot = new Compartment();
      this.slots.set(name, slot);
      return slot.of(isShown(name) ? column(this.rows, name) : []);
    });
  }

  /** Show the columns that are chosen or have room. */
  follow(view: EditorView): void {
    const effects = [...this.slots].flatMap(([name, slot]) => {
      const is = slot.get(view.state);
      const there = !(Array.isArray(is) && is.length === 0);
      return there === isShown(name) ? [] : [slot.reconfigure(isShown(name) ? column(this.rows, name) : [])];
    });
    if (effects.length > 0) view.dispatch({ effects });
  }
}
