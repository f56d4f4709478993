// Who waits, for what, and what runs.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, query } from "./api.js";
import { CancelShown, EditShown } from "./bulk.jsx";
import { ago, duration, number, plural, shortId } from "./format.js";
import { found, groupings, groupsOf, isIn } from "./groups.js";
import { JobsTable } from "./jobs.jsx";
import { useEvents, useResource } from "./live.js";
import { inOrder, placesOf, whyFirst } from "./order.js";
import { reasonsOf } from "./reasons.js";
import { Patches } from "./patches.js";
import { Notice, Title, Waiting } from "./parts.jsx";
import { link, setValues } from "./router.js";
import { ENDED, OPEN } from "./states.js";
import { Table } from "./table.jsx";

const PAGE = 1000;
const PLACES = 10000; // in the broker's order
const PAGES = 12; // 12,000 jobs; filters narrow what is more
const views = {
  waiting: ["queued", "held"],
  running: OPEN.filter((state) => state !== "queued" && state !== "held"),
  open: OPEN,
  ended: ENDED,
};

async function readJobs(values, signal) {
  const states = views[values.view] ?? views.open;
  const pages = states === ENDED ? 1 : PAGES;
  const jobs = [];
  const asked = Date.now();
  let cursor = "";
  for (let i = 0; i < pages; i++) {
    const page = await get(
      `jobs${query({ state: states.join(","), queue: values.queue, name: values.name, limit: PAGE, cursor })}`,
      { signal },
    );
    jobs.push(...page.jobs);
    cursor = page.next ?? "";
    if (!cursor) break;
  }
  return { jobs, asked, more: Boolean(cursor) };
}

