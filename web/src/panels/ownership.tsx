/** Whose files are shown wherever files or lines are listed: the user's own, those of libraries, or all. */

import { whose } from "../store";
import { files, library } from "./state";

/** Whether a file is neither cutecc's nor an installed package's. */
export function isOwn(file: string): boolean {
  return !library.value.has(file);
}

/** Whether the filter lets a file through. */
export function isShown(file: string): boolean {
  return whose.value === "all" || !hasBoth() || isOwn(file) === (whose.value === "mine");
}

/** Whether there is something to tell apart. */
export function hasBoth(): boolean {
  return files.value.some(isOwn) && !files.value.every(isOwn);
}

/** The filter; nothing where all files are of one kind. */
export function Whose() {
  if (!hasBoth()) return null;
  const mine = files.value.filter(isOwn).length;
  return (
    <label class="whose">
      Files{" "}
      <select value={whose.value} onChange={(event) => (whose.value = event.currentTarget.value as typeof whose.value)}>
        <option value="all">all ({files.value.length})</option>
        <option value="mine">mine ({mine})</option>
        <option value="library">library ({files.value.length - mine})</option>
      </select>
    </label>
  );
}
