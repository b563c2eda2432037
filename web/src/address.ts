/** The view as the address's fragment, so that a place can be kept and passed on. */

import { effect } from "@preact/signals";
import { chooseCode, codeStop, coloured, linked } from "./linked/state";
import { raw } from "./sass/choices";
import {
  SIDE_TABS, base, heat, hideLlvm, hideUnchanged, mode, onlyLine, place, selected, shownFunction, sideTab, stops, theme, userLine, usualMode,
  value, whose,
} from "./store";

/** Set what the fragment says; what is missing or makes no sense stays as it is. */
export function readAddress(): void {
  const said = new URLSearchParams(window.location.hash.slice(1));
  const known = (id: string | null) => id !== null && stops.value.some((stop) => stop.id === id);
  const stage = said.get("stage");
  if (known(stage)) selected.value = stage as string;
  const view = said.get("view");
  const views = ["first", "text", "split", "unified"] as const;
  mode.value = views.find((each) => each === view) ?? usualMode.value;
  base.value = known(said.get("base")) ? said.get("base") : null;
  shownFunction.value = said.get("function");
  const line = Number(said.get("line"));
  if (line >= 1) place.value = { stop: selected.value, line: line - 1 };
  const source = /^(.*):(\d+)$/.exec(said.get("source") ?? "");
  if (source) {
    const line = { file: source[1] as string, line: Number(source[2]) };
    userLine.value = said.get("of") === "a" ? { ...line, side: "a" } : line;
  }
  const followed = /^(\d+):(\d+)$/.exec(said.get("value") ?? "");
  value.value = followed && Number(followed[2]) >= 1 ? { stage: Number(followed[1]), line: Number(followed[2]) - 1 } : null;
  sideTab.value = SIDE_TABS.find((each) => each === said.get("tab")) ?? sideTab.value;
  heat.value = said.get("heat");
  const colours = said.get("theme");
  if (colours === "light" || colours === "dark") theme.value = colours;
  const files = said.get("files");
  whose.value = files === "mine" || files === "library" ? files : "all";
  linked.value = said.get("panes") === "linked";
  coloured.value = said.get("lines") === "coloured";
  chooseCode(said.get("code"));
  onlyLine.value = said.get("only") === "line";
  const hidden = said.getAll("hide");
  hideUnchanged.value = hidden.includes("unchanged");
  hideLlvm.value = hidden.includes("llvm");
  raw.value = said.get("sass") === "raw";
}

/** Keep the fragment up to date from now on, and follow it when the user changes it. */
export function writeAddress(): void {
  let written = "";
  effect(() => {
    const said = new URLSearchParams();
    said.set("stage", selected.value);
    if (mode.value !== usualMode.value) said.set("view", mode.value);
    if (base.value !== null) said.set("base", base.value);
    if (shownFunction.value !== null) said.set("function", shownFunction.value);
    if (place.value !== null && place.value.stop === selected.value) said.set("line", String(place.value.line + 1));
    if (userLine.value !== null) said.set("source", `${userLine.value.file}:${userLine.value.line}`);
    if (userLine.value?.side === "a") said.set("of", "a");
    if (value.value !== null) said.set("value", `${value.value.stage}:${value.value.line + 1}`);
    if (sideTab.value !== "history") said.set("tab", sideTab.value);
    if (heat.value !== null) said.set("heat", heat.value);
    if (theme.value !== "system") said.set("theme", theme.value);
    if (whose.value !== "all") said.set("files", whose.value);
    if (linked.value) {
      said.set("panes", "linked");
      if (codeStop.value !== null) said.set("code", codeStop.value.id);
    }
    if (coloured.value) said.set("lines", "coloured");
    if (onlyLine.value) said.set("only", "line");
    if (hideUnchanged.value) said.append("hide", "unchanged");
    if (hideLlvm.value) said.append("hide", "llvm");
    if (raw.value) said.set("sass", "raw");
    written = `#${said.toString()}`;
    try {
      window.history.replaceState(null, "", written);
    } catch {
      // A page in a sandboxed frame has no history of its own; it works without.
    }
  });
  window.addEventListener("hashchange", () => {
    if (window.location.hash !== written) readAddress();
  });
}
