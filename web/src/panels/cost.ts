/** How bad remarks are. `cutecc.report.grades` decides it. */

import type { Grade, Remark } from "../data";

export type { Grade };

/** The severity that the analysis gave it, unless it costs too much for that. */
export function gradeOf(remark: Remark): Grade {
  return remark.grade ?? remark.severity;
}

/** The worst first. Signs tell them apart without colour. */
export const SIGNS: Record<Grade, string> = { error: "✗", severe: "◆", warning: "▲", remark: "●", note: "○" };
export const GRADES = ["error", "severe", "warning", "remark", "note"] as const;

/** Orders remarks: the worst first, of equally bad ones those that cost most. */
export function worstFirst(a: Remark, b: Remark): number {
  return GRADES.indexOf(gradeOf(a)) - GRADES.indexOf(gradeOf(b)) || (b.cost ?? 1) - (a.cost ?? 1);
}
