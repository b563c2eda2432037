/** What became of a compilation, and what it went on from, in words. */

import type { Resumed } from "./data";

export const STATUS: Record<string, string> = {
  running: "… not finished",
  ok: "✓ compiled",
  stopped: "■ stopped as asked",
  failed: "✗ failed",
  interrupted: "! interrupted",
};

/** Where a run went on from, and whether somebody had edited that. */
export function resumedText({ record, after, edited, lines_removed, lines_added }: Resumed): string {
  return `resumed from ${record} after ${after}, ${edited ? `edited by hand (-${lines_removed} +${lines_added} lines)` : "not edited"}`;
}
