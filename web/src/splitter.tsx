/** The bar between two columns, or between two parts of one: dragged, or moved by arrow keys. */

import { type Signal, signal } from "@preact/signals";

/** In pixels. */
export const leftWidth = signal(Math.round(Math.min(340, Math.max(220, window.innerWidth * 0.2))));
export const rightWidth = signal(Math.round(Math.min(760, Math.max(280, window.innerWidth * 0.3))));
/** In percent of the side column. */
export const sourceShare = signal(58);

interface Props {
  label: string;
  width: Signal<number>;
  /** 1 where dragging right, or down, makes it larger. */
  grows: 1 | -1;
  /** Between parts one above the other; `width` is then a share in percent. */
  across?: boolean;
}

export function Splitter({ label, width, grows, across = false }: Props) {
  const [least, most] = across ? [10, 90] : [160, 1400];
  const set = (value: number) => (width.value = Math.round(Math.max(least, Math.min(most, value))));
  const onPointerDown = (event: PointerEvent) => {
    const bar = event.currentTarget as HTMLElement;
    const start = across ? event.clientY : event.clientX;
    const before = width.value;
    const whole = across ? (bar.parentElement?.clientHeight ?? 100) / 100 : 1;
    bar.setPointerCapture(event.pointerId);
    const drag = (moved: PointerEvent) =>
      set(before + (grows * ((across ? moved.clientY : moved.clientX) - start)) / whole);
    bar.addEventListener("pointermove", drag);
    bar.addEventListener("lostpointercapture", () => bar.removeEventListener("pointermove", drag), { once: true });
    event.preventDefault();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const direction = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (direction === undefined) return;
    event.preventDefault();
    set(width.value + direction * grows * (across ? 4 : 24));
  };
  return (
    <div
      class={across ? "splitter across" : "splitter"}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={across ? "horizontal" : "vertical"}
      aria-valuenow={width.value}
      aria-valuemin={least}
      aria-valuemax={most}
      onPointerDown={onPointerDown}
      onKeyDown={onKeyDown}
    />
  );
}
