// A forecast as a line within the range that it is expected in (p10 to p90), after what came.
import { useMemo } from "preact/hooks";
import { axis, color, fromZero, Plot } from "./plot.jsx";
import { columnsOf, hasSpread } from "./series.js";

function optionsOf(uPlot, { title, unit, digits }, spread) {
  const paths = uPlot.paths.stepped({ align: 1 }); // a value holds for its whole hour
  const edge = { paths, stroke: "transparent", points: { show: false } };
  return {
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: true }, y: { range: fromZero } },
    axes: [
      {
        ...axis(),
        values: (plot, ticks) => ticks.map((at) => new Date(at * 1000).toISOString().slice(11, 16)),
        space: 60,
        size: 28,
      },
      {
        ...axis(),
        size: 56,
        values: (plot, ticks) => ticks.map((value) => value.toLocaleString("en-US", { maximumFractionDigits: digits })),
      },
    ],
    series: [
      {},
      { label: `${title} ${unit}`, stroke: color("--accent"), width: 2, paths, points: { show: false } },
      edge,
      edge,
      { label: "came", stroke: color("--used"), width: 2, points: { show: false } },
    ],
    bands: spread ? [{ series: [3, 2], fill: color("--fan") }] : [],
  };
}

export function Fan({ signal, points, past, label }) {
  const data = useMemo(() => columnsOf(points, past), [points, past]);
  return <Plot optionsOf={(uPlot) => optionsOf(uPlot, signal, hasSpread(points))} data={data} label={label} />;
}
