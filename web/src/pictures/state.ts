/** Which picture is open. */

import { signal } from "@preact/signals";

/** The texts of the layouts in a line, and which of them is drawn; null: the dialog is closed. */
export const opened = signal<{ texts: string[]; index: number } | null>(null);

/** Draw `texts[index]`. */
export function openPicture(texts: string[], index: number): void {
  opened.value = { texts, index };
}
