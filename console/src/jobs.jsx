// Jobs as a table: where they are or why they wait.
import { ago, duration, instant, number, shortId } from "./format.js";
import { State } from "./parts.jsx";
import { link } from "./router.js";
import { isOver } from "./states.js";
import { Table } from "./table.jsx";

const waits = ({ state }) => state === "queued" || state === "held";
const why = (job) => job.detail ?? job.reason ?? "";

export const columns = [
  {
    id: "name",
    title: "Job",
    value: (j) => j.name ?? j.id,
    cell: (j) => (
      <a href={link("jobs", j.id)}>
        {j.name ?? "unnamed"}
        <small> {shortId(j.id)}</small>
      </a>
    ),
  },
  { id: "state", title: "State", value: (j) => j.state, cell: (j) => <State value={j.state} /> },
  {
    id: "place",
    title: "Place",
    numeric: true,
    value: (j) => j.place?.place ?? null,
    cell: (j) =>
      j.place ? (
        <>
          {number(j.place.place)}
          {j.place.share && <small title="use of its tenant, per weight"> {number(j.place.share.used_a100_per_weight, 1)}</small>}
        </>
      ) : (
        "–"
      ),
  },
  { id: "queue", title: "Queue", wide: true, value: (j) => j.queue, cell: (j) => j.queue },
  {
    id: "owner",
    title: "Owner",
    wide: true,
    value: (j) => `${j.tenant}/${j.user ?? ""}`,
    cell: (j) => (
      <>
        {j.user ?? "–"} <small>{j.tenant}</small>
      </>
    ),
  },
  {
    id: "gpus",
    title: "GPUs",
    numeric: true,
    value: (j) => j.gpus,
    cell: (j) => `${number(j.gpus)}${j.gpus && j.gpu_model ? ` ${j.gpu_model}` : ""}`,
  },
  {
    id: "site",
    title: "Site",
    value: (j) => j.site,
    cell: (j) => (j.site ? <a href={link("sites", j.site)}>{j.site}</a> : "–"),
  },
  {
    id: "age",
    title: "Submitted",
    numeric: true,
    value: (j) => -Date.parse(j.submitted_at),
    cell: (j) => ago(j.submitted_at),
  },
  {
    id: "start",
    title: "Expected start",
    numeric: true,
    wide: true,
    value: (j) => (waits(j) ? j.expected_start : null),
    cell: (j) => (waits(j) && j.expected_start ? instant(j.expected_start) : "–"),
  },
  {
    id: "ran",
    title: "Ran",
    numeric: true,
    wide: true,
    value: (j) => j.run_seconds,
    cell: (j) =>
      duration(
        j.run_seconds ?? (j.started_at && !isOver(j.state) ? (Date.now() - new Date(j.started_at)) / 1000 : null),
      ),
  },
  {
    id: "why",
    title: "Why",
    rest: true,
    value: why,
    cell: (j) => <span title={why(j)}>{why(j) || "–"}</span>,
  },
];

// without: the ids of columns that say nothing there.
export const JobsTable = ({ jobs, caption, empty, sort, without = [] }) => (
  <Table
    caption={caption}
    columns={columns.filter(({ id }) => !without.includes(id))}
    rows={jobs}
    rowKey={(j) => j.id}
    sort={sort}
    empty={empty}
  />
);
