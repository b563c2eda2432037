/** The proof of a page: answers, what they rest on, and the pipeline as a picture that leads to the lines. */

import { violationsOf } from "./axe";
import { type Page, expect, test } from "./checked";
import type { Group, Lane, Timeline } from "../src/timeline/data";
import { madeUp, manifest, open, stage } from "./pages";
import { HOSTILE, python } from "./panels-page";

type Role = Group["role"];

const FILE = "/home/me/kernel.py";
const PROOF = {
  file: "kernel.py",
  kernel: `kernel_cutlass_k_0`,
  answer: "suspicious",
  problems: [{ kind: "race", text: `warp 4 writes ${HOSTILE}`, location: { file: FILE, line: 3 }, other: { file: FILE, line: 2 } }],
  sizes: { "f(argument 1)": 5 },
  least: { tiles: 1 },
  below: { tiles: [{ kind: "drain", text: "the block exits too early", location: { file: FILE, line: 4 }, other: null }] },
  tried: [],
  reproduce: "cutecc sanitize kernel.py --schedule replay:kernel.schedule.json",
  states: 1234,
  events: 5,
  skeleton: [
    {
      title: "one period: 1 step of the loop, from step 3 on",
      is_period: true,
      lanes: [
        {
          role: "consumer",
          title: "warps 0-3 consumers",
          block: 0,
          warps: [0, 1, 2, 3],
          events: [
            { kind: "wait", text: "wait full[0]", phase: 3, file: FILE, line: 2 },
            { kind: "product", text: "product", times: 4, file: FILE, line: 3 },
            { kind: "arrive", text: "arrive empty[0]", phase: 3, file: FILE, line: 4 },
          ],
        },
        {
          role: "producer",
          title: "warp 4 producer",
          block: 0,
          warps: [4],
          events: [
            { kind: "wait", text: "wait empty[0]", phase: 2, file: FILE, line: 5 },
            { kind: "copy", text: "copy → full[0]", phase: 3, file: FILE, line: 6 },
          ],
        },
      ],
      edges: [
        { to: [0, 0], start: [1, 1] },
        { to: [1, 0], lane: 0 },
      ],
      others: ["warps 5-7: have ended"],
    },
  ],
};

const MAKE = `
import json, sys, tempfile
from pathlib import Path
import msgspec
from cutecc.report.proof_file import analysis_of, parts_of, read_proofs
from cutecc.report.timeline_picture import Picture
path = Path(tempfile.mkdtemp()) / "proof.json"
path.write_text(sys.argv[1])
proofs = read_proofs(path)
timelines = msgspec.json.decode(sys.argv[3], type=list[Picture])
print(msgspec.json.encode([parts_of(proofs, [sys.argv[2]], timelines), analysis_of(proofs, [sys.argv[2]])]).decode())
`;

/** What is wrong, refuted: a run on the emulator shows it, and its profile, where the page has it, has this timeline. */
const REFUTED = {
  ...PROOF,
  answer: "refuted",
  witness: { sizes: { N: 64 }, blocks: "0:1", schedule: "random", findings: [] },
  timeline: "cutecc profile kernel.py --size N=64 --device cpu --timeline kernel.timeline.json --json kernel.profile.json",
};
const lane = (warp: number, role: Role, site: number, start: number): Lane => ({
  warp,
  role,
  start: 0,
  end: 400,
  kept: [[0, 400]],
  spans: { sites: [2, site], starts: [20, start], lengths: [30, 400 - start] },
  ended: [3, 5],
  ended_by: [[4 - warp, 2], null],
});
const TIMELINE: Timeline = {
  title: "N=64",
  unit: "instructions",
  device: "emulator",
  slowdown: null,
  notes: ["counted on the emulator"],
  lost: 0,
  recorded_blocks: 1,
  sites: [
    { kind: "wait", name: "mbarrier wait", barrier: "mbarrier 0", file: FILE, line: 2 },
    { kind: "wait", name: "mbarrier wait", barrier: "mbarrier 1", file: FILE, line: 5 },
    { kind: "barrier", name: "barrier", barrier: "named barrier 0", file: FILE, line: 1 },
  ],
  lines: [],
  blocks: [
    {
      kernel: PROOF.kernel,
      launch: 0,
      block: 0,
      processor: -1,
      why: ["first"],
      start: 0,
      end: 400,
      groups: [
        { role: "consumer", warps: [0], title: "warp 0 consumer" },
        { role: "producer", warps: [4], title: "warp 4 producer" },
      ],
      lanes: [lane(0, "consumer", 0, 200), lane(4, "producer", 1, 100)],
      path: [],
      shares: [],
    },
  ],
  steady: null,
  why_no_steady: "no warp repeats what it does",
  deadlock: ["deadlock: no thread can go on", `warp 4 waits for ${HOSTILE}`],
};

function build(name = "proof", proved: object = PROOF, timelines: readonly Timeline[] = []): string {
  const made = python(MAKE, JSON.stringify([proved]), FILE, JSON.stringify(timelines));
  const [proof, analysis] = JSON.parse(made) as [unknown, never];
  return madeUp(name, {
    ...Object.fromEntries(timelines.map((each, number) => [`timeline:${number}`, each])),
    manifest: manifest([{ name: "first" }], { analyses: [analysis], source: FILE }),
    "stage:0": stage(0, ["module {", "}"]),
    "user-lines": { sources: { [FILE]: "def kernel():\n    wait()\n    multiply()\n    arrive()\n    wait()\n    copy()\n" }, library: [], chains: [] },
    proof,
  });
}

const picture = (tab: Page) => tab.getByRole("group", { name: /one period: 1 step/ });
const event = (tab: Page, name: string | RegExp) => picture(tab).getByRole("button", { name });
const told = (tab: Page) => tab.locator(".proof-picture .told");

