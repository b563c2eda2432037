/** The page's data: chunks, each expanded when it is first asked for. */

const cache = new Map<string, Promise<unknown>>();

function elements(): NodeListOf<HTMLScriptElement> {
  return document.querySelectorAll<HTMLScriptElement>("script[data-chunk]");
}

/** Names of the chunks in the page, in order, each once. */
export function chunkNames(): string[] {
  return [...new Set([...elements()].map((element) => element.dataset["chunk"] ?? ""))];
}

/** A chunk, or null where the page has none of that name or holds it damaged (a page that was cut off). */
export function load<T>(name: string): Promise<T | null> {
  let found = cache.get(name);
  if (found === undefined) {
    found = expand(name);
    // A stage is large: those who show it keep what they need of it (`documents.ts`).
    if (!/(^|:)stage:/.test(name)) cache.set(name, found);
  }
  return found as Promise<T | null>;
}

async function expand(name: string): Promise<unknown> {
  // The last one counts; before it comes what an earlier state of the page held, which is still there if the last is cut off.
  const candidates = [...elements()].filter((element) => element.dataset["chunk"] === name).reverse();
  for (const element of candidates) {
    try {
      return JSON.parse(await inflate(element.text)) as unknown;
    } catch (failure) {
      console.warn(`chunk ${name} cannot be read`, failure);
    }
  }
  return null;
}

async function inflate(base64: string): Promise<string> {
  const binary = atob(base64.trim());
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return await new Response(stream).text();
}
