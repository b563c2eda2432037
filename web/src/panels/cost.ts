/** What an access takes over what its bytes need, from the numbers of a remark; that decides how bad it is. */

import type { Remark } from "../data";

/** From these factors on an access is severe. */
const SEVERE = { wavefronts: 8, sectors: 4 };

/** How many times as much as needed; 1 where the remark is about something else. */
export function costOf(remark: Remark): number {
  return Math.max(1, ...Object.keys(SEVERE).map((unit) => factorOf(remark, unit)));
}

/** How bad it is: the severity that the analysis gave it, unless it costs too much for that. */
export function gradeOf(remark: Remark): Grade {
  const costs = Object.entries(SEVERE).some(([unit, least]) => factorOf(remark, unit) >= least);
  return costs && remark.severity !== "error" ? "severe" : remark.severity;
}

export type Grade = Remark["severity"] | "severe";

/** The worst first. Signs tell them apart without colour. */
export const SIGNS: Record<Grade, string> = { error: "✗", severe: "◆", warning: "▲", remark: "●", note: "○" };
export const GRADES = ["error", "severe", "warning", "remark", "note"] as const;

/** Orders remarks: the worst first, of equally bad ones those that cost most. */
export function worstFirst(a: Remark, b: Remark): number {
  return GRADES.indexOf(gradeOf(a)) - GRADES.indexOf(gradeOf(b)) || costOf(b) - costOf(a);
}

function factorOf({ numbers }: Remark, unit: string): number {
  const taken = Number(numbers?.[`${unit} a request`]);
  const needed = Number(numbers?.[`ideal ${unit} a request`]);
  return taken > 0 && needed > 0 ? taken / needed : 1;
}
