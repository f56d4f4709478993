// Limits on the power of sites, each for a time: the list, and the commands of operators.
import { useState } from "preact/hooks";
import { get, query, send } from "./api.js";
import { inOrder, isAhead, lostWords, orderOf, powerWords, stateWords } from "./condition.js";
import { instant, number, power } from "./format.js";
import { useResource } from "./live.js";
import { Confirm, Notice } from "./parts.jsx";
import { link } from "./router.js";
import { Table } from "./table.jsx";

const isOperator = (who) => Boolean(who) && who.role !== "user";

// data: null while nothing is known, or for whoever may not read it.
export const useCurtailments = (who, site = "") =>
  useResource(`curtailments ${site} ${isOperator(who)}`, (signal) => (isOperator(who) ? get(`curtailments${query({ site })}`, { signal }) : null), {
    every: 10000,
  });

const columns = [
  { id: "site", title: "Site", value: (c) => c.site, cell: (c) => <a href={link("sites", c.site)}>{c.site}</a> },
  {
    id: "state",
    title: "State",
    value: (c) => c.state,
    cell: (c) => <span class={isAhead(c) ? "state doubt" : ""}>{stateWords(c.state)}</span>,
  },
  { id: "percent", title: "To", numeric: true, value: (c) => c.to_percent, cell: (c) => `${number(c.to_percent)} %` },
  { id: "from", title: "From", value: (c) => c.from, cell: (c) => instant(c.from) },
  { id: "until", title: "Until", value: (c) => c.ended_at ?? c.until, cell: (c) => instant(c.ended_at ?? c.until) },
  { id: "limit", title: "Limit", numeric: true, value: (c) => c.limit_watts, cell: (c) => powerWords(c).limit },
  { id: "used", title: "In use", numeric: true, value: (c) => c.used_watts, cell: (c) => powerWords(c).used },
  {
    id: "kept",
    title: "Kept above",
    numeric: true,
    wide: true,
    value: (c) => c.kept_watts,
    cell: (c) => (c.kept_watts === null ? "–" : power(c.kept_watts)),
  },
  { id: "stopped", title: "Stopped, lost", numeric: true, value: (c) => c.jobs_stopped, cell: lostWords },
  {
    id: "reason",
    title: "Reason, by",
    rest: true,
    wraps: true,
    value: (c) => c.reason,
    cell: (c) => (
      <>
        {c.reason ?? "–"} <small>{c.actor}</small>
      </>
    ),
  },
];

// Of one site, or of all; nothing is shown where there is none.
export function Curtailments({ list, of = "" }) {
  if (!list || list.length === 0) return null;
  return (
    <>
      <h2>
        Curtailments <small>ordered in the last 7 days, or not over</small>
      </h2>
      <Table
        caption={of ? `Curtailments of ${of}` : "Curtailments"}
        columns={of ? columns.filter(({ id }) => id !== "site") : columns}
        rows={inOrder(list)}
        rowKey={(c) => `${c.site} ${c.set_at} ${c.from}`}
        empty=""
      />
    </>
  );
}

const fields = [
  { id: "percent", label: "To, % of its full GPU power", type: "number", min: 0, max: 100, step: 1, value: "60" },
  { id: "hours", label: "For, hours", type: "number", min: 0.05, max: 168, step: "any", value: "2" },
  { id: "begin", label: "From, UTC (empty: now)", type: "datetime-local", optional: true },
  { id: "reason", label: "Reason", maxLength: 256 },
];

// `list`: the curtailments of the site, for whether there is one to end.
export function Curtail({ site, list, reload }) {
  const [ask, setAsk] = useState(null);
  const [said, setSaid] = useState("");
  const [problem, setProblem] = useState(null);
  const command = (verb, bodyOf) => async (values) => {
    try {
      const { status } = await send("POST", `sites/${encodeURIComponent(site)}/${verb}`, bodyOf(values));
      setSaid(`${site}: ${status}.`);
      setProblem(null);
    } catch (error) {
      setSaid("");
      setProblem(error);
    }
    reload();
  };
  const curtail = {
    title: `Curtail ${site}?`,
    text: "No job starts there that would exceed the share. Jobs above it are stopped with their grace, the lowest tier first, and return to their queues.",
    fields,
    verb: "Curtail",
    run: command("curtail", orderOf),
  };
  const end = {
    title: `End the curtailments of ${site}?`,
    text: "Those in force and those to come end now.",
    field: "Reason",
    verb: "End them",
    run: command("uncurtail", (reason) => ({ reason })),
  };
  return (
    <>
      <button type="button" onClick={() => setAsk(curtail)}>
        Curtail …
      </button>
      {list?.some(isAhead) && (
        <button type="button" onClick={() => setAsk(end)}>
          End curtailments
        </button>
      )}
      <Confirm ask={ask} close={() => setAsk(null)} />
      {said && (
        <p class="notice said" role="status">
          {said}
        </p>
      )}
      <Notice error={problem} what="Curtail" />
    </>
  );
}
