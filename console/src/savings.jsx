// What the federation saved: against both baselines, by day and by team, with what the figures rest on.
import { useMemo, useState } from "preact/hooks";
import { get } from "./api.js";
import { number, plural } from "./format.js";
import { useResource } from "./live.js";
import { Choice, Notice, Title, Waiting } from "./parts.jsx";
import { axis, color, fromZero, Plot } from "./plot.jsx";
import { setValues } from "./router.js";
import { baselines, byDay, byTeam, counted, digitsOf, estimatedOf, kindsOf, ofTeam, quantities, scaleOf, shareSaved, sumsOf } from "./savings.js";
import { Table } from "./table.jsx";

const spans = ["7", "30", "90", "365"];
const names = Object.keys(baselines);
const signed = (value, text) => `${value < 0 ? "−" : ""}${text(Math.abs(value))}`;
const said = (value, text) => (value < 0 ? `${text(-value)} more` : `${text(value)} less`);

function Against({ name, sum, quantity }) {
  const { title, says } = baselines[name];
  return (
    <section class={`against ${name}`} aria-label={`Against ${title}`}>
      <h2>
        Against {title} <small>{says}</small>
      </h2>
      {sum ? (
        <>
          <p class="large">
            {said(sum.saved, quantity.text)} {shareSaved(sum) && <small>{shareSaved(sum)}</small>}
          </p>
          <p>
            {quantity.text(sum.used)} instead of {quantity.text(sum.would)}, in {plural(sum.jobs, "job")}
          </p>
        </>
      ) : (
        <p class="empty">Nothing to compare yet.</p>
      )}
    </section>
  );
}

const HALF_DAY_S = 43200;
const days = (plot, ticks) => ticks.map((at) => new Date(at * 1000).toISOString().slice(5, 10));

const frame = (uPlot, factor, show) => ({
  tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
  legend: { show: false },
  cursor: { y: false, drag: { x: false, y: false }, points: { show: false }, sync: { key: "savings" } },
  hooks: { setCursor: [(plot) => show(plot.cursor.idx ?? null)] },
  scales: { x: { time: true, range: (plot, first, last) => [first - HALF_DAY_S, last + HALF_DAY_S] }, y: { range: fromZero } },
  axes: [
    { ...axis(), values: days, space: 56, size: 28, incrs: [1, 2, 3, 7, 14, 30, 60, 90].map((n) => n * 86400) },
    {
      ...axis(),
      size: 60,
      values: (plot, ticks, axisAt, space, step) => ticks.map((value) => number(value / factor, digitsOf(step / factor))),
    },
  ],
});

// The bars of one day stand beside each other.
const bars = (uPlot, factor, show) => {
  const bar = (name, align) => ({
    fill: color(`--${name}`),
    stroke: color(`--${name}`),
    width: 0,
    points: { show: false },
    paths: uPlot.paths.bars({ size: [0.36, 36], align, gap: 1 }),
  });
  return { ...frame(uPlot, factor, show), series: [{}, bar("home", -1), bar("least-wait", 1)] };
};

const lines = (uPlot, factor, show, baseline) => ({
  ...frame(uPlot, factor, show),
  series: [
    {},
    { stroke: color(`--${baseline}`), width: 2, dash: [6, 4], points: { size: 5 } },
    { stroke: color("--used"), fill: color("--used-area"), width: 2, points: { size: 5 } },
  ],
});

const Sample = ({ of }) => <span class={`sample-box ${of}`} aria-hidden="true" />;

function Chart({ title, unit, legend, data, optionsOf, label, readout, idle }) {
  const [at, setAt] = useState(null);
  return (
    <section class="series">
      <h3>
        {title} <small>{unit}</small>
      </h3>
      <p class="legend">{legend}</p>
      <Plot optionsOf={(uPlot) => optionsOf(uPlot, setAt)} data={data} label={label} height={220} />
      <p class="readout">{at === null ? idle : readout(at)}</p>
    </section>
  );
}

