// A forecast as a line within the range that it is expected in (p10 to p90).
import { useLayoutEffect, useRef } from "preact/hooks";
import { columnsOf, hasSpread } from "./series.js";

const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const HEIGHT = 190;

// The library is loaded when a plot is first shown.
const library = () => import("uplot");

function optionsOf(uPlot, { title, unit, digits }, width, spread) {
  const axis = {
    stroke: color("--dim"),
    grid: { stroke: color("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui",
  };
  const paths = uPlot.paths.stepped({ align: 1 }); // a value holds for its whole hour
  const edge = { paths, stroke: "transparent", points: { show: false } };
  return {
    width,
    height: HEIGHT,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { time: true },
      y: { range: (plot, low, high) => (low >= 0 ? [0, high * 1.08 || 1] : [low * 1.08, Math.max(0, high * 1.08)]) },
    },
    axes: [
      {
        ...axis,
        values: (plot, ticks) => ticks.map((at) => new Date(at * 1000).toISOString().slice(11, 16)),
        space: 60,
        size: 28,
      },
      {
        ...axis,
        size: 56,
        values: (plot, ticks) => ticks.map((value) => value.toLocaleString("en-US", { maximumFractionDigits: digits })),
      },
    ],
    series: [
      {},
      { label: `${title} ${unit}`, stroke: color("--accent"), width: 2, paths, points: { show: false } },
      edge,
      edge,
    ],
    bands: spread ? [{ series: [3, 2], fill: color("--fan") }] : [],
  };
}

export function Fan({ signal, points, label }) {
  const box = useRef(null);
  const data = columnsOf(points);
  // A layout effect ends with its element; any other ends after the next frame, in which the observer would still measure.
  useLayoutEffect(() => {
    let plot = null;
    let uPlot = null;
    let gone = false;
    const draw = () => {
      if (gone || !uPlot) return;
      plot?.destroy();
      plot = new uPlot(optionsOf(uPlot, signal, box.current.clientWidth, hasSpread(points)), data, box.current);
    };
    library().then((loaded) => {
      uPlot = loaded.default;
      draw();
    });
    const size = new ResizeObserver(() => plot?.setSize({ width: box.current.clientWidth, height: HEIGHT }));
    size.observe(box.current);
    addEventListener("themechange", draw);
    return () => {
      gone = true;
      removeEventListener("themechange", draw);
      size.disconnect();
      plot?.destroy();
    };
  }, [points]);
  return <div class="plot" ref={box} role="img" aria-label={label} />;
}
