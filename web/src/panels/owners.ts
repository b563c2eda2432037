/** How it is known whose an instruction is: marks, words, and the column of marks beside PTX and SASS. */

import type { Extension } from "@codemirror/state";
import { GutterMarker, gutter } from "@codemirror/view";
import type { Document } from "../documents";
import { documentLine } from "../editor/lines";

/** As `cutecc.support.locations.REASONS` numbers them. */
export const REASONS: [name: string, mark: string, meaning: string][] = [
  ["exact", "●", "an operation of its line becomes such an instruction"],
  ["operands", "◐", "what it computes is for its line, or passes on what that computed"],
  ["compiler", "◌", "made by the compiler, for the work of its line"],
  ["order", "○", "it stands behind instructions of its line; nothing else says so"],
  ["unknown", "?", "of no line"],
];

/** Of a line of a listing, from 0. */
export interface Reason {
  name: string;
  mark: string;
  /** In words, with what the compiler made it for, or of how many copies it is one. */
  text: string;
}

export function reasonOf({ listing }: Document, line: number): Reason | null {
  const [name, mark, meaning] = REASONS[listing?.reasons?.[line] ?? -1] ?? [];
  if (name === undefined || mark === undefined || meaning === undefined) return null;
  const detail = listing?.detail_names?.[listing.details?.[line] ?? -1];
  return { name, mark, text: detail === undefined ? `${name}: ${meaning}` : `${name} (${detail}): ${meaning}` };
}

class Mark extends GutterMarker {
  constructor(private readonly reason: Reason) {
    super();
  }

  override eq(other: Mark): boolean {
    return other.reason.text === this.reason.text;
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("span");
    box.textContent = this.reason.mark;
    box.className = `owner ${this.reason.name}`;
    box.title = this.reason.text;
    return box;
  }
}

/** The column of marks; nothing beside a text that has none. */
export function ownerMarks(text: Document): Extension {
  if ((text.listing?.reasons?.length ?? 0) === 0) return [];
  return gutter({
    class: "cm-owners",
    lineMarker(view, block) {
      const line = documentLine(view.state, view.state.doc.lineAt(block.from).number);
      const reason = line < 0 ? null : reasonOf(text, line);
      return reason === null ? null : new Mark(reason);
    },
  });
}
