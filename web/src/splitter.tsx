/** The bar between two columns, or between two parts one above the other: dragged, or moved by arrow keys. */

import type { Signal } from "@preact/signals";

interface Props {
  label: string;
  size: Signal<number>;
  /** Pixels, or percent of what the bar divides. */
  unit: "px" | "%";
  /** 1 where dragging right, or down, makes it larger. */
  grows: 1 | -1;
  /** Between parts one above the other. */
  across?: boolean;
}

const LIMITS = { px: [120, 1400], "%": [10, 90] } as const;
const KEY_STEP = { px: 24, "%": 4 } as const;

export function Splitter({ label, size, unit, grows, across = false }: Props) {
  const [least, most] = LIMITS[unit];
  const set = (value: number) => (size.value = Math.round(Math.max(least, Math.min(most, value))));
  const onPointerDown = (event: PointerEvent) => {
    const bar = event.currentTarget as HTMLElement;
    const at = (moved: PointerEvent) => (across ? moved.clientY : moved.clientX);
    const start = at(event);
    const before = size.value;
    const { clientHeight = 100, clientWidth = 100 } = bar.parentElement ?? {};
    const scale = unit === "%" ? (across ? clientHeight : clientWidth) / 100 : 1;
    bar.setPointerCapture(event.pointerId);
    const drag = (moved: PointerEvent) => set(before + (grows * (at(moved) - start)) / scale);
    bar.addEventListener("pointermove", drag);
    bar.addEventListener("lostpointercapture", () => bar.removeEventListener("pointermove", drag), { once: true });
    event.preventDefault();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const direction = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (direction === undefined) return;
    event.preventDefault();
    set(size.value + direction * grows * KEY_STEP[unit]);
  };
  return (
    <div
      class={across ? "splitter across" : "splitter"}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={across ? "horizontal" : "vertical"}
      aria-valuenow={size.value}
      aria-valuemin={least}
      aria-valuemax={most}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}
