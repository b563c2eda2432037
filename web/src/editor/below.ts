/** What is said below a line of the source: remarks, one a row, indented as the line is. */

import { WidgetType } from "@codemirror/view";

export interface Said {
  /** What stands first, as the severity with its sign. */
  mark: string;
  /** Its class. */
  markClass: string;
  text: string;
  /** Who says it. */
  by: string;
  /** On hover. */
  title?: string;
}

export class Below extends WidgetType {
  constructor(
    private readonly rows: readonly Said[],
    private readonly indent: number,
  ) {
    super();
  }

  override eq(other: Below): boolean {
    return other.indent === this.indent && JSON.stringify(other.rows) === JSON.stringify(this.rows);
  }

  override toDOM(): HTMLElement {
    const box = document.createElement("div");
    box.className = "cm-remarks";
    box.style.paddingLeft = `min(${this.indent}ch, 15%)`;
    for (const { mark, markClass, text, by, title } of this.rows) {
      const row = box.appendChild(document.createElement("div"));
      const first = row.appendChild(document.createElement("span"));
      first.className = markClass;
      first.textContent = mark;
      row.append(` ${text} `);
      const maker = row.appendChild(document.createElement("span"));
      maker.className = "muted";
      maker.textContent = by;
      if (title !== undefined) row.title = title;
    }
    return box;
  }

  override ignoreEvent(): boolean {
    return false;
  }
}

/** The widget below a line with this text. */
export function below(text: string, rows: readonly Said[]): Below {
  return new Below(rows, /^\s*/.exec(text)?.[0].length ?? 0);
}
