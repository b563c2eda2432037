/** The browser that the page is tested in: the system's Chromium, or what CHROMIUM names. */

import { accessSync, constants } from "node:fs";
import path from "node:path";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

export function chromium(): string {
  const named = process.env["CHROMIUM"];
  if (named) return named;
  for (const folder of (process.env["PATH"] ?? "").split(path.delimiter))
    for (const name of NAMES) {
      const file = path.join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // The next one.
      }
    }
  throw new Error("no Chromium: install it (Debian: apt-get install chromium), or name it in CHROMIUM");
}
