/** Control codes in words. */

const CODE = /^B([\d-]{6}):R([\d-]):W([\d-]):([Y-]):S(\d+)$/;

/** What a control code, as `B--2---:R-:W1:Y:S04`, has an instruction do; `reused` are its operands with `.reuse`. */
export function controlWords(code: string, reused: readonly string[]): string[] {
  const match = CODE.exec(code);
  if (match === null) return [];
  const [, waits = "", read = "-", write = "-", yields, stall] = match;
  const barriers = waits.replaceAll("-", "").split("");
  const words: string[] = [];
  if (barriers.length > 0) words.push(`waits for ${barriers.length > 1 ? "barriers" : "barrier"} ${barriers.join(", ")}`);
  if (read !== "-") words.push(`barrier ${read} tells when its operands are read`);
  if (write !== "-") words.push(`barrier ${write} tells when its results are written`);
  if (yields === "Y") words.push("the scheduler had better go on with another warp");
  const cycles = Number(stall);
  words.push(`stalls ${cycles} ${cycles === 1 ? "cycle" : "cycles"}: the warp's next instruction waits so long`);
  if (reused.length > 0) words.push(`keeps ${reused.join(", ")} at hand for the next instruction (reuse)`);
  return words;
}
