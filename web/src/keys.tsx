/** Keys that work anywhere on the page, and the dialog that lists them. */

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { leftOpen, openLeft, openSide, sideOpen, toggleBelow, verdictOpen } from "./layout";
import { coloured, following, toggleLinked } from "./linked/state";
import { closeSearch, openSearch, searchOpen } from "./search";
import { move } from "./stop-list";
import { GRADES, SIGNS } from "./panels/cost";
import { onlyDiffering } from "./pair/source-state";
import { EVENT_SIGNS } from "./panels/event-signs";
import { REASONS } from "./panels/owners";
import { foldTypes, hideUnchanged, mode, notice, onlyLine, pair, sideTab, theme, userLine } from "./store";
import { effectiveTheme } from "./theme";
import { currentComparison, focusText } from "./viewer";

export const keysOpen = signal(false);

const KEYS: [keys: string, what: string][] = [
  ["j  k", "next pass, pass before"],
  ["1  2  3", "text, side by side, unified"],
  ["4", "Python, stage and code side by side, or not"],
  ["g", "texts side by side follow each other, or not"],
  ["c", "a colour for every line of Python, or none"],
  ["n  p", "next change, change before; in a text: lines of the selected source line"],
  ["o", "only what belongs to the selected source line, or all"],
  ["v", "in a stage: follow the value of the caret's line through the passes"],
  [",  .", "where a pass changed the followed value before, and next"],
  ["/", "search all stages and listings"],
  ["f", "filter the passes"],
  ["u", "hide or show passes that changed nothing"],
  ["t", "fold or show long types"],
  ["e", "go to the text"],
  ["s", "go to the source"],
  ["h", "go to the hottest lines and instructions"],
  ["l", "go to the list; in a stage: draw the layout at the caret"],
  ["Enter", "in the text: open what is folded, or follow the line"],
  ["Space", "in the text: follow the line"],
  ["Enter  Backspace", "in SASS: fold a line of the source, go where a branch or an address leads; go back"],
  ["i", "in SASS: say the columns of the instruction at the caret"],
  ["[  ]", "hide or show the list, the source and its details"],
  ["b", "source and details below or beside the text"],
  ["w", "hide or show the verdict"],
  ["d", "dark or light"],
  ["Escape", "close, go back to the text"],
  ["?", "these keys"],
];

/** Of a page of two records. */
const PAIR_KEYS: [keys: string, what: string][] = [
  ["j  k", "next pass, pass before"],
  ["1  2  3  4", "A, side by side, unified, B"],
  ["n  p", "next change, change before"],
  ["/", "search all stages and listings of both"],
  ["f", "filter the passes"],
  ["u", "hide or show passes after which both have the same"],
  ["t", "fold or show long types"],
  ["v", "show all lines of the source, or those that differ"],
  ["e", "go to the text"],
  ["s", "go to the source"],
  ["l", "go to the list"],
  ["Enter", "in the text: open what is folded, or follow the line"],
  ["Space", "in the text: follow the line"],
  ["[  ]", "hide or show the list, the source and its details"],
  ["b", "source and details below or beside the text"],
  ["d", "dark or light"],
  ["Escape", "close, go back to the text"],
  ["?", "these keys"],
];

/** What signs on the page mean. */
const SIGNS_USED: [sign: string, what: string][] = [
  ["±  =  ✗", "in the list of passes: changed, unchanged, failed"],
  ...Object.values(EVENT_SIGNS).map(([sign, meaning]): [string, string] => [sign, `in a line's history: ${meaning}`]),
  ...REASONS.map(([name, mark, meaning]): [string, string] => [mark, `beside PTX and SASS: ${name}, ${meaning}`]),
  ["▸  ∅", "in a line's history: has instructions, has none"],
  [GRADES.map((grade) => SIGNS[grade]).join("  "), `remarks: ${GRADES.join(", ")}`],
];

const ACTIONS: Record<string, () => void> = {
  j: () => move(1),
  k: () => move(-1),
  "1": () => (mode.value = pair.value === null ? "text" : "first"),
  "2": () => (mode.value = "split"),
  "3": () => (mode.value = "unified"),
  "4": () => {
    if (pair.value !== null) mode.value = "text";
    else toggleLinked();
  },
  g: () => (following.value = !following.value),
  c: () => (coloured.value = !coloured.value),
  n: () => currentComparison()?.step(1),
  p: () => currentComparison()?.step(-1),
  "/": () => {
    openLeft(true);
    openSearch();
  },
  f: () => {
    openLeft(true);
    document.getElementById("filter")?.focus();
  },
  u: () => (hideUnchanged.value = !hideUnchanged.value),
  o: () => {
    if (userLine.value !== null) onlyLine.value = !onlyLine.value;
    else notice.value = "no line of the source is selected";
  },
  t: () => (foldTypes.value = !foldTypes.value),
  e: focusText,
  s: () => document.querySelector<HTMLElement>(".source-pane .cm-content")?.focus(),
  l: () => {
    openLeft(true);
    document.getElementById("pass-list")?.focus();
  },
  h: () => {
    if (pair.value !== null) return;
    openSide(true);
    sideTab.value = "heat";
    requestAnimationFrame(() => document.getElementById("tab-heat")?.focus());
  },
  "[": () => openLeft(!leftOpen.value),
  "]": () => openSide(!sideOpen.value),
  b: toggleBelow,
  w: () => (verdictOpen.value = !verdictOpen.value),
  v: () => {
    if (pair.value !== null) onlyDiffering.value = !onlyDiffering.value;
  },
  d: () => (theme.value = effectiveTheme.value === "dark" ? "light" : "dark"),
  "?": () => (keysOpen.value = !keysOpen.value),
};

function typing(target: EventTarget | null): boolean {
  return (
    (target instanceof HTMLInputElement && target.type !== "checkbox" && target.type !== "radio") ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey) return;
  if ((event.ctrlKey || event.metaKey) && event.key === "f") {
    // The browser would search the few lines that are on the screen.
    event.preventDefault();
    openLeft(true);
    openSearch();
    return;
  }
  if (event.ctrlKey || event.metaKey) return;
  if (event.key === "Escape") {
    if (searchOpen.value) closeSearch();
    else if (typing(event.target)) focusText();
    return;
  }
  if (typing(event.target) || document.querySelector("dialog[open]") !== null) return;
  const action = ACTIONS[event.key];
  if (action === undefined) return;
  event.preventDefault();
  action();
}

export function listenToKeys(): void {
  // Before the editors, which take letters for text.
  window.addEventListener("keydown", onKeyDown, { capture: true });
}

export function KeysDialog() {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = keysOpen.value;
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <dialog ref={dialog} class="keys" aria-labelledby="keys-title" onClose={() => (keysOpen.value = false)}>
      <h2 id="keys-title">Keys</h2>
      <Entries entries={pair.value === null ? KEYS : PAIR_KEYS} />
      {pair.value === null && (
        <>
          <h2>Signs</h2>
          <Entries entries={SIGNS_USED} />
        </>
      )}
      <form method="dialog">
        <button>Close</button>
      </form>
    </dialog>
  );
}

function Entries({ entries }: { entries: [keys: string, what: string][] }) {
  return (
    <dl>
      {entries.map(([keys, what]) => (
        <div key={keys}>
          <dt>
            {keys.split("  ").map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}
