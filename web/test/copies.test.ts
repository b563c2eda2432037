import assert from "node:assert/strict";
import { test } from "node:test";
import type { Document } from "../src/documents";
import { copiesOf } from "../src/panels/copies";

test("copies are told by opcode, the most first; what is none is left out", () => {
  const lines = ["        /*0010*/                   LDG.E R4, desc[UR4][R2.64] ;", "        /*0020*/              @!P0 LDG.E R5, [R2] ;", "\t@%p1 add.f32 %f1, %f2, %f3;", "MOV R1, R2 ;"];
  const listing = { details: [0, 0, 1, 2], detail_names: ["×7", "×12", "phi copy"] };
  const document = { lines, listing } as unknown as Document;
  assert.deepEqual(copiesOf(document, [0, 1, 2, 3]), [
    ["add.f32", 12],
    ["LDG.E", 7],
  ]);
  assert.deepEqual(copiesOf({ ...document, listing: null }, [0, 1]), []);
});
