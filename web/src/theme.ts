/** Light or dark: as the system says, or as chosen. `data-theme` of the root always says which is in effect. */

import { effect, signal } from "@preact/signals";
import { theme } from "./store";

export const effectiveTheme = signal<"light" | "dark">("light");

export function followTheme(): void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = signal(system.matches);
  system.addEventListener("change", () => (dark.value = system.matches));
  effect(() => {
    effectiveTheme.value = theme.value === "system" ? (dark.value ? "dark" : "light") : theme.value;
    document.documentElement.dataset["theme"] = effectiveTheme.value;
  });
}
