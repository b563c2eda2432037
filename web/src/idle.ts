/** What can wait until the page has nothing else to do. */

export function whenIdle(run: () => void): void {
  // Safari has no idle callbacks.
  if (typeof window.requestIdleCallback === "function") window.requestIdleCallback(run);
  else window.setTimeout(run, 200);
}
