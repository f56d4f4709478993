// A forecast as a line within the range that it is expected in (p10 to p90), after what came; beside that, what had been expected of it.
import { useMemo, useState } from "preact/hooks";
import { number } from "./format.js";
import { axis, color, fromZero, Plot } from "./plot.jsx";
import { columnsOf, hasSpread, readout } from "./series.js";

function optionsOf(uPlot, { title, unit, digits }, spreads, show) {
  const paths = uPlot.paths.stepped({ align: 1 }); // a value holds for its whole hour
  const edge = { paths, stroke: "transparent", points: { show: false } };
  return {
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    hooks: { setCursor: [(plot) => show(plot.cursor.idx ?? null)] },
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
      { label: "was expected", stroke: color("--accent"), width: 1.5, dash: [5, 4], points: { show: false } },
      { stroke: "transparent", points: { show: false } },
      { stroke: "transparent", points: { show: false } },
    ],
    bands: [[3, 2], [7, 6]].filter((pair, i) => spreads[i]).map((series) => ({ series, fill: color("--fan") })),
  };
}

const nothing = [];

export function Fan({ signal, points, past, earlier = nothing, label }) {
  const data = useMemo(() => columnsOf(points, past, earlier), [points, past, earlier]);
  const [at, setAt] = useState(null);
  const spreads = [hasSpread(points), hasSpread(earlier)];
  const pointed = at === null || at >= data[0].length ? "" : readout(data, at, (value) => `${number(value, signal.digits)} ${signal.unit}`);
  return (
    <>
      <Plot optionsOf={(uPlot) => optionsOf(uPlot, signal, spreads, setAt)} data={data} label={label} />
      <p class="readout" aria-hidden="true">
        {pointed}
      </p>
    </>
  );
}
