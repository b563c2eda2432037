/** Long stretches of unchanged lines, folded to a bar that says how many there are; a click or Enter on it opens them. */

import { Facet, type Range, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, WidgetType } from "@codemirror/view";

/** Lines that stay to be seen around a change. */
const CONTEXT = 3;
/** Fewer lines than this are not folded. */
const LEAST = 6;

export interface Stretch {
  /** Lines of the editor, from 1, the last one included. */
  first: number;
  last: number;
}

/** The stretches to fold; `changed` holds for each line of the editor whether it is part of a change. */
export function stretchesOf(changed: Uint8Array): Stretch[] {
  const found: Stretch[] = [];
  let start = 0;
  for (let i = 0; i <= changed.length; i++) {
    if (i < changed.length && changed[i] === 0) continue;
    const first = start === 0 ? 0 : start + CONTEXT;
    const end = i === changed.length ? i : i - CONTEXT;
    if (end - first >= LEAST) found.push({ first: first + 1, last: end });
    start = i + 1;
  }
  return found;
}

/** Opens the stretch of that number in every editor of a comparison. */
export const openStretch = Facet.define<(stretch: number) => void>();
export const stretchOpened = StateEffect.define<number>();
/** All are opened (true) or folded again. */
export const allStretches = StateEffect.define<boolean>();

class Bar extends WidgetType {
  constructor(
    readonly stretch: number,
    readonly lines: number,
  ) {
    super();
  }

  override eq(other: Bar): boolean {
    return other.stretch === this.stretch;
  }

  override get estimatedHeight(): number {
    return 24;
  }

  toDOM(view: EditorView): HTMLElement {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "cm-unchanged";
    button.textContent = `⋯ ${this.lines.toLocaleString("en")} unchanged lines`;
    button.addEventListener("click", () => view.state.facet(openStretch).forEach((open) => open(this.stretch)));
    return button;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

interface Folded {
  closed: ReadonlySet<number>;
  decorations: DecorationSet;
}

export function unchangedFolded(stretches: readonly Stretch[]) {
  const build = (state: { doc: { line(n: number): { from: number; to: number } } }, closed: ReadonlySet<number>) => {
    const ranges: Range<Decoration>[] = [];
    stretches.forEach(({ first, last }, i) => {
      if (!closed.has(i)) return;
      const widget = new Bar(i, last - first + 1);
      ranges.push(Decoration.replace({ widget, block: true }).range(state.doc.line(first).from, state.doc.line(last).to));
    });
    return Decoration.set(ranges);
  };
  const all = () => new Set(stretches.keys());
  const field = StateField.define<Folded>({
    create(state) {
      const closed = all();
      return { closed, decorations: build(state, closed) };
    },
    update(value, transaction) {
      let closed = value.closed;
      for (const effect of transaction.effects) {
        if (effect.is(stretchOpened)) {
          closed = new Set(closed);
          (closed as Set<number>).delete(effect.value);
        } else if (effect.is(allStretches)) {
          closed = effect.value ? new Set() : all();
        }
      }
      return closed === value.closed ? value : { closed, decorations: build(transaction.state, closed) };
    },
    provide: (own) => [
      EditorView.decorations.from(own, (value) => value.decorations),
      EditorView.atomicRanges.of((view) => view.state.field(own).decorations),
    ],
  });
  return { field, stretchAt: (line: number) => stretches.findIndex((each) => each.first <= line && line <= each.last) };
}
