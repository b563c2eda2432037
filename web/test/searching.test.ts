import assert from "node:assert/strict";
import { test } from "node:test";
import { inOrder } from "../src/search-order";
import type { Stop } from "../src/store";

test("what is shown is searched first, then code from the machine's on, then modules in their order", () => {
  const stop = (id: string, kind: Stop["kind"]) => ({ id, kind, chunk: id }) as unknown as Stop;
  const all = [stop("0", "traced"), stop("1", "pass"), stop("listing:k.ll", "listing"), stop("listing:k.ptx", "listing"), stop("listing:k.sass", "listing")];
  const order = (shown: string | null) => inOrder(all, shown).map((each) => each.id);
  assert.deepEqual(order("1"), ["1", "listing:k.sass", "listing:k.ptx", "listing:k.ll", "0"]);
  assert.deepEqual(order(null), ["listing:k.sass", "listing:k.ptx", "listing:k.ll", "0", "1"]);
});
