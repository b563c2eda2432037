/**
 * The page that lists the kernels of a watch (`cutecc/watching/index_page.py`): sorts, filters, and leads from two kernels
 * to the page that sets them side by side. The table is there without it.
 */

type Direction = "ascending" | "descending";

function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string> = {},
  ...content: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}

const plural = (count: number, what: string) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

/** What screen readers are told. */
const status = make("p", { role: "status" });

// Sorting.

function sortable(table: HTMLTableElement, rows: readonly HTMLTableRowElement[]): void {
  const heads = [...table.querySelectorAll("th")];
  for (const head of heads) {
    const name = head.textContent ?? "";
    const arrow = make("span", { "aria-hidden": "true" });
    const button = make("button", { type: "button" }, name, arrow);
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const direction: Direction = head.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of heads) {
        other.removeAttribute("aria-sort");
        other.querySelector("span")?.replaceChildren();
      }
      head.setAttribute("aria-sort", direction);
      arrow.textContent = direction === "ascending" ? " ↑" : " ↓";
      table.tBodies[0]?.append(...sorted(rows, head.cellIndex, direction));
      status.textContent = `sorted by ${name}, ${direction}`;
    });
  }
}

/** By the numbers of a column where it has any, else by its text; equal ones in the order of the list. */
function sorted(rows: readonly HTMLTableRowElement[], column: number, direction: Direction): HTMLTableRowElement[] {
  const sign = direction === "ascending" ? 1 : -1;
  const cell = (row: HTMLTableRowElement) => row.cells[column] as HTMLTableCellElement;
  const compare = (a: HTMLTableCellElement, b: HTMLTableCellElement) =>
    a.dataset["sort"] !== undefined && b.dataset["sort"] !== undefined
      ? Number(a.dataset["sort"]) - Number(b.dataset["sort"])
      : (a.textContent ?? "").localeCompare(b.textContent ?? "", "en", { numeric: true });
  return [...rows].sort((one, other) => sign * compare(cell(one), cell(other)));
}

// Filtering.

function filterBox(rows: readonly HTMLTableRowElement[]): HTMLElement {
  const input = make("input", { type: "search", id: "filter", autocomplete: "off", spellcheck: "false" });
  const count = make("span", {}, plural(rows.length, "kernel"));
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    for (const row of rows) row.hidden = !(row.dataset["name"] ?? "").toLowerCase().includes(wanted);
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown === rows.length ? plural(rows.length, "kernel") : `${shown.toLocaleString("en")} of ${plural(rows.length, "kernel")}`;
    status.textContent = count.textContent;
  });
  return make("div", { class: "tools" }, make("label", { for: "filter" }, "Filter by name"), input, count);
}

// Comparing.

/** Two records and their page, which is there already. */
type Page = [a: string, b: string, page: string];

const nameOf = (record: string) => record.replace(/^.*\//, "");
const quoted = (text: string) => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** What makes the page of two records, in the folder of this page. */
function commandFor(a: string, b: string, page: string): string {
  const compare = `mkdir -p pairs && cutecc compare ${quoted(a)} ${quoted(b)} --report ${quoted(page)}`;
  if (window.location.protocol !== "file:") return compare;
  const folder = decodeURIComponent(window.location.pathname.replace(/\/[^/]*$/, "")) || "/";
  return `cd ${quoted(folder)} && ${compare}`;
}

function argumentsOf(row: HTMLTableRowElement): Record<string, string> {
  return JSON.parse(row.dataset["arguments"] ?? "{}") as Record<string, string>;
}

/** The arguments that two kernels have otherwise, as `a = f32[?] → f16[?]`. */
function differing(a: HTMLTableRowElement, b: HTMLTableRowElement): string[] {
  const [ours, theirs] = [argumentsOf(a), argumentsOf(b)];
  const names = [...new Set([...Object.keys(ours), ...Object.keys(theirs)])];
  return names.filter((name) => ours[name] !== theirs[name]).map((name) => `${name} = ${ours[name] ?? "–"} → ${theirs[name] ?? "–"}`);
}

function comparing(table: HTMLTableElement, rows: readonly HTMLTableRowElement[], pages: readonly Page[]): HTMLElement {
  const panel = make("section", { class: "compare", "aria-label": "Compare" });
  /** The rows that are chosen, the last one last; at most two. */
  let chosen: HTMLTableRowElement[] = [];
  const boxOf = (row: HTMLTableRowElement) => row.querySelector<HTMLInputElement>("input[type=checkbox]");
  const show = () => {
    const [a, b] = rows.filter((each) => chosen.includes(each));
    panel.replaceChildren(...(a !== undefined && b !== undefined ? two(a, b) : [make("p", {}, `Choose two kernels to compare${a === undefined ? "." : "; one is chosen."}`)]));
  };
  const two = (a: HTMLTableRowElement, b: HTMLTableRowElement): HTMLElement[] => {
    const [ours, theirs] = [a.dataset["record"] ?? "", b.dataset["record"] ?? ""];
    const known = pages.find(([one, other]) => (one === ours && other === theirs) || (one === theirs && other === ours));
    const page = known?.[2] ?? `pairs/${nameOf(ours)}..${nameOf(theirs)}.html`;
    const others = differing(a, b);
    const parts: HTMLElement[] = [
      make("p", {}, make("strong", {}, `${nameOf(ours)} and ${nameOf(theirs)}`), others.length === 0 ? ": the same arguments" : ": these arguments differ"),
      make("ul", {}, ...others.map((each) => make("li", {}, make("code", {}, each)))),
    ];
    const link = make("a", { href: page.split("/").map(encodeURIComponent).join("/") }, "the page of both");
    if (known !== undefined) return [...parts, make("p", {}, "Open ", link, ".")];
    const command = make("input", { readonly: "", "aria-label": "The command that makes the page of both" });
    command.value = commandFor(ours, theirs, page);
    command.addEventListener("focus", () => command.select());
    return [...parts, make("p", {}, "This command makes ", link, ":"), command];
  };
  const choose = (row: HTMLTableRowElement, on: boolean) => {
    const others = chosen.filter((each) => each !== row);
    // Of three the one that was chosen first is given up.
    const kept = on ? [...others.slice(-1), row] : others;
    for (const each of chosen) (boxOf(each) as HTMLInputElement).checked = kept.includes(each);
    chosen = kept;
    status.textContent = `${chosen.length} chosen to compare`;
    show();
  };
  table.tHead?.rows[0]?.prepend(make("th", { scope: "col" }, "compare"));
  for (const row of rows) {
    const cell = make("td");
    row.prepend(cell);
    const { record } = row.dataset;
    if (record === undefined) continue;
    const box = make("input", { type: "checkbox", "aria-label": `Compare ${nameOf(record)}` });
    box.addEventListener("change", () => choose(row, box.checked));
    cell.append(box);
  }
  show();
  return panel;
}

function start(): void {
  const found = document.getElementById("kernels");
  const table = found?.querySelector("table") ?? null;
  if (found === null || table === null) return;
  const rows = [...(table.tBodies[0]?.rows ?? [])];
  sortable(table, rows);
  found.before(filterBox(rows));
  found.after(comparing(table, rows, JSON.parse(found.dataset["pairs"] ?? "[]") as Page[]));
  status.className = "hidden";
  document.body.append(status);
}

start();

export {};
