/** Timelines in words. */

import { files, shortName } from "../panels/state";
import type { Block, Cause, Ended, Kind, Site, Timeline } from "./data";

export const KINDS: Record<Kind, string> = {
  wait: "waits",
  barrier: "meets others at a barrier",
  arrive: "arrives",
  copy: "begins a copy",
  product: "begins products",
  mark: "a mark of the kernel's own",
};

export const CAUSES: Record<Cause, string> = {
  instructions: "instructions",
  memory: "memory: a copy in flight",
  "tensor cores": "tensor cores",
  signal: "an arrival on its way",
  elsewhere: "not known, or not recorded",
  never: "a wait that never ended",
};

/** What a wait was for, as short as it fits into the picture. */
export const AWAITED: Record<Ended, string> = {
  0: "",
  1: "memory",
  2: "tensor cores",
  3: "warp",
  4: "elsewhere",
  5: "for ever",
};

export function amount(unit: Timeline["unit"], value: number): string {
  const digits = (number: number) => number.toLocaleString("en", { maximumFractionDigits: Math.abs(number) < 10 ? 1 : 0 });
  if (unit === "instructions") return `${digits(value)} instructions`;
  return Math.abs(value) >= 10_000 ? `${(value / 1000).toLocaleString("en", { maximumFractionDigits: 2 })} µs` : `${digits(value)} ns`;
}

export function placeOf({ file, line }: { file: string; line: number }): string {
  return line === 0 ? "" : `${shortName(file, files.value)}:${line}`;
}

export function siteText(site: Site): string {
  return [site.name, site.barrier !== null && site.barrier !== site.name ? `(${site.barrier})` : "", placeOf(site)].filter(Boolean).join(" ");
}

/** `who` is the warp that ended it, in words. */
export function awaitedText(ended: Ended, who: string, site: Site | undefined): string {
  const by = site === undefined ? "" : `${siteText(site)} of ${who}`;
  if (ended === 1) return by === "" ? "waited for memory" : `waited for memory: ${by} in flight`;
  if (ended === 2) return by === "" ? "waited for the tensor cores" : `waited for the tensor cores: ${by}`;
  if (ended === 3) return `waited for ${by}`;
  if (ended === 5) return "waited for ever";
  return ended === 4 ? "waited for what is not known: another block, or not recorded" : "";
}

export function blockName(block: Block): string {
  const where = block.processor < 0 ? "" : ` on SM ${block.processor}`;
  return `block ${block.block}${where}${block.launch > 0 ? `, launch ${block.launch}` : ""}`;
}

/** What recording cost; empty where nobody knows. */
export function slowdownText({ slowdown, unit }: Timeline): string {
  if (unit === "instructions" || slowdown === null) return "";
  const { recorded, plain, idle } = slowdown;
  const than = plain ?? idle;
  const percent = (100 * (recorded / than - 1)).toFixed(1);
  return (
    `Recording makes it another kernel: ${recorded.toFixed(1)} µs instead of ${than.toFixed(1)} µs` +
    `${plain === null ? " with recording off" : ""} (${percent} % slower). ` +
    "Order and overlap are what to read here; for shares of the time, go by samples."
  );
}
