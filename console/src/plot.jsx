// A plot of uPlot: drawn anew in the other theme, as wide as its box. The library is loaded when a plot is first shown.
import { useLayoutEffect, useRef } from "preact/hooks";

export const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const library = () => import("uplot");

export const axis = () => ({
  stroke: color("--dim"),
  grid: { stroke: color("--line"), width: 1 },
  ticks: { show: false },
  font: "12px system-ui",
});

// A scale that begins at zero, or ends there.
export const fromZero = (plot, low, high) => [Math.min(0, low * 1.08), Math.max(0, high * 1.08) || (low < 0 ? 0 : 1)];

// optionsOf (uPlot) gives all options but the size; `data` is new when it changed.
export function Plot({ optionsOf, data, label, height = 190 }) {
  const box = useRef(null);
  const latest = useRef(optionsOf);
  latest.current = optionsOf;
  // A layout effect ends with its element; any other ends after the next frame, in which the observer would still measure.
  useLayoutEffect(() => {
    let plot = null;
    let uPlot = null;
    let gone = false;
    const draw = () => {
      if (gone || !uPlot) return;
      plot?.destroy();
      plot = new uPlot({ ...latest.current(uPlot), width: box.current.clientWidth, height }, data, box.current);
    };
    library().then((loaded) => {
      uPlot = loaded.default;
      draw();
    });
    const size = new ResizeObserver(() => plot?.setSize({ width: box.current.clientWidth, height }));
    size.observe(box.current);
    addEventListener("themechange", draw);
    return () => {
      gone = true;
      removeEventListener("themechange", draw);
      size.disconnect();
      plot?.destroy();
    };
  }, [data]);
  return <div class="plot" ref={box} role="img" aria-label={label} style={{ minHeight: `${height}px` }} />;
}
