/** The view as the address's fragment, so that a place can be kept and passed on. */

import { effect } from "@preact/signals";
import { raw } from "./sass/choices";
import { base, hideUnchanged, mode, place, selected, shownFunction, sideTab, stops, theme, userLine, usualMode, whose } from "./store";

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
  if (source) userLine.value = { file: source[1] as string, line: Number(source[2]) };
  const tab = said.get("tab");
  if (tab === "history" || tab === "instructions" || tab === "resources" || tab === "remarks") sideTab.value = tab;
  const colours = said.get("theme");
  if (colours === "light" || colours === "dark") theme.value = colours;
  const files = said.get("files");
  whose.value = files === "mine" || files === "library" ? files : "all";
  hideUnchanged.value = said.get("hide") === "unchanged";
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
    if (sideTab.value !== "history") said.set("tab", sideTab.value);
    if (theme.value !== "system") said.set("theme", theme.value);
    if (whose.value !== "all") said.set("files", whose.value);
    if (hideUnchanged.value) said.set("hide", "unchanged");
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
