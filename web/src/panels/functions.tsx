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
  const name = names.value.get(kernel) ?? kernel;
  return { ...leaf(kernel, name, all), label: `kernel ${name}, ${inWords(all)}`, children };
}

function leaf(id: string, name: string, counts: Counts): TreeNode {
  return {
    id,
    label: `${name}, ${inWords(counts)}`,
    content: <Cells name={name} title={id} all={counts} />,
    children: [],
    act: null,
    selected: false,
  };
}

function functionNode(kernel: string, found: TreeFunction): TreeNode {
  const id = `${kernel} ${found.file}:${found.name}`;
  const place = `${shortName(found.file, files.value)}:${found.line}`;
  const name = found.name === "" ? "(no function known)" : found.name;
  return {
    id,
    label: `${name}, ${place}, ${inWords(found.all)}, itself ${inWords(found.self)}`,
    content: <Cells name={name} place={place} title={`${name}\n${found.file}:${found.line}`} self={found.self} all={found.all} />,
    children: found.sites.filter((each) => isShown(each.file)).map((each) => siteNode(id, each)),
    act: () => select(found),
    selected: isSelected(found),
  };
}

function siteNode(parent: string, found: CallSite): TreeNode {
  const place = `${shortName(found.file, files.value)}:${found.line}`;
  const within = found.caller === "" ? "" : ` in ${found.caller}`;
  return {
    id: `${parent} ← ${found.file}:${found.line}`,
    label: `called from ${place}${within}, ${inWords(found.all)}`,
    content: <Cells name={`← ${place}`} place={within.trim()} title={`called from ${found.file}:${found.line}${within}`} all={found.all} />,
    children: [],
    act: () => select(found),
    selected: isSelected(found),
  };
}

function isSelected({ file, line }: { file: string; line: number }): boolean {
  return userLine.value?.file === file && userLine.value.line === line;
}

function inWords({ ptx: asPtx, sass: asSass }: Counts): string {
  return `${number(asSass)} SASS and ${number(asPtx)} PTX instructions`;
}

interface CellsProps {
  name: string;
  place?: string;
  title: string;
  self?: Counts;
  all: Counts;
}

function Cells({ name, place = "", title, self, all }: CellsProps) {
  return (
    <>
      <span class="what" title={title}>
        {name} {place !== "" && <span class="muted">{place}</span>}
      </span>
      <span class="number muted">{self === undefined ? "" : number(self.sass)}</span>
      <span class="number">{number(all.sass)}</span>
      <span class="number muted">{self === undefined ? "" : number(self.ptx)}</span>
      <span class="number">{number(all.ptx)}</span>
    </>
  );
}

const number = (count: number) => count.toLocaleString("en");
