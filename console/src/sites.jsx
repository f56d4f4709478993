import { get } from "./api.js";
import { conditionsOf, conditionWords } from "./condition.js";
import { Curtailments, useCurtailments } from "./curtailments.jsx";
import { ago, intensity, money, number } from "./format.js";
import { useResource } from "./live.js";
import { Gpus, Notice, Title, Waiting } from "./parts.jsx";
import { rampColor, rgb } from "./ramp.js";
import { link } from "./router.js";
import { Table } from "./table.jsx";

export const useSites = () =>
  useResource("sites", (signal) => get("sites", { signal }), { every: 5000, on: () => true });

export const Swatch = ({ grams }) => (
  <span class="swatch" aria-hidden="true" style={{ background: rgb(rampColor(grams)) }} />
);

export const Condition = ({ site }) =>
  conditionsOf(site).map(({ word, group, sign }, i) => (
    <span key={word} class={`state ${group}`}>
      {i > 0 && ", "}
      <span aria-hidden="true">{sign}</span> {word}
    </span>
  ));

const columns = [
  { id: "site", title: "Site", value: (s) => s.site, cell: (s) => <a href={link("sites", s.site)}>{s.site}</a> },
  {
    id: "state",
    title: "State",
    value: conditionWords,
    cell: (s) => <Condition site={s} />,
  },
  {
    id: "carbon",
    title: "Carbon",
    numeric: true,
    value: (s) => s.carbon_g_per_kwh,
    cell: (s) => (
      <>
        <Swatch grams={s.carbon_g_per_kwh} />
        {intensity(s.carbon_g_per_kwh)}
      </>
    ),
  },
  {
    id: "price",
    title: "Price per GPU h",
    numeric: true,
    value: (s) => s.price_usd_per_gpu_h,
    cell: (s) => money(s.price_usd_per_gpu_h),
  },
  {
    id: "gpus",
    title: "GPUs",
    numeric: true,
    value: (s) => s.gpus_free,
    cell: (s) => <Gpus free={s.gpus_free} total={s.gpus_total} />,
  },
  { id: "jobs", title: "Running", numeric: true, value: (s) => s.jobs_running, cell: (s) => number(s.jobs_running) },
  {
    id: "queued",
    title: "Queued",
    numeric: true,
    wide: true,
    value: (s) => s.jobs_queued,
    cell: (s) => number(s.jobs_queued),
  },
  { id: "pue", title: "PUE", numeric: true, wide: true, value: (s) => s.pue, cell: (s) => number(s.pue, 2) },
  { id: "region", title: "Region", wide: true, value: (s) => s.region, cell: (s) => s.region ?? "–" },
  { id: "backend", title: "Backend", wide: true, value: (s) => s.backend, cell: (s) => s.backend ?? "–" },
  { id: "seen", title: "Last seen", wide: true, value: (s) => s.last_seen, cell: (s) => ago(s.last_seen) },
];

const ofThen = ["site", "state", "carbon", "price", "gpus", "jobs", "region"];

// past: as the sites were then, without what nobody keeps.
export const SitesTable = ({ sites, sort, past }) => (
  <Table
    caption="Sites"
    columns={past ? columns.filter(({ id }) => ofThen.includes(id)) : columns}
    rows={sites}
    rowKey={(s) => s.site}
    sort={sort}
    empty="No site has connected. helio-agent keygen and helio site add enrol one."
  />
);

export function SitesPage({ who }) {
  const { data, error } = useSites();
  const curtailments = useCurtailments(who);
  return (
    <>
      <Title text="Sites" />
      <Notice error={error} what="Sites" />
      {data ? <SitesTable sites={data} sort={{ id: "carbon", down: false }} /> : !error && <Waiting what="the sites" />}
      <Curtailments list={curtailments.data} />
    </>
  );
}