function Charts({ rows, quantity, baseline }) {
  const { factor, unit } = useMemo(
    () => scaleOf(rows.flatMap((row) => names.map((name) => row[name]?.would)), quantity),
    [rows],
  );
  const x = rows.map(({ day }) => Date.parse(day) / 1000);
  const savedData = useMemo(() => [x, ...names.map((name) => rows.map((row) => row[name]?.saved ?? null))], [rows]);
  const usedData = useMemo(
    () => [x, ...["would", "used"].map((part) => rows.map((row) => row[baseline]?.[part] ?? null))],
    [rows, baseline],
  );
  const { title } = baselines[baseline];
  const best = rows.reduce((a, b) => ((b[baseline]?.saved ?? -Infinity) > (a[baseline]?.saved ?? -Infinity) ? b : a));
  const most = best[baseline] ? `Most against ${title} on ${best.day}: ${said(best[baseline].saved, quantity.text)}.` : "";
  const one = (row) => names.map((name) => `against ${baselines[name].title} ${row[name] ? signed(row[name].saved, quantity.text) : "–"}`);
  return (
    <div class="grid">
      <Chart
        title="Saved by day"
        unit={`${quantity.title}, ${unit}, UTC`}
        legend={names.map((name) => (
          <span key={name}>
            <Sample of={name} />
            against {baselines[name].title}
          </span>
        ))}
        data={savedData}
        optionsOf={(uPlot, show) => bars(uPlot, factor, show)}
        label={`${quantity.title} saved by day against both baselines. ${most}`}
        readout={(at) => `${rows[at].day}: ${one(rows[at]).join(", ")}`}
        idle={most || "Nothing was saved in these days."}
      />
      <Chart
        title={`Used, and what ${title} would have used`}
        unit={`${quantity.title}, ${unit}, UTC`}
        legend={[
          <span key="used">
            <Sample of="used" />
            used
          </span>,
          <span key="would">
            <Sample of={`dashed ${baseline}`} />
            {title}
          </span>,
        ]}
        data={usedData}
        optionsOf={(uPlot, show) => lines(uPlot, factor, show, baseline)}
        label={`${quantity.title} by day: what the jobs used, and what they would have used by the baseline ${title}.`}
        readout={(at) =>
          rows[at][baseline]
            ? `${rows[at].day}: used ${quantity.text(rows[at][baseline].used)}, ${title} ${quantity.text(rows[at][baseline].would)}`
            : `${rows[at].day}: nothing to compare`
        }
        idle="Only jobs that can be compared with this baseline are in both lines."
      />
    </div>
  );
}

// What was used lies within what would have been; where it is more, it goes beyond.
function Teams({ teams, quantity, baseline, team, choose }) {
  const known = teams.filter((team) => team[baseline]);
  const most = Math.max(1e-12, ...known.flatMap((team) => [team[baseline].used, team[baseline].would]));
  const width = (value) => ({ width: `${(100 * Math.max(0, value)) / most}%` });
  return (
    <>
      <h2>
        By team <small>against {baselines[baseline].title}; a name shows its days above</small>
      </h2>
      {known.length === 0 && <p class="empty">No team has a job to compare.</p>}
      <ul class="teams-saved">
        {known.slice(0, 40).map(({ tenant, [baseline]: sum }) => (
          <li key={tenant}>
            <b>
              <button type="button" class="in-row" aria-pressed={tenant === team ? "true" : "false"} onClick={() => choose(tenant === team ? "" : tenant)}>
                {tenant}
              </button>
            </b>
            <span class="twin" aria-hidden="true">
              <span class={`would ${baseline}`} style={width(sum.would)} />
              <span class="used" style={width(sum.used)} />
            </span>
            <span class="numbers">
              <b>{said(sum.saved, quantity.text)}</b>
              <small>
                {shareSaved(sum) && ` ${shareSaved(sum)} ·`} {quantity.text(sum.used)} of {quantity.text(sum.would)}
              </small>
            </span>
          </li>
        ))}
      </ul>
      {known.length > 40 && <p class="empty">{plural(known.length - 40, "more team")} in the numbers below.</p>}
    </>
  );
}

const columnsOf = ({ key, text }) => [
  { id: "day", title: "Day", value: (l) => l.day, cell: (l) => l.day },
  { id: "team", title: "Team", value: (l) => l.tenant, cell: (l) => l.tenant },
  { id: "baseline", title: "Baseline", value: (l) => l.baseline, cell: (l) => l.baseline },
  { id: "kind", title: "Intensity", wide: true, value: (l) => l.carbon_kind, cell: (l) => l.carbon_kind ?? "unknown" },
  { id: "jobs", title: "Jobs", numeric: true, value: (l) => l.jobs, cell: (l) => number(l.jobs) },
  {
    id: "estimated",
    title: "Estimated",
    numeric: true,
    wide: true,
    value: (l) => l.jobs_estimated,
    cell: (l) => number(l.jobs_estimated),
  },
  ...[
    ["used", "Used"],
    ["baseline", "Would have used"],
    ["saved", "Saved"],
  ].map(([part, title]) => ({
    id: `${part} figure`,
    title,
    numeric: true,
    value: (l) => l[`${part}_${key}`],
    cell: (l) => (l[`${part}_${key}`] == null ? "–" : signed(l[`${part}_${key}`], text)),
  })),
];

const percent = (share) => (share > 0 && share < 0.01 ? "under 1 %" : `${number(100 * share)} %`);

