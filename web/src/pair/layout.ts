/** How wide the list of two records is, in pixels: it has numbers of both. */

import { signal } from "@preact/signals";

export const listWidth = signal(Math.round(Math.min(430, Math.max(250, window.innerWidth * 0.3))));
