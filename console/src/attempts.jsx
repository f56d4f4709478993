// The attempts of a job one after the other, what each cost, and what the job saved against both baselines.
import { get } from "./api.js";
import { carbon, duration, energy, instant, money, number } from "./format.js";
import { useResource } from "./live.js";
import { Figures, Notice } from "./parts.jsx";
import { link } from "./router.js";
import { Table } from "./table.jsx";

const ends = (a) => {
  if (!a.end) return "goes on";
  const how = a.end === "ended" ? (a.exit_code === null ? "ended" : `exit code ${a.exit_code}`) : a.end;
  return a.fenced ? `${how}, fenced` : how;
};

const figure = (key, text) => ({
  value: (a) => a[key],
  cell: (a) => (
    <>
      {a[key] === null ? "–" : text(a[key])}
      {a[`planned_${key}`] !== undefined && <small> {text(a[`planned_${key}`])}</small>}
    </>
  ),
});

const columns = [
  {
    id: "epoch",
    title: "Attempt",
    cell: (a) => (a.task === null ? number(a.epoch) : `task ${a.task}, ${number(a.epoch)}`),
  },
  {
    id: "site",
    title: "Site",
    cell: (a) => (
      <>
        <a href={link("sites", a.site)}>{a.site}</a>
        <small> {a.pool}</small>
      </>
    ),
  },
  { id: "placed", title: "Placed", wide: true, cell: (a) => instant(a.placed_at) },
  { id: "ran", title: "Ran", numeric: true, cell: (a) => duration(a.run_seconds ?? a.runs_for) },
  {
    id: "end",
    title: "End",
    cell: (a) => (
      <span class="why" title={a.reason ?? ""}>
        {ends(a)}
        {a.reason && a.end !== "ended" ? `: ${a.reason}` : ""}
      </span>
    ),
  },
  { id: "cost", title: "Cost, planned", numeric: true, ...figure("cost_usd", money) },
  { id: "energy", title: "Energy, planned", numeric: true, wide: true, ...figure("energy_kwh", energy) },
  { id: "carbon", title: "CO₂e, planned", numeric: true, ...figure("carbon_g", carbon) },
  {
    id: "by",
    title: "Energy by",
    wide: true,
    cell: (a) => (a.energy_measured === null ? "–" : a.energy_measured ? "measured" : "model"),
  },
].map(({ value, ...column }) => column); // in their order

const less = (value, text) => {
  if (value === null) return "–";
  const shown = text(Math.abs(value));
  return shown === text(0) ? "the same" : `${shown} ${value < 0 ? "more" : "less"}`;
};
const titles = { home: "home", "least-wait": "least wait" };

const savedOf = (savings) =>
  savings.flatMap((s) => {
    const note = ` ${[s.site, s.estimated && "estimated"].filter(Boolean).join(", ")}`;
    const against = `against ${titles[s.baseline]}`;
    return [
      [`Cost ${against}`, less(s.saved_cost_usd, money), note],
      [`CO₂e ${against}`, less(s.saved_carbon_g, carbon), ` ${s.carbon_kind ?? "intensity unknown"}`],
      [`Waited ${against}`, less(s.saved_wait_seconds, duration)],
    ];
  });

// The attempt that goes on has run since the job's last start.
const withRun = (attempts, { epoch, state, started_at: start }) =>
  attempts.map((a) =>
    a.end || a.epoch !== epoch || state !== "running" || !start ? a : { ...a, runs_for: (Date.now() - Date.parse(start)) / 1000 },
  );

export function Attempts({ id, mine, job }) {
  const { data, error } = useResource(
    `attempts ${id}`,
    (signal) => get(`jobs/${encodeURIComponent(id)}/attempts`, { signal }),
    { every: 30000, on: mine },
  );
  const saved = (data?.savings ?? []).filter(({ task }) => task === null || data.savings.length <= 2);
  return (
    <>
      {saved.length > 0 && (
        <>
          <h2>Saved</h2>
          <Figures of={savedOf(saved)} />
        </>
      )}
      <Notice error={error} what="Attempts" />
      {data && data.attempts.length > 0 && (
        <>
          <h2>Attempts</h2>
          <Table
            caption="Attempts"
            rows={withRun(data.attempts, job)}
            rowKey={(a) => `${a.task} ${a.epoch}`}
            columns={columns}
            empty=""
          />
        </>
      )}
    </>
  );
}
