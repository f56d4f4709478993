import { useMemo, useState } from "preact/hooks";
import { get, query, send } from "./api.js";
import { spansOf, wasCurtailed } from "./condition.js";
import { Curtail, Curtailments, useCurtailments } from "./curtailments.jsx";
import { ago, instant, intensity, money, number, power } from "./format.js";
import { Fan } from "./fan.jsx";
import { useResource } from "./live.js";
import { Confirm, Figures, Gpus, Notice, Price, Title, Waiting } from "./parts.jsx";
import { JobsTable } from "./jobs.jsx";
import { drainsOf } from "./past.js";
import { link } from "./router.js";
import { extremes, foreseenOf, offBy, reach, signals } from "./series.js";
import { Condition, Swatch, useSites } from "./sites.jsx";
import { OPEN } from "./states.js";
import { Table } from "./table.jsx";

const pools = [
  { id: "pool", title: "Pool", value: (p) => p.pool, cell: (p) => p.pool },
  { id: "model", title: "GPU", value: (p) => p.gpu_model, cell: (p) => p.gpu_model ?? "none" },
  {
    id: "gpus",
    title: "GPUs",
    numeric: true,
    value: (p) => p.gpus_free,
    cell: (p) => <Gpus free={p.gpus_free} total={p.gpus_total} />,
  },
  {
    id: "reserved",
    title: "Reserved",
    numeric: true,
    wide: true,
    value: (p) => p.gpus_reserved,
    cell: (p) => number(p.gpus_reserved),
  },
  {
    id: "nodes",
    title: "Nodes",
    numeric: true,
    wide: true,
    value: (p) => p.nodes,
    cell: (p) => `${number(p.nodes)} × ${number(p.gpus_per_node)}`,
  },
  {
    id: "price",
    title: "Price",
    numeric: true,
    value: (p) => p.price_usd_per_gpu_h,
    cell: (p) => <Price value={p.price_usd_per_gpu_h} />,
  },
  { id: "withheld", title: "Why not offered", cell: (p) => p.withheld ?? "–" },
];

// Why a site is not quite well, as sentences.
const warnings = (site) =>
  [
    site.draining && `It drains: ${site.drain_reason || "no reason was given"}. It gets no new work.`,
    site.curtailed_to_percent !== null &&
      `It is curtailed to ${number(site.curtailed_to_percent)} % of its GPU power until ${instant(site.curtailed_until)}. Jobs that would exceed that do not start there.`,
    site.state === "silent" && `It has been silent since ${instant(site.last_seen)}.`,
    site.refused && `The broker refused its agent at ${instant(site.refused_at)}: ${site.refused}.`,
    site.memory_lost_at && `Its agent came back at ${instant(site.memory_lost_at)} without its memory.`,
    site.unreconciled_at &&
      `It has not sent its inventory since the database was restored (${instant(site.unreconciled_at)}).`,
  ].filter(Boolean);

const Came = ({ expected, was }) => (
  <p class="legend">
    <span>
      <span class="sample-box used" aria-hidden="true" />
      came in the last 24 hours
    </span>
    {was && (
      <span>
        <span class="sample-box dashed was" aria-hidden="true" />
        {`was expected of them at ${instant(was)}`}
      </span>
    )}
    {expected && (
      <span>
        <span class="sample-box ahead" aria-hidden="true" />
        expected
      </span>
    )}
  </p>
);