test("the answer, what is wrong, and what it rests on", async ({ page: tab }) => {
  await open(tab, build());
  await tab.getByRole("option", { name: "Proof" }).click();
  const view = tab.getByRole("region", { name: "Proof", exact: true });
  await expect(view.getByRole("heading", { level: 2 })).toContainText("k_0 ▲ suspicious");
  await expect(view).toContainText(`race warp 4 writes ${HOSTILE}`);
  await expect(view).toContainText("With f(argument 1) = 5.");
  await expect(view).toContainText("Precondition: tiles at least 1.");
  await expect(view.getByRole("region", { name: "With less of tiles" })).toContainText("kernel.py:4 drain the block exits too early");
  await expect(view).toContainText("cutecc sanitize kernel.py --schedule replay:kernel.schedule.json");
  await view.getByText("What is taken for granted").click();
  await expect(view.getByText("Lanes of a warp go in step.")).toBeVisible();
  await view.getByRole("button", { name: "kernel.py:3", exact: true }).click();
  await expect(tab).toHaveURL(/source=.*kernel\.py(%3A|:)3/);
  // What is wrong stands beside its line, too.
  await expect(tab.locator(".side-source")).toContainText("race: warp 4 writes");
});

test("events are linked to their lines and to what completes them", async ({ page: tab }) => {
  await open(tab, build(), "#stage=proof");
  await expect(picture(tab).getByRole("button")).toHaveCount(5);
  await expect(picture(tab).locator(".arrow")).toHaveCount(2);
  await expect(tab.locator(".proof-picture")).toContainText("warps 5-7: have ended");
  await event(tab, /^warps 0-3 consumers: wait full\[0\], phase 3, kernel\.py:2$/).hover();
  await expect(told(tab)).toHaveText(/“copy → full\[0\]” of warp 4 producer completes what “wait full\[0\]” of warps 0-3 consumers waits for$/);
  await expect(picture(tab).locator(".arrow.near")).toHaveClass(/copy/);
  await event(tab, /product, 4 times/).click();
  await expect(tab).toHaveURL(/source=.*kernel\.py(%3A|:)3/);
  await expect(picture(tab).locator(".box.lit text").first()).toHaveText("product ×4");
});

test("by keyboard alone: along a lane, across, to the line", async ({ page: tab }) => {
  await open(tab, build(), "#stage=proof");
  await event(tab, /wait full/).focus();
  await tab.keyboard.press("ArrowDown");
  await expect(event(tab, /product/)).toBeFocused();
  await tab.keyboard.press("End");
  await expect(event(tab, /arrive empty/)).toBeFocused();
  await tab.keyboard.press("ArrowDown");
  await expect(event(tab, /arrive empty/)).toBeFocused();
  await tab.keyboard.press("ArrowRight");
  await expect(event(tab, /copy/)).toBeFocused();
  await tab.keyboard.press("ArrowUp");
  await expect(event(tab, /wait empty/)).toBeFocused();
  await expect(told(tab)).toContainText("waits for what warps 0-3 consumers did before this");
  await tab.keyboard.press("Enter");
  await expect(tab).toHaveURL(/source=.*kernel\.py(%3A|:)5/);
});

test("the run that fails is shown as a timeline, which leads to the lines and to all of it", async ({ page: tab }) => {
  await open(tab, build("proof-with-run", REFUTED, [TIMELINE]), "#stage=proof");
  const run = tab.getByRole("region", { name: "Timeline of the run" });
  await expect(run).toContainText("Timeline, N=64 on the CPU emulator");
  await expect(run).toContainText(`deadlock: no thread can go on`);
  await expect(run).toContainText(`warp 4 waits for ${HOSTILE}`);
  await expect(tab.getByText(REFUTED.timeline)).toHaveCount(0);
  const lanes = run.getByRole("application", { name: "Lanes of block 0" });
  await lanes.focus();
  await tab.keyboard.press("End");
  await expect(run.getByRole("status")).toHaveText(/^warp 0 consumer at 200 instructions: mbarrier wait \(mbarrier 0\) kernel\.py:2 for 200 instructions; waited for ever$/);
  await tab.keyboard.press("Enter");
  await expect(tab).toHaveURL(/source=.*kernel\.py(%3A|:)2/);
  await run.getByText("The same as a table").click();
  await expect(run.getByRole("row").filter({ hasText: "warp 4 producer" }).first()).toContainText("barrier (named barrier 0) kernel.py:1 of warp 0");
  await run.getByRole("button", { name: "Timeline", exact: true }).click();
  await expect(tab.getByRole("region", { name: "Timeline", exact: true })).toContainText("What the critical path is spent on");
});

test("where the page has no timeline of the run, what makes one is told", async ({ page: tab }) => {
  await open(tab, build("proof-of-another-run", REFUTED, [{ ...TIMELINE, title: "N=128" }]), "#stage=proof");
  await expect(tab.getByText(REFUTED.timeline)).toBeVisible();
  await expect(tab.getByRole("region", { name: "Timeline of the run" })).toHaveCount(0);
});

test("nothing for axe, in light and dark, and room at every width", async ({ page: tab }) => {
  await open(tab, build("proof-with-run", REFUTED, [TIMELINE]), "#stage=proof");
  await expect(picture(tab)).toBeVisible();
  await expect(tab.getByRole("application", { name: "Lanes of block 0" })).toBeVisible();
  for (const scheme of ["light", "dark"] as const) {
    await tab.emulateMedia({ colorScheme: scheme });
    expect(await violationsOf(tab, scheme)).toEqual([]);
  }
  for (const width of [1000, 1280, 1600]) {
    await tab.setViewportSize({ width, height: 900 });
    expect(await tab.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
  }
});
