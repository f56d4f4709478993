// Who would move: the open jobs, judged one by one as they are and with what is supposed of a site.
import { useEffect, useRef, useState } from "preact/hooks";
import { get } from "./api.js";
import { carbon, money, number, plural, shortId } from "./format.js";
import { MOST, countsOf, inOrder, moveOf, questionsOf } from "./moves.js";
import { Notice, State } from "./parts.jsx";
import { askPlan, placeOf, placeWords } from "./plans.js";
import { link } from "./router.js";
import { OPEN } from "./states.js";
import { commandOf, isCurtailed, wordsOf } from "./supposed.js";
import { Table } from "./table.jsx";

const AT_ONCE = 4; // requests; the broker has others to answer

const signed = (text) => (value) => (value == null ? "–" : Math.abs(value) < 1e-9 ? "±0" : `${value > 0 ? "−" : "+"}${text(Math.abs(value))}`);
const moneyChange = signed(money);
const carbonChange = signed(carbon);

const columns = [
  {
    id: "job",
    title: "Job",
    value: (m) => m.job.name ?? m.job.id,
    cell: (m) => (
      <a href={link("jobs", m.job.id)}>
        {m.job.name ?? "unnamed"}
        <small> {m.count > 1 ? `× ${number(m.count)}` : shortId(m.job.id)}</small>
      </a>
    ),
  },
  { id: "state", title: "State", wide: true, value: (m) => m.job.state, cell: (m) => <State value={m.job.state} /> },
  { id: "tenant", title: "Tenant", wide: true, value: (m) => m.job.tenant, cell: (m) => m.job.tenant },
  { id: "gpus", title: "GPUs", numeric: true, wide: true, value: (m) => m.job.gpus, cell: (m) => number(m.job.gpus) },
  { id: "from", title: "As it is", cell: (m) => (m.kind === "running" ? `runs at ${m.job.site}` : placeWords(m.from)) },
  {
    id: "to",
    title: "Then",
    cell: (m) => (m.fate === "stopped" ? <b>stopped; {m.to ? placeWords(m.to) : "starts nowhere"}</b> : m.fate === "runs" ? `runs on; started anew: ${placeWords(m.to)}` : m.fate === "stays" ? "the same" : <b>{placeWords(m.to)}</b>),
  },
  { id: "cost", title: "Cost", numeric: true, value: (m) => m.change?.cost, cell: (m) => moneyChange(m.change?.cost) },
  { id: "carbon", title: "CO₂e", numeric: true, value: (m) => m.change?.carbon, cell: (m) => carbonChange(m.change?.carbon) },
];

async function readOpen(signal) {
  const page = (states) => get(`jobs?state=${states}&limit=1000`, { signal });
  const [waiting, others] = await Promise.all([page("queued"), page(OPEN.filter((s) => s !== "queued" && s !== "held").join(","))]);
  return { jobs: [...waiting.jobs, ...others.jobs], more: Boolean(waiting.next || others.next) };
}

// One question after another, a few at once. A job that ended meanwhile has no plan, and is left out.
async function judge(questions, supposed, signal, tell) {
  let next = 0;
  const worker = async () => {
    while (next < questions.length) {
      const question = questions[next++];
      const plan = (given) => askPlan({ id: question.job.id, supposed: given, signal });
      try {
        const before = question.kind === "waiting" ? placeOf(await plan(null)) : null;
        const then = await plan(supposed);
        tell(moveOf(question, before, placeOf(then), then.stops === true));
      } catch (error) {
        if (error.status !== 404 && error.status !== 409) throw error;
        tell(null);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function summaryOf(moves, site, left, more) {
  const { moves: go, starts, runs, stays, stopped } = countsOf(moves);
  const waiting = go + starts + stays;
  const verb = (count) => `${plural(count, "job")} ${count === 1 ? "runs" : "run"}`;
  return [
    waiting
      ? `${number(go)} of ${plural(waiting, "waiting job")} would go elsewhere${starts ? `, ${number(starts)} would start at another time` : ""}.`
      : "No job waits.",
    stopped ? `${verb(stopped)} at ${site} and would be stopped.` : "",
    runs ? `${verb(runs)} at ${site}, and would run on.` : stopped ? "" : `No job runs at ${site}.`,
    left ? `${plural(left, "job")} more were not judged: at most ${MOST} jobs or arrays of each kind are.` : "",
    more ? "Only the newest 1,000 of each kind were looked at." : "",
  ]
    .filter(Boolean)
    .join(" ");
}

const nothing = { moves: [], total: 0, judged: 0, left: 0, more: false, busy: false, error: null };

export function Moves({ supposed }) {
  const [state, setState] = useState(nothing);
  const end = useRef(null);
  const key = wordsOf(supposed);
  useEffect(() => {
    setState(nothing);
    return () => end.current?.abort();
  }, [key]);
  const run = async () => {
    end.current?.abort();
    end.current = new AbortController();
    const { signal } = end.current;
    setState({ ...nothing, busy: true });
    try {
      const { jobs, more } = await readOpen(signal);
      const { questions, left } = questionsOf(jobs, supposed.site, isCurtailed(supposed));
      setState((old) => ({ ...old, total: questions.length, left, more }));
      await judge(questions, supposed, signal, (move) =>
        setState((old) => ({ ...old, judged: old.judged + 1, moves: move ? [...old.moves, move] : old.moves })),
      );
      setState((old) => ({ ...old, busy: false }));
    } catch (error) {
      if (!signal.aborted) setState((old) => ({ ...old, busy: false, error }));
    }
  };
  const { moves, total, judged, left, more, busy, error } = state;
  const done = !busy && !error && end.current && (judged > 0 || total === 0) && judged === total;
  return (
    <section aria-labelledby="moves-title">
      <h2 id="moves-title">
        Who would move <small>{wordsOf(supposed)}</small>
      </h2>
      <Notice error={error} what="Jobs" />
      <p class="buttons">
        <button type="button" class="strong" onClick={run} disabled={busy}>
          Judge the open jobs
        </button>
        <span role="status">
          {busy ? `${number(judged)} of ${number(total)} judged …` : done ? summaryOf(moves, supposed.site, left, more) : ""}
        </span>
      </p>
      {!busy && moves.length > 0 && (
        <Table caption="Who would move" columns={columns} rows={inOrder(moves)} rowKey={(m) => `${m.job.id} ${m.kind}`} empty="" />
      )}
      <p class="source">
        A judgement of each job alone, as if it were submitted now and the others stayed where they are; two jobs can be shown to take the
        same GPUs. A drain stops nothing that runs; a curtailment would stop those that are said so, by the broker's own choice, unless they may not be
        preempted. For what would become of all of them together over the hours, an operator runs{" "}
        <code>{commandOf(supposed)}</code>.
      </p>
    </section>
  );
}
