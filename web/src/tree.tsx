/** A tree that opens and closes, by mouse and by keyboard as WAI-ARIA's pattern has it. */

import { type Signal, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

export interface TreeNode {
  /** Unique in the tree. */
  id: string;
  /** What is seen of it, and what a screen reader says. */
  content: ComponentChildren;
  children: TreeNode[];
  /** What Enter or a click does besides; null: opens or closes it. */
  act: (() => void) | null;
  selected: boolean;
}

interface Row {
  node: TreeNode;
  /** From 1. */
  level: number;
  parent: string | null;
  position: number;
  size: number;
}

/** The rows that are to be seen. */
function rowsOf(nodes: readonly TreeNode[], open: ReadonlySet<string>, level = 1, parent: string | null = null): Row[] {
  return nodes.flatMap((node, at) => [
    { node, level, parent, position: at + 1, size: nodes.length },
    ...(open.has(node.id) ? rowsOf(node.children, open, level + 1, node.id) : []),
  ]);
}

export const openNodes = (...ids: string[]): Signal<ReadonlySet<string>> => signal(new Set(ids));

interface Props {
  label: string;
  nodes: readonly TreeNode[];
  /** Ids of the nodes that are open. */
  open: Signal<ReadonlySet<string>>;
}

export function Tree({ label, nodes, open }: Props) {
  const rows = rowsOf(nodes, open.value);
  const [current, setCurrent] = useState("");
  const list = useRef<HTMLUListElement>(null);
  // The keyboard moves on by itself alone.
  const moved = useRef(false);
  const at = Math.max(0, rows.findIndex((row) => row.node.id === current));
  // At once: what is focused late would be the current one again.
  useLayoutEffect(() => {
    if (moved.current) list.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus();
    moved.current = false;
  }, [current]);
  const toggle = (id: string, to = !open.value.has(id)) => {
    const next = new Set(open.value);
    if (to) next.add(id);
    else next.delete(id);
    open.value = next;
  };
  const go = (id: string | null | undefined) => {
    if (id == null) return;
    moved.current = true;
    setCurrent(id);
  };
  const act = ({ node }: Row) => (node.act === null ? toggle(node.id) : node.act());
  const onKeyDown = (event: KeyboardEvent) => {
    const row = rows[at];
    if (row === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const isOpen = open.value.has(row.node.id);
    const inner = row.node.children.length > 0;
    const keys: Record<string, () => void> = {
      ArrowDown: () => go(rows[at + 1]?.node.id),
      ArrowUp: () => go(rows[at - 1]?.node.id),
      Home: () => go(rows[0]?.node.id),
      End: () => go(rows.at(-1)?.node.id),
      ArrowRight: () => (inner && !isOpen ? toggle(row.node.id, true) : inner && go(rows[at + 1]?.node.id)),
      ArrowLeft: () => (inner && isOpen ? toggle(row.node.id, false) : go(row.parent)),
      "*": () => (open.value = new Set([...open.value, ...rows.filter((each) => each.parent === row.parent).map((each) => each.node.id)])),
      Enter: () => act(row),
      " ": () => act(row),
    };
    const wanted = keys[event.key];
    if (wanted === undefined) return;
    event.preventDefault();
    wanted();
  };
  return (
    <ul ref={list} role="tree" aria-label={label} class="tree" onKeyDown={onKeyDown}>
      {rows.map((row, number) => (
        <li
          key={row.node.id}
          role="treeitem"
          aria-level={row.level}
          aria-posinset={row.position}
          aria-setsize={row.size}
          aria-expanded={row.node.children.length > 0 ? open.value.has(row.node.id) : undefined}
          aria-selected={row.node.selected}
          tabIndex={number === at ? 0 : -1}
          style={{ paddingLeft: `${(row.level - 1) * 14}px` }}
          onFocus={() => setCurrent(row.node.id)}
          onClick={() => act(row)}
        >
          <span
            class="twisty"
            aria-hidden="true"
            onClick={(event) => {
              if (row.node.children.length === 0) return;
              event.stopPropagation();
              toggle(row.node.id);
            }}
          >
            {row.node.children.length === 0 ? "" : open.value.has(row.node.id) ? "▾" : "▸"}
          </span>
          {row.node.content}
        </li>
      ))}
    </ul>
  );
}
