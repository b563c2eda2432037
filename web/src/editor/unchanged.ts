/**
 * Long stretches of unchanged lines, the names of types at a module's head, and what is not of the selected line, folded to
 * a bar that says how many there are; a click or Enter on it opens them.
 */

import { type EditorState, Facet, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

/** Lines that stay to be seen around a change. */
const CONTEXT = 3;
/** Fewer lines than this are not folded. */
const LEAST = 6;

export interface Stretch {
  /** Lines of the editor, from 1, the last one included. */
  first: number;
  last: number;
  /** Of names of types and attributes, whatever a pass did to them. */
  aliases?: number;
  /** Not of the selected line, changed or not. */
  others?: boolean;
}

const ALIAS = /^[!#][A-Za-z_$][\w$]* = /;

/** How many lines at the head of a module, of both texts, give types and attributes names; empty ones stand beside them. */
export function aliasLines(lines: number, textsOf: (line: number) => readonly string[]): number {
  let count = 0;
  while (count < lines && textsOf(count).every((text) => text === "" || ALIAS.test(text))) count++;
  return count;
}

/**
 * The stretches to fold; `changed` holds for each line of the editor whether it is part of a change. The first `aliases`
 * lines are one, unless nothing else differs.
 */
export function stretchesOf(changed: Uint8Array, aliases = 0): Stretch[] {
  const found: Stretch[] = [];
  const isCode = changed.indexOf(1, aliases) >= 0;
  const differ = changed.subarray(0, aliases).reduce((sum, each) => sum + each, 0);
  const head = isCode && (differ > 0 || aliases >= LEAST) ? aliases : 0;
  if (head > 0) found.push({ first: 1, last: head, aliases: differ });
  let start = head;
  for (let i = head; i <= changed.length; i++) {
    if (i < changed.length && changed[i] === 0) continue;
    const first = start === head ? head : start + CONTEXT;
    const end = i === changed.length ? i : i - CONTEXT;
    if (end - first >= LEAST) found.push({ first: first + 1, last: end });
    start = i + 1;
  }
  return found;
}

/** Opens the stretch that an editor's line, from 1, is folded in. */
export const openLine = Facet.define<(line: number) => void>();
/** Everything but the lines that are of the selected line. */
export function othersThan(mine: Uint8Array): Stretch[] {
  const found: Stretch[] = [];
  for (let i = 0, start = 0; i <= mine.length; i++) {
    if (i < mine.length && mine[i] === 0) continue;
    if (i > start) found.push({ first: start + 1, last: i, others: true });
    start = i + 1;
  }
  return found;
}

/** Opens the stretch of that number in every editor of a comparison. */
export const openStretch = Facet.define<(stretch: number) => void>();
export const stretchOpened = StateEffect.define<number>();
/** All are opened (true) or folded again. */
export const allStretches = StateEffect.define<boolean>();
/** Others are folded instead. */
export const stretchesChosen = StateEffect.define<readonly Stretch[]>();

class Bar extends WidgetType {
  constructor(
    readonly stretch: number,
    readonly text: string,
  ) {
    super();
  }

  override eq(other: Bar): boolean {
    return other.stretch === this.stretch && other.text === this.text;
  }

  override get estimatedHeight(): number {
    return 24;
  }

  toDOM(view: EditorView): HTMLElement {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "cm-unchanged";
    button.textContent = this.text;
    button.addEventListener("click", () => view.state.facet(openStretch).forEach((open) => open(this.stretch)));
    return button;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

function saidOf({ first, last, aliases, others }: Stretch): string {
  const count = (last - first + 1).toLocaleString("en");
  if (others === true) return `⋯ ${count} other line${first === last ? "" : "s"}`;
  if (aliases === undefined) return `⋯ ${count} unchanged lines`;
  return `⋯ ${count} names of types and attributes${aliases > 0 ? `, ${aliases.toLocaleString("en")} lines of them changed` : ""}`;
}

interface Folded {
  stretches: readonly Stretch[];
  closed: ReadonlySet<number>;
  decorations: DecorationSet;
}

export function unchangedFolded(first: readonly Stretch[]) {
  const build = (
    state: { doc: { line(n: number): { from: number; to: number } } },
    stretches: readonly Stretch[],
    closed: ReadonlySet<number>,
  ) => {
    const ranges: Range<Decoration>[] = [];
    stretches.forEach((stretch, i) => {
      if (!closed.has(i)) return;
      const { first, last } = stretch;
      const widget = new Bar(i, saidOf(stretch));
      ranges.push(Decoration.replace({ widget, block: true }).range(state.doc.line(first).from, state.doc.line(last).to));
    });
    return Decoration.set(ranges);
  };
  const field = StateField.define<Folded>({
    create(state) {
      const closed = new Set(first.keys());
      return { stretches: first, closed, decorations: build(state, first, closed) };
    },
    update(value, transaction) {
      let { stretches, closed } = value;
      for (const effect of transaction.effects) {
        if (effect.is(stretchOpened)) {
          closed = new Set(closed);
          (closed as Set<number>).delete(effect.value);
        } else if (effect.is(allStretches)) {
          closed = effect.value ? new Set() : new Set(stretches.keys());
        } else if (effect.is(stretchesChosen)) {
          stretches = effect.value;
          closed = new Set(stretches.keys());
        }
      }
      return closed === value.closed ? value : { stretches, closed, decorations: build(transaction.state, stretches, closed) };
    },
    provide: (own) => [
      EditorView.decorations.from(own, (value) => value.decorations),
      EditorView.atomicRanges.of((view) => view.state.field(own).decorations),
    ],
  });
  const stretchAt = (state: EditorState, line: number) =>
    state.field(field).stretches.findIndex((each) => each.first <= line && line <= each.last);
  return { field, stretchAt };
}