// What the figures rest on, in words.
function Provenance({ report, sums, of, kind, kinds, unknown, team }) {
  const { measured, estimated: guessed, gpuHours } = estimatedOf(ofTeam(report.usage, team));
  const compared = Math.max(0, ...names.map((name) => sums[name]?.jobs ?? 0));
  const estimated = Math.max(0, ...names.map((name) => sums[name]?.estimated ?? 0));
  const parts = [
    `Both baselines assume the run time of the job's last attempt and the prices of the hours in which it would have run.`,
    of === "carbon" && kind && `Intensity: ${kind}, on both sides${kinds.length > 1 ? "; grams of other kinds are not added" : ""}.`,
    of === "carbon" && unknown > 0 && `${plural(unknown, "line")} of days without a known intensity ${unknown === 1 ? "is" : "are"} left out.`,
    estimated > 0 && `${plural(estimated, "job")} of ${number(compared)} ${estimated === 1 ? "has" : "have"} an estimated figure.`,
    of !== "wait" && measured === 0 && "The energy used in these days is by the model of power; none of it was measured.",
    of !== "wait" && measured > 0 && `Of the energy used in these days ${percent(measured)} was measured, the rest is by the model of power.`,
    of === "carbon" && guessed > 0 && `Of that energy ${percent(guessed)} has an estimated intensity.`,
    gpuHours > 0 && `${number(gpuHours, 1)} GPU hours are of attempts whose end nobody saw.`,
    !team && report.jobs_not_at_home > 0 && `${plural(report.jobs_not_at_home, "job")} could not have run at home, and ${report.jobs_not_at_home === 1 ? "is" : "are"} in no figure against home.`,
    `What fenced attempts used counts against both.`,
  ];
  return <p class="source">{parts.filter(Boolean).join(" ")}</p>;
}

export function SavingsPage({ values }) {
  const span = spans.includes(values.days) ? values.days : "30";
  const of = quantities[values.of] ? values.of : "carbon";
  const baseline = baselines[values.baseline] ? values.baseline : "home";
  const quantity = quantities[of];
  const { data, error } = useResource(`report ${span}`, (signal) => get(`report?days=${span}`, { signal }), {
    every: 60000,
    on: (event) => ["succeeded", "failed", "timeout"].includes(event.to),
  });
  const kinds = useMemo(() => kindsOf(data?.baselines ?? []), [data]);
  const kind = kinds.includes(values.kind) ? values.kind : kinds[0];
  const all = useMemo(() => counted(data?.baselines ?? [], of, kind), [data, of, kind]);
  const team = all.some(({ tenant }) => tenant === values.team) ? values.team : "";
  const own = useMemo(() => ofTeam(all, team), [all, team]);
  const rows = useMemo(() => byDay(own, quantity.key, Number(span), Date.now()), [own, quantity, span]);
  const teams = useMemo(() => byTeam(all, quantity.key, baseline), [all, quantity, baseline]);
  const sums = useMemo(() => sumsOf(own, quantity.key), [own, quantity]);
  const set = (part) => setValues({ ...values, ...part });
  return (
    <>
      <Title text="Savings" />
      <Notice error={error} what="Savings" />
      <div class="filters">
        <Choice name="Quantity" value={of} set={(to) => set({ of: to })} of={Object.entries(quantities).map(([id, q]) => [id, q.title])} />
        <Choice name="Days" value={span} set={(to) => set({ days: to })} of={spans.map((each) => [each, each])} />
        <Choice name="Compare with" value={baseline} set={(to) => set({ baseline: to })} of={names.map((name) => [name, baselines[name].title])} />
        {of === "carbon" && kinds.length > 1 && (
          <Choice name="Intensity" value={kind} set={(to) => set({ kind: to })} of={kinds.map((each) => [each, each])} />
        )}
      </div>
      {!data && !error && <Waiting what="the report" />}
      {data && (
        <>
          {team && (
            <p>
              <button type="button" onClick={() => set({ team: "" })}>
                Back to all teams
              </button>{" "}
              Team: <b>{team}</b>
            </p>
          )}
          <div class="grid">
            {names.map((name) => (
              <Against key={name} name={name} sum={sums[name]} quantity={quantity} />
            ))}
          </div>
          <Provenance report={data} sums={sums} of={of} kind={kind} kinds={kinds} unknown={ofTeam(data.baselines, team).filter((line) => !line.carbon_kind).length} team={team} />
          <Charts rows={rows} quantity={quantity} baseline={baseline} />
          <Teams teams={teams} quantity={quantity} baseline={baseline} team={team} choose={(to) => set({ team: to })} />
          <details class="numbers">
            <summary>Numbers by day, team, baseline and intensity</summary>
            <Table
              caption="Savings by day and team"
              columns={columnsOf(quantity)}
              rows={ofTeam(data.baselines, team)}
              rowKey={(l) => `${l.day} ${l.tenant} ${l.baseline} ${l.carbon_kind}`}
              empty="No job that ended in these days can be compared."
            />
          </details>
        </>
      )}
    </>
  );
}
