/** Kernels, the functions whose code is in them, and the lines that call these. */

import { computed } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { userLine, verdict } from "../store";
import { Tree, type TreeNode, openNodes } from "../tree";
import { type CallSite, type Counts, type KernelTree, type TreeFunction, callTrees } from "./call-tree";
import { Whose, isOwn, isShown } from "./ownership";
import { type PythonFunction, functionsByLine } from "./python-functions";
import { chains, files, ptx, sass, select, shortName, userLines } from "./state";
import "./functions.css";

/** By file, which function each line is in. */
const functionsOfFiles = computed(() => {
  const sources = userLines.value?.sources ?? {};
  const known = new Map<string, (PythonFunction | null)[]>();
  return (file: string, line: number) => {
    const source = file.endsWith(".py") ? sources[file] : undefined;
    if (source === undefined) return null;
    const found = known.get(file) ?? functionsByLine(source);
    known.set(file, found);
    return found[line - 1] ?? null;
  };
});
const trees = computed(() => callTrees([...sass.value, ...ptx.value], chains.value, functionsOfFiles.value));
const open = openNodes();
/** What people call a kernel, by its symbol. */
const names = computed(() => new Map(verdict.value?.kernels.map((each) => [each.kernel, each.name])));

export function FunctionsPanel() {
  const found = trees.value;
  // Kernels are open to begin with.
  useEffect(() => {
    open.value = new Set([...open.peek(), ...found.map((each) => each.kernel)]);
  }, [found]);
  if (found.length === 0) return <p class="empty muted">This page holds neither PTX nor SASS.</p>;
  return (
    <section class="panel functions-panel" aria-label="Functions">
      <Whose />
      <div class="tree-heads muted" aria-hidden="true">
        <span>kernel, function, called from</span>
        <span title="SASS instructions of its own lines">self</span>
        <span title="SASS instructions of its own lines and of what it calls">SASS</span>
        <span title="PTX instructions of its own lines">self</span>
        <span title="PTX instructions of its own lines and of what it calls">PTX</span>
      </div>
      <Tree label="Kernels, functions and call sites" nodes={found.map(kernelNode)} open={open} />
    </section>
  );
}

function kernelNode({ kernel, all, unplaced, functions }: KernelTree): TreeNode {
  const shown = functions.filter((each) => isShown(each.file));
  const own = [...shown.filter((each) => isOwn(each.file)), ...shown.filter((each) => !isOwn(each.file))];
  const children = own.map((each) => functionNode(kernel, each));
  if (unplaced.sass + unplaced.ptx > 0) children.push(leaf(`${kernel} -`, "of no line", unplaced));
  return { ...leaf(kernel, names.value.get(kernel) ?? kernel, all, "kernel "), children };
}

function leaf(id: string, name: string, all: Counts, before = ""): TreeNode {
  return { id, content: <Cells before={before} name={name} title={id} all={all} />, children: [], act: null, selected: false };
}

function functionNode(kernel: string, found: TreeFunction): TreeNode {
  const { name, file, line, self, all } = found;
  const id = `${kernel} ${file}:${name}`;
  const place = `${shortName(file, files.value)}:${line}`;
  return {
    id,
    content: <Cells name={name || "(no function known)"} place={place} title={`${name}\n${file}:${line}`} self={self} all={all} />,
    children: found.sites.filter((each) => isShown(each.file)).map((each) => siteNode(id, each)),
    act: () => select({ file, line }),
    selected: isSelected(found),
  };
}

function siteNode(parent: string, found: CallSite): TreeNode {
  const { file, line, caller, all } = found;
  const name = `${shortName(file, files.value)}:${line}`;
  const place = caller === "" ? "" : `in ${caller}`;
  return {
    id: `${parent} ← ${file}:${line}`,
    content: <Cells before="called from " sign="← " name={name} place={place} title={`called from ${file}:${line} ${place}`} all={all} />,
    children: [],
    act: () => select({ file, line }),
    selected: isSelected(found),
  };
}

function isSelected({ file, line }: { file: string; line: number }): boolean {
  return userLine.value?.file === file && userLine.value.line === line;
}

interface CellsProps {
  /** For screen readers. */
  before?: string;
  sign?: string;
  name: string;
  place?: string;
  title: string;
  self?: Counts;
  all: Counts;
}

function Cells({ before = "", sign = "", name, place = "", title, self, all }: CellsProps) {
  return (
    <>
      <span class="what" title={title}>
        <span aria-hidden="true">{sign}</span>
        <span class="hidden">{before}</span>
        {name} {place !== "" && <span class="muted">{place}</span>}
      </span>
      <Cell count={self?.sass} means="SASS itself" muted />
      <Cell count={all.sass} means="SASS" />
      <Cell count={self?.ptx} means="PTX itself" muted />
      <Cell count={all.ptx} means="PTX" />
    </>
  );
}

function Cell({ count, means, muted = false }: { count: number | undefined; means: string; muted?: boolean }) {
  return (
    <span class={muted ? "number muted" : "number"}>
      {count?.toLocaleString("en")}
      {count !== undefined && <span class="hidden"> {means}</span>}
    </span>
  );
}
