/** What things of two records are called. */

import type { Stop } from "../store";
import type { Pair, PassRun } from "./data";

export function labelOfFirst(stop: Stop): string {
  return label("A", stop, stop.row?.a ?? null);
}

export function labelOfSecond(stop: Stop): string {
  return label("B", stop, stop.row?.b ?? null);
}

function label(side: string, stop: Stop, run: PassRun | null): string {
  if (stop.kind !== "pass" || run === null) return `${side}, ${stop.title}`;
  return `${side} after pass ${run.index}, ${run.selector}`;
}

/** The name of a row, with both names where the two records call it otherwise. */
export function nameOf({ a, b }: { a: PassRun | null; b: PassRun | null }): string {
  return [...new Set([a?.selector, b?.selector].filter((each) => each !== undefined))].join(" / ");
}

const STATES: Record<PassRun["state"], { sign: string; words: string }> = {
  changed: { sign: "±", words: "changed" },
  unchanged: { sign: "=", words: "unchanged" },
  unknown: { sign: "?", words: "not compared" },
  failed: { sign: "✗", words: "failed" },
  before: { sign: "·", words: "ran before" },
  input: { sign: "→", words: "input" },
  "not run": { sign: "–", words: "not run" },
};

export function stateOfRun(run: PassRun | null): { sign: string; words: string } {
  if (run === null) return { sign: "", words: "no such pass" };
  // The traced module is no pass.
  return run.index === 0 && run.state === "input" ? { sign: "", words: "" } : STATES[run.state];
}

/** Why a record has no text at a row, empty where both have one. */
export function whyMissing(stop: Stop, { a, b }: Pair): string {
  const row = stop.row;
  const reasons: string[] = [];
  const look = (side: string, name: string, run: PassRun | null, chunk: string | null) => {
    if (chunk !== null) return;
    const which = `${side} (${name})`;
    if (row === null) reasons.push(`${which} has no ${stop.title}`);
    else if (run === null) reasons.push(`${which} has no such pass`);
    else if (run.state === "before") reasons.push(`${which} went on from a later stage`);
    else if (run.state === "not run") reasons.push(`${which} did not come so far`);
    else if (run.state === "failed") reasons.push(`the pass failed in ${which}`);
    else reasons.push(`this page holds no module of ${which} here`);
  };
  if (stop.first !== null) {
    look("A", a.record, row?.a ?? null, stop.first.chunk);
    look("B", b.record, row?.b ?? null, stop.chunk);
  } else if (stop.id.startsWith("first:")) look("A", a.record, row?.a ?? null, stop.chunk);
  else look("B", b.record, row?.b ?? null, stop.chunk);
  const text = reasons.join("; ");
  return text === "" ? "" : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
