import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

/** Colours of `:root` and of the dark theme, by name. */
function palettes(): Record<"light" | "dark", Record<string, string>> {
  const css = ["src/theme.css", "src/linked/linked.css"].map((file) => readFileSync(file, "utf8")).join("\n");
  const read = (blocks: RegExp) =>
    Object.fromEntries(
      [...css.matchAll(blocks)].flatMap(([, block]) =>
        [...(block ?? "").matchAll(/--([\w-]+):\s*(#[\da-f]{6})/g)].map((match) => [match[1], match[2]]),
      ),
    );
  const light = read(/:root \{([^}]*)\}/g);
  return { light, dark: { ...light, ...read(/:root\[data-theme="dark"\] \{([^}]*)\}/g) } };
}

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [x, y] = [luminance(a), luminance(b)].sort((one, other) => other - one) as [number, number];
  return (x + 0.05) / (y + 0.05);
}

/** Of lines, and their edges. */
const HUES = [0, 1, 2, 3, 4, 5, 6, 7];
const CODE_GROUNDS = ["bg", "bg-active", "lit", "removed-bg", "added-bg", "removed-word", "added-word", "name", ...HUES.map((hue) => `hue-${hue}`)];
const TOKENS = ["comment", "string", "number", "keyword", "type", "name", "symbol", "label", "meta"];

for (const [theme, colours] of Object.entries(palettes())) {
  const pairs: [string, string, number][] = [
    ...["bg", "bg-raised", "bg-hover", "accent-bg", "bad-bg"].map((on): [string, string, number] => ["fg", on, 4.5]),
    ...["bg", "bg-raised", "bg-hover", "accent-bg"].map((on): [string, string, number] => ["fg-muted", on, 4.5]),
    ...["accent", "good", "bad", "warn"].flatMap((text) =>
      ["bg", "bg-raised", "accent-bg"].map((on): [string, string, number] => [text, on, 4.5]),
    ),
    ["bad", "bad-bg", 4.5],
    ["found-fg", "found", 4.5],
    ...TOKENS.flatMap((token) => CODE_GROUNDS.map((on): [string, string, number] => [`tok-${token}`, on, 4.5])),
    ...[1, 2, 3, 4, 5].flatMap((step) => ["", "worse-"].map((kind): [string, string, number] => ["fg", `heat-${kind}${step}`, 4.5])),
    // What is no text: edges of controls, focus, the edge of what is lit.
    ...["line-strong", "accent", "lit-edge", "heat-bar", "heat-bar-worse", ...HUES.map((hue) => `hue-edge-${hue}`)].map((edge): [string, string, number] => [edge, "bg", 3]),
  ];
  test(`contrast of the ${theme} theme`, () => {
    assert.ok(Object.keys(colours).length > 25);
    const low = pairs
      .map(([text, on, least]) => [text, on, contrast(colours[text] as string, colours[on] as string), least] as const)
      .filter(([, , found, least]) => found < least)
      .map(([text, on, found]) => `${text} on ${on}: ${found.toFixed(2)}`);
    assert.deepEqual(low, []);
  });
}