function Series({ series, past }) {
  const signal = signals[series.signal] ?? { title: series.signal, unit: "", digits: 2 };
  const title = `${signal.title}${series.pool ? ` of pool ${series.pool}` : ""}`;
  const ends = useMemo(() => extremes(series.points), [series]);
  const value = (point) => `${number(point.value, signal.digits)} ${signal.unit}`;
  const first = series.errors[0];
  const earlier = past?.length > 0 ? series.earlier : null;
  const foreseen = useMemo(() => foreseenOf(earlier), [earlier]);
  const miss = useMemo(() => (past ? offBy(past, foreseen) : null), [past, foreseen]);
  if (!ends) return null;
  const text = reach(ends, value);
  const off = first && `${number(first.mean_absolute_error, signal.digits)} ${signal.unit}`;
  return (
    <section class={past?.length > 0 ? "series apart" : "series"}>
      <h3>
        {title} <small>{signal.unit}</small>
      </h3>
      <Fan signal={signal} points={series.points} past={past} earlier={foreseen} label={`${title}, ${past?.length ? "the last 24 hours and the " : ""}forecast. ${text}`} />
      {past?.length > 0 && <Came expected was={miss !== null && earlier.issued_at} />}
      <p>
        {text} {miss !== null && `What came was off what had been expected by ${number(miss, signal.digits)} ${signal.unit} on average. `}
        {off && `Forecasts up to ${first.horizon_h_to} h ahead were off by ${off} on average.`}
      </p>
      <p class="source">
        {[
          series.source && `Source: ${series.source}`,
          series.kind,
          series.estimated && "estimated",
          `issued ${ago(series.issued_at)}`,
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      <details>
        <summary>Numbers</summary>
        <Table
          caption={`${title}, ${signal.unit}`}
          rows={series.points}
          rowKey={(p) => p.time}
          columns={[
            { id: "time", title: "Hour", cell: (p) => instant(p.time) },
            { id: "value", title: "Expected", numeric: true, cell: (p) => number(p.value, signal.digits) },
            { id: "p10", title: "10 % below", numeric: true, cell: (p) => number(p.p10, signal.digits) },
            { id: "p90", title: "10 % above", numeric: true, cell: (p) => number(p.p90, signal.digits) },
          ]}
        />
      </details>
    </section>
  );
}

// What a signal was in the last 24 hours, as /v1/history has it.
const cameOf = (history, signal) => {
  const own = history?.sites[0]?.[signal] ?? [];
  const points = own.map((value, i) => ({ time: history.times[i], value }));
  return known(points).length ? points : []; // of a site that joined just now nothing came
};
const known = (points) => points.filter(({ value }) => value !== null);

// The price of a site that has sent no forecast of it.
function PastPrice({ points }) {
  const signal = signals.price_usd_per_gpu_h;
  const text = reach(extremes(points), (point) => money(point.value));
  return (
    <section class="series">
      <h3>
        {signal.title} <small>{signal.unit}</small>
      </h3>
      <Fan signal={{ ...signal, digits: 4 }} points={[]} past={points} label={`${signal.title}, the last 24 hours. ${text}`} />
      <Came />
      <p>{text}</p>
    </section>
  );
}

const wasDrained = ({ from, to }) =>
  `It was drained ${from ? `from ${instant(from)}` : "from before these hours"} ${to ? `to ${instant(to)}` : "until now"}.`;

const Orders = ({ history: { sites, times } }) =>
  [...drainsOf(sites[0], times).map(wasDrained), ...spansOf(sites[0].curtailed_to_percent, times).map(wasCurtailed)].map((text) => (
    <p key={text} class="source">
      {text}
    </p>
  ));

function Forecast({ name }) {
  const { data, error } = useResource(
    `forecast ${name}`,
    (signal) => get(`sites/${encodeURIComponent(name)}/forecast`, { signal }),
    { every: 300000 },
  );
  const history = useResource(`history ${name}`, (signal) => get(`history${query({ site: name })}`, { signal }), { every: 300000 });
  const came = useMemo(() => cameOf(history.data, "carbon_g_per_kwh"), [history.data]);
  const prices = useMemo(() => cameOf(history.data, "price_usd_per_gpu_h"), [history.data]);
  const wanted = Object.keys(signals).slice(0, 4);
  const shown = (data ?? [])
    .filter(({ signal, points }) => wanted.includes(signal) && points.length > 1)
    .sort((a, b) => wanted.indexOf(a.signal) - wanted.indexOf(b.signal));
  const priced = shown.filter(({ signal }) => signal === "price_usd_per_gpu_h");
  const pastOf = ({ signal, kind }) => {
    if (signal === "carbon_g_per_kwh" && kind !== "marginal") return came;
    return priced.length === 1 && signal === "price_usd_per_gpu_h" ? prices : undefined; // the history has the mean of the pools
  };
  const hasPast = (series) => pastOf(series)?.length > 0;
  const draw = (series) => <Series key={`${series.signal} ${series.pool} ${series.kind}`} series={series} past={pastOf(series)} />;
  return (
    <>
      <h2>
        Hours ahead, and the last 24 <small>UTC</small>
      </h2>
      <Notice error={error} what="Forecast" />
      {!data && !error && <Waiting what="the forecast" />}
      {data && shown.length === 0 && <p class="empty">This site has sent no forecast.</p>}
      {shown.filter(hasPast).map(draw)}
      <div class="grid">
        {shown.filter((series) => !hasPast(series)).map(draw)}
        {history.data && !priced.length && known(prices).length > 1 && <PastPrice points={prices} />}
      </div>
      {history.data?.sites.length > 0 && <Orders history={history.data} />}
    </>
  );
}

function Jobs({ name }) {
  const states = OPEN.filter((state) => state !== "queued" && state !== "held").join(",");
  const { data, error } = useResource(
    `jobs at ${name}`,
    (signal) => get(`jobs?state=${states}&limit=1000`, { signal }),
    { on: (event) => event.site === name || event.site === null },
  );
  const here = useMemo(() => (data?.jobs ?? []).filter(({ site }) => site === name), [data]);
  return (
    <>
      <h2>Jobs here</h2>
      <Notice error={error} what="Jobs" />
      {data ? (
        <JobsTable caption={`Jobs at ${name}`} jobs={here} empty="None of the jobs that you may see is here." without={["site", "start", "place"]} />
      ) : (
        !error && <Waiting what="the jobs" />
      )}
    </>
  );
}

function Drain({ site, reload }) {
  const [ask, setAsk] = useState(null);
  const [problem, setProblem] = useState(null);
  const command = (verb) => async (reason) => {
    try {
      await send("POST", `sites/${encodeURIComponent(site.site)}/${verb}`, reason ? { reason } : {});
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
    reload();
  };
  const drain = {
    title: `Drain ${site.site}?`,
    text: "It gets no new work. Jobs that run there go on.",
    field: "Reason",
    verb: "Drain",
    run: command("drain"),
  };
  const undrain = {
    title: `Undrain ${site.site}?`,
    text: "It gets new work again.",
    verb: "Undrain",
    run: command("undrain"),
  };
  return (
    <>
      <button type="button" onClick={() => setAsk(site.draining ? undrain : drain)}>
        {site.draining ? "Undrain" : "Drain"}
      </button>
      <Confirm ask={ask} close={() => setAsk(null)} />
      <Notice error={problem} what="Drain" />
    </>
  );
}

export function SitePage({ name, who }) {
  const { data, error, reload } = useSites();
  const curtailments = useCurtailments(who, name);
  const site = data?.find((each) => each.site === name);
  const commands = site && who && who.role !== "user";
  const reloadAll = () => {
    reload();
    curtailments.reload();
  };
  if (data && !site)
    return (
      <>
        <Title text={name} />
        <p class="notice">No site is named {name}.</p>
      </>
    );
  return (
    <>
      <div class="heading">
        <Title text={name} />
        {site && <Condition site={site} />}
        {site && (
          <a class="button" href={`${link("whatif")}?drain=${encodeURIComponent(name)}`}>
            What if it drained …
          </a>
        )}
        {commands && <Drain site={site} reload={reload} />}
        {commands && <Curtail site={name} list={curtailments.data} reload={reloadAll} />}
      </div>
      <Notice error={error} what="Site" />
      {!site && !error && <Waiting what="the site" />}
      {site &&
        warnings(site).map((text) => (
          <p key={text} class="notice">
            {text}
          </p>
        ))}
      {site && (
        <Figures
          of={[
            [
              "Carbon",
              <>
                <Swatch grams={site.carbon_g_per_kwh} />
                {intensity(site.carbon_g_per_kwh)}
              </>,
            ],
            [
              "Electricity",
              site.electricity_usd_per_kwh === null ? "–" : `${money(site.electricity_usd_per_kwh)} /kWh`,
            ],
            ["Price", <Price value={site.price_usd_per_gpu_h} />],
            ["GPUs free", number(site.gpus_free), ` of ${number(site.gpus_total)}`],
            ["Jobs running", number(site.jobs_running), site.jobs_queued > 0 && ` ${number(site.jobs_queued)} in its queue`],
            ["Power", power(site.power_watts)],
            ["PUE", number(site.pue, 2)],
            ["Region", site.region ?? "–"],
            ["Backend", site.backend ?? "–", site.agent_version && ` agent ${site.agent_version}`],
            ["Time zone", site.timezone?.replace("/", "/\u200b") ?? "–"],
            ["Last seen", ago(site.last_seen)],
          ]}
        />
      )}
      {site && (
        <>
          <h2>Pools</h2>
          <Table
            caption={`Pools of ${name}`}
            columns={pools}
            rows={site.pools}
            rowKey={(p) => p.pool}
            empty="It offers no pool."
          />
        </>
      )}
      <Curtailments list={curtailments.data} of={name} />
      <Forecast name={name} />
      <Jobs name={name} />
    </>
  );
}
