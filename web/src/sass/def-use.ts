/** Pointing at a register, or having the caret in it, shows where its value is from and where it is used. */

import { type Extension, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate, hoverTooltip } from "@codemirror/view";
import { visibleLines } from "../editor/visible";
import { notice } from "../store";
import { DefUse, type Meant, type Relations, relationWords } from "./flow";
import { operandWith } from "./instruction";
import type { Code, SassRows } from "./rows";

interface Asked {
  row: Code;
  column: number;
  relations: Relations;
}

/** What the pointer is at, as a position; null where it is at no row. */
const pointed = StateEffect.define<number | null>();

const pointer = StateField.define<number | null>({
  create: () => null,
  update(value, transaction) {
    // Who moves the caret asks about what is there.
    if (transaction.selection !== undefined) value = null;
    for (const effect of transaction.effects) if (effect.is(pointed)) value = effect.value;
    return value;
  },
});

const LINES = { definition: Decoration.line({ class: "cm-definition" }), use: Decoration.line({ class: "cm-use" }) };
const REGISTERS = { definition: Decoration.mark({ class: "cm-defined" }), use: Decoration.mark({ class: "cm-used" }) };
const HERE = Decoration.mark({ class: "cm-asked" });

export function defUse(rows: SassRows): Extension {
  const flow = new DefUse(rows);

  const askedAt = (view: EditorView, position: number | null): Asked | null => {
    if (position === null || position > view.state.doc.length) return null;
    const line = view.state.doc.lineAt(position);
    const row = rows.rows[line.number - 1];
    if (row?.kind !== "code") return null;
    const column = position - line.from;
    return { row: row as Code, column, relations: flow.at(row as Code, column) };
  };

  const asked = (view: EditorView): Asked | null => {
    const { main } = view.state.selection;
    return askedAt(view, view.state.field(pointer)) ?? (view.hasFocus && main.empty ? askedAt(view, main.head) : null);
  };

  const decorate = (view: EditorView): DecorationSet => {
    const found = asked(view);
    if (found === null) return Decoration.none;
    const ranges: Range<Decoration>[] = [];
    const mark = (row: Code, from: number, meant: Meant, kind: "definition" | "use"): void => {
      const registers = row.table === found.row.table ? meant.get(row.instruction) : undefined;
      if (registers === undefined) return;
      ranges.push(LINES[kind].range(from));
      const operands = flow.operands(row).filter(({ written }) => written === (kind === "definition"));
      const named = new Set([...registers].map((each) => operandWith(operands, each)?.name));
      for (const each of operands) if (named.has(each.name)) ranges.push(REGISTERS[kind].range(from + each.from, from + each.to));
    };
    for (const line of visibleLines(view)) {
      const row = rows.rows[line.number - 1];
      if (row?.kind !== "code") continue;
      mark(row as Code, line.from, found.relations.definitions, "definition");
      mark(row as Code, line.from, found.relations.uses, "use");
      if (row !== found.row) continue;
      for (const { from, to } of flow.operands(row as Code))
        if (from <= found.column && found.column <= to) ranges.push(HERE.range(line.from + from, line.from + to));
    }
    return Decoration.set(ranges, true);
  };

  const shown = ViewPlugin.fromClass(
    class {
      decorations: DecorationSet = Decoration.none;

      update(update: ViewUpdate) {
        const moved = update.startState.field(pointer) !== update.state.field(pointer);
        if (!moved && !update.selectionSet && !update.focusChanged && !update.viewportChanged) return;
        this.decorations = decorate(update.view);
        if (update.selectionSet && update.view.hasFocus) this.tell(update.view);
      }

      /** In words, for those who do not see it. */
      private tell(view: EditorView): void {
        const found = askedAt(view, view.state.selection.main.head);
        if (found !== null && found.relations.name !== found.row.parts.opcode)
          notice.value = relationWords(rows, found.row, found.relations).join("; ") || `${found.relations.name}: nothing is known of it`;
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );

  const point = (view: EditorView, position: number | null): void => {
    if (view.state.field(pointer) !== position) view.dispatch({ effects: pointed.of(position) });
  };

  return [
    pointer,
    shown,
    EditorView.domEventHandlers({
      mousemove(event, view) {
        point(view, registerAt(view, rows, flow, event));
      },
      mouseleave(event, view) {
        // A tooltip may come up below the pointer.
        if (!isTooltip(event.relatedTarget)) point(view, null);
      },
    }),
    hoverTooltip(
      (view, position) => {
        const found = askedAt(view, position);
        if (found === null || found.relations.name === found.row.parts.opcode) return null;
        const words = relationWords(rows, found.row, found.relations);
        return words.length === 0 ? null : { pos: position, above: true, create: () => ({ dom: tooltip(words) }) };
      },
      { hoverTime: 450 },
    ),
  ];
}

function isTooltip(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(".cm-tooltip") !== null;
}

/** The beginning of the register that the pointer is at. */
function registerAt(view: EditorView, rows: SassRows, flow: DefUse, event: MouseEvent): number | null {
  const position = view.posAtCoords({ x: event.clientX, y: event.clientY });
  if (position === null) return null;
  const line = view.state.doc.lineAt(position);
  const row = rows.rows[line.number - 1];
  if (row?.kind !== "code") return null;
  const column = position - line.from;
  const operand = flow.operands(row as Code).find(({ from, to }) => from <= column && column <= to);
  return operand === undefined ? null : line.from + operand.from;
}

function tooltip(words: readonly string[]): HTMLElement {
  const box = document.createElement("div");
  box.className = "chain-tooltip";
  for (const each of words) box.appendChild(document.createElement("div")).textContent = each;
  return box;
}