// The list as it was read, with what the events since then say of its jobs: they come in bursts, and one of them changes little.
function usePatched(data, states) {
  const patches = useRef(null);
  patches.current ??= new Patches();
  const [version, setVersion] = useState(0);
  const timer = useRef(0);
  useEvents((event) => {
    if (!event) return;
    patches.current.take(event);
    timer.current ||= setTimeout(() => {
      timer.current = 0;
      setVersion((old) => old + 1);
    }, 250);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return useMemo(() => {
    if (!data) return null;
    patches.current.forget(data.asked);
    return { ...data, jobs: patches.current.apply(data.jobs, states) };
  }, [data, version]);
}

const queues = [
  { id: "queue", title: "Queue", value: (q) => q.queue, cell: (q) => q.queue },
  { id: "priority", title: "Priority", numeric: true, value: (q) => q.priority, cell: (q) => number(q.priority) },
  { id: "tier", title: "Tier", wide: true, value: (q) => q.tier, cell: (q) => q.tier },
  { id: "queued", title: "Waiting", numeric: true, value: (q) => q.queued, cell: (q) => number(q.queued) },
  {
    id: "gpus",
    title: "GPUs waiting",
    numeric: true,
    wide: true,
    value: (q) => q.gpus_queued,
    cell: (q) => number(q.gpus_queued),
  },
  { id: "running", title: "Running", numeric: true, value: (q) => q.running, cell: (q) => number(q.running) },
  {
    id: "busy",
    title: "GPUs running",
    numeric: true,
    wide: true,
    value: (q) => q.gpus_running,
    cell: (q) => number(q.gpus_running),
  },
  { id: "held", title: "Held", numeric: true, value: (q) => q.held, cell: (q) => number(q.held) },
  {
    id: "limit",
    title: "Default limit",
    numeric: true,
    wide: true,
    value: (q) => q.time_limit_s,
    cell: (q) => duration(q.time_limit_s),
  },
];

const shares = [
  { id: "tenant", title: "Tenant", value: (t) => t.tenant, cell: (t) => t.tenant },
  { id: "jobs", title: "Waiting", numeric: true, value: (t) => t.jobs, cell: (t) => number(t.jobs) },
  { id: "used", title: "Use per weight", numeric: true, value: (t) => t.used_a100_per_weight, cell: (t) => number(t.used_a100_per_weight, 1) },
  { id: "weight", title: "Weight", numeric: true, value: (t) => t.weight, cell: (t) => number(t.weight, Number.isInteger(t.weight) ? 0 : 1) },
  { id: "gpus", title: "GPUs now", numeric: true, value: (t) => t.gpus, cell: (t) => number(t.gpus) },
  { id: "guaranteed", title: "Guaranteed", numeric: true, wide: true, value: (t) => t.guaranteed_gpus, cell: (t) => number(t.guaranteed_gpus) },
];

// Who is next and why, and by what the tenants are compared.
function Next({ order, jobs }) {
  const [turn] = order?.order ?? [];
  if (!turn) return null;
  const job = jobs.find(({ id }) => id === turn.ids[0]);
  return (
    <>
      <h2>Who is next</h2>
      <p>
        {turn.ids.length ? (
          <>
            <a href={link("jobs", turn.ids[0])}>{job?.name ?? shortId(turn.ids[0])}</a> of {turn.tenant} in {turn.queue}, since {whyFirst(turn)}.
          </>
        ) : (
          `A job of another tenant in ${turn.queue}.`
        )}
        {order.jobs > PLACES && ` The first ${number(PLACES)} of ${number(order.jobs)} jobs have a place.`}
      </p>
      <Table
        caption="Tenants that wait for room"
        columns={shares}
        rows={order.tenants}
        rowKey={(t) => t.tenant}
        sort={{ id: "used", down: false }}
        empty="No job of a tenant that you see waits for room."
      />
      <p class="source">
        Use is what a tenant holds and its recent average, in A100: of the tenants in queues of one tier and priority, the one with the least
        for its weight is next, once all guarantees are met.
      </p>
    </>
  );
}

const groupColumns = (title, open) => [
  {
    id: "group",
    title,
    value: (g) => g.group,
    cell: (g) => (
      <button type="button" class="in-row" onClick={() => open(g.group)}>
        {g.group}
      </button>
    ),
  },
  { id: "jobs", title: "Jobs", numeric: true, value: (g) => g.jobs, cell: (g) => number(g.jobs) },
  { id: "waiting", title: "Waiting", numeric: true, value: (g) => g.waiting, cell: (g) => number(g.waiting) },
  { id: "gpus", title: "GPUs waiting", numeric: true, value: (g) => g.gpus_waiting, cell: (g) => number(g.gpus_waiting) },
  { id: "running", title: "At a site", numeric: true, value: (g) => g.running, cell: (g) => number(g.running) },
  { id: "busy", title: "GPUs there", numeric: true, wide: true, value: (g) => g.gpus_running, cell: (g) => number(g.gpus_running) },
  { id: "oldest", title: "Oldest", numeric: true, value: (g) => -Date.parse(g.oldest), cell: (g) => ago(g.oldest) },
];
const endedColumns = (columns) => columns.filter(({ id }) => id === "group" || id === "jobs" || id === "oldest");

// What is being typed is kept while the page is drawn anew for an event. The search goes on at each key, and tells its place a moment later.
function Search({ value, set }) {
  const [draft, setDraft] = useState(value);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <input
      type="search"
      value={draft}
      placeholder="name, id, user, site …"
      autoComplete="off"
      spellcheck={false}
      onInput={(event) => {
        const text = event.target.value;
        setDraft(text);
        clearTimeout(timer.current);
        timer.current = setTimeout(() => set(text.trim()), 150);
      }}
    />
  );
}

function NameFilter({ value, set }) {
  const [draft, setDraft] = useState(value);
  return (
    <input
      type="search"
      value={draft}
      placeholder="exact name"
      autoComplete="off"
      spellcheck={false}
      onInput={(event) => setDraft(event.target.value)}
      onChange={(event) => set(event.target.value.trim())}
    />
  );
}

const Filters = ({ values, names }) => {
  const latest = useRef(values);
  latest.current = values;
  const set = (part) => setValues({ ...latest.current, ...part });
  return (
    <form class="filters" onSubmit={(event) => event.preventDefault()} role="search" aria-label="Jobs">
      <label>
        Show
        <select value={values.view ?? "open"} onChange={(event) => set({ view: event.target.value })}>
          {Object.keys(views).map((view) => (
            <option key={view} value={view}>
              {view}
            </option>
          ))}
        </select>
      </label>
      <label>
        Queue
        <select value={values.queue ?? ""} onChange={(event) => set({ queue: event.target.value })}>
          <option value="">all</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        Name
        <NameFilter key={values.name} value={values.name ?? ""} set={(name) => set({ name })} />
      </label>
      <label>
        Search
        <Search value={values.find ?? ""} set={(find) => set({ find })} />
      </label>
      <label>
        Group by
        <select value={values.by ?? ""} onChange={(event) => set({ by: event.target.value, in: "" })}>
          <option value="">nothing</option>
          {Object.entries(groupings).map(([by, [title]]) => (
            <option key={by} value={by}>
              {title}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
};

const Reasons = ({ jobs, values }) => {
  const reasons = reasonsOf(jobs);
  if (reasons.length === 0) return null;
  return (
    <ul class="chips" aria-label="Reasons of waiting jobs">
      {reasons.map(([reason, count]) => (
        <li key={reason}>
          <button
            type="button"
            aria-pressed={values.reason === reason ? "true" : "false"}
            onClick={() => setValues({ ...values, reason: values.reason === reason ? "" : reason })}
          >
            {reason} <b>{number(count)}</b>
          </button>
        </li>
      ))}
    </ul>
  );
};

export function QueuePage({ values }) {
  const key = `jobs ${values.view} ${values.queue} ${values.name}`;
  const { data: read, error, reload } = useResource(key, (signal) => readJobs(values, signal), {
    on: () => true,
    every: 30000,
  });
  const data = usePatched(read, views[values.view] ?? views.open);
  const lines = useResource("queues", (signal) => get("queues", { signal }), { on: () => true, every: 30000 });
  const order = useResource("order", (signal) => get("order", { signal }), { on: () => true, every: 30000 });
  const places = useMemo(() => placesOf(order.data), [order.data]);
  const by = groupings[values.by] ? values.by : "";
  const group = by && values.in !== undefined ? values.in : null;
  const jobs = useMemo(
    () =>
      found(data?.jobs ?? [], values.find ?? "").filter(
        (job) => (!values.reason || (job.reason ?? "Queued") === values.reason) && (group === null || isIn(job, by, group)),
      ),
    [data, values.reason, values.find, by, group],
  );
  const isOpen = (values.view ?? "open") !== "ended";
  const listed = useMemo(() => {
    const waits = ({ state }) => state === "queued" || state === "held";
    const shown = isOpen ? inOrder(jobs, lines.data ?? [], places) : jobs;
    return shown.map((job) => (waits(job) && places.has(job.id) ? { ...job, place: places.get(job.id) } : job));
  }, [jobs, isOpen, lines.data, places]);
  const groups = useMemo(() => (by && group === null ? groupsOf(jobs, by) : null), [jobs, by, group]);
  const columns = by && groupColumns(groupings[by][0], (name) => setValues({ ...values, in: name }));
  return (
    <>
      <Title text="Queue" />
      <Notice error={error ?? lines.error} what="Jobs" />
      <Filters values={values} names={(lines.data ?? []).map(({ queue }) => queue)} />
      {data && <Reasons jobs={data.jobs} values={values} />}
      {data && (
        <p class="summary" role="status">
          {plural(jobs.length, "job")}
          {groups && ` in ${plural(groups.length, "group")}`}
          {data.more ? ` of more than ${number(data.jobs.length)}: filters show the others` : ""}
        </p>
      )}
      {data && group !== null && (
        <p>
          <button type="button" onClick={() => setValues({ ...values, in: "" })}>
            Back to all groups
          </button>{" "}
          {groupings[by][0]}: <b>{group}</b>
        </p>
      )}
      {isOpen && !groups && jobs.length > 1 && (
        <p class="source">
          Who waits for room stands first, at its place in the scheduling order: as if each job were placed when its turn comes. Whether there is
          room for a job plays no part in it; the page of a job says which jobs are ahead of it. The small number is what its
          tenant has used for its weight. What waits for something else has no place.
        </p>
      )}
      {groups ? (
        <Table
          key={by}
          caption="Groups"
          columns={isOpen ? columns : endedColumns(columns)}
          rows={groups}
          rowKey={(g) => g.group}
          sort={{ id: "jobs", down: true }}
          empty="No job is in one of these states."
        />
      ) : data ? (
        <JobsTable
          key={isOpen}
          caption="Jobs"
          jobs={listed}
          sort={isOpen ? null : { id: "age", down: false }}
          without={isOpen ? [] : ["start", "place"]}
          empty={data.jobs.length ? "No job is found by these filters." : "No job is in one of these states."}
        />
      ) : (
        !error && <Waiting what="the jobs" />
      )}
      {data && isOpen && (
        <p class="buttons">
          <EditShown jobs={jobs} reload={reload} />
          <CancelShown jobs={jobs} reload={reload} />
        </p>
      )}
      {isOpen && data && <Next order={order.data} jobs={data.jobs} />}
      <h2>Queues</h2>
      {lines.data && (
        <Table
          caption="Queues"
          columns={queues}
          rows={lines.data}
          rowKey={(q) => q.queue}
          sort={{ id: "priority", down: true }}
          empty="There is no queue."
        />
      )}
    </>
  );
}
