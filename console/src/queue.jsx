// Who waits, for what, and what runs.
import { useMemo, useState } from "preact/hooks";
import { get, query, request } from "./api.js";
import { duration, number, plural } from "./format.js";
import { JobsTable } from "./jobs.jsx";
import { useResource } from "./live.js";
import { reasonsOf } from "./reasons.js";
import { Confirm, Notice, Title, Waiting } from "./parts.jsx";
import { setValues } from "./router.js";
import { ENDED, OPEN } from "./states.js";
import { Table } from "./table.jsx";

const PAGE = 1000;
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
  return { jobs, more: Boolean(cursor) };
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

// What is being typed is kept while the page is drawn anew for an event.
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
  const set = (part) => setValues({ ...values, ...part });
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

// Cancels one after another; what is over by then stays as it is.
async function cancelAll(jobs) {
  let refused = 0;
  for (const { id } of jobs)
    await request(`jobs/${id}`, { method: "DELETE" }).catch((error) => {
      if (error.status !== 409) refused++;
    });
  return refused;
}

function CancelShown({ jobs, reload }) {
  const [ask, setAsk] = useState(null);
  const [said, setSaid] = useState("");
  const run = async () => {
    setSaid(`Cancelling ${plural(jobs.length, "job")} …`);
    const refused = await cancelAll(jobs);
    setSaid(refused ? `${plural(refused, "job")} could not be cancelled.` : "");
    reload();
  };
  const text = "Those that run are stopped. This cannot be undone.";
  return (
    <>
      <button
        type="button"
        disabled={jobs.length === 0}
        onClick={() => setAsk({ title: `Cancel ${plural(jobs.length, "job")}?`, text, verb: "Cancel jobs", run })}
      >
        Cancel the {plural(jobs.length, "job")} shown
      </button>
      <span role="status">{said}</span>
      <Confirm ask={ask} close={() => setAsk(null)} />
    </>
  );
}

export function QueuePage({ values }) {
  const key = `jobs ${values.view} ${values.queue} ${values.name}`;
  const { data, error, reload } = useResource(key, (signal) => readJobs(values, signal), {
    on: () => true,
    every: 30000,
  });
  const lines = useResource("queues", (signal) => get("queues", { signal }), { on: () => true, every: 30000 });
  const jobs = useMemo(
    () => (data?.jobs ?? []).filter((job) => !values.reason || (job.reason ?? "Queued") === values.reason),
    [data, values.reason],
  );
  const isOpen = (values.view ?? "open") !== "ended";
  return (
    <>
      <Title text="Queue" />
      <Notice error={error ?? lines.error} what="Jobs" />
      <Filters values={values} names={(lines.data ?? []).map(({ queue }) => queue)} />
      {data && <Reasons jobs={data.jobs} values={values} />}
      {data && (
        <p class="summary" role="status">
          {plural(jobs.length, "job")}
          {data.more ? ` of more than ${number(data.jobs.length)}: filters show the others` : ""}
        </p>
      )}
      {data ? (
        <JobsTable
          caption="Jobs"
          jobs={jobs}
          sort={{ id: "age", down: isOpen }}
          empty="No job is in one of these states."
        />
      ) : (
        !error && <Waiting what="the jobs" />
      )}
      {data && isOpen && (
        <p class="buttons">
          <CancelShown jobs={jobs} reload={reload} />
        </p>
      )}
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
