import { useEffect, useMemo, useState } from "preact/hooks";
import { get, send } from "./api.js";
import { wishesOf } from "./wishes.js";
import { Attempts } from "./attempts.jsx";
import { Candidates } from "./candidates.jsx";
import { carbon, duration, energy, instant, money, number, plural } from "./format.js";
import { useResource } from "./live.js";
import { Logs } from "./logs.jsx";
import { Confirm, Figures, Notice, State, Title, Waiting } from "./parts.jsx";
import { link } from "./router.js";
import { groupOf, isOver } from "./states.js";
import { Table } from "./table.jsx";
import { spansOf, widths } from "./timeline.js";
import { isPriced, savedAgainst } from "./waterfall.js";

const useSeconds = (running) => {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [running]);
  return now;
};

function Timeline({ job }) {
  const now = useSeconds(!isOver(job.state));
  const history = job.history ?? [];
  const spans = spansOf(job.submitted_at, history, now);
  const shares = widths(spans);
  const words = spans.map(({ state, from, to }) => `${state} ${duration((to - from) / 1000)}`).join(", ");
  return (
    <>
      <h2>
        Timeline <small>UTC</small>
      </h2>
      <div class="timeline" role="img" aria-label={words}>
        {spans.map(({ state, from, to }, i) => (
          <span
            key={i}
            class={groupOf(state)}
            style={{ width: `${100 * shares[i]}%` }}
            title={`${state} ${duration((to - from) / 1000)}`}
          >
            {shares[i] > 0.09 && `${state} ${duration((to - from) / 1000)}`}
          </span>
        ))}
      </div>
      <Table
        caption="History"
        rows={history}
        rowKey={(t) => `${t.time} ${t.to} ${t.reason}`}
        empty="Nothing has happened yet."
        columns={[
          {
            id: "time",
            title: "Time",
            cell: (t) => `${instant(t.time).replace(/ ?\d\d:\d\dZ$/, "")} ${t.time.slice(11, 19)}Z`,
          },
          { id: "to", title: "State", cell: (t) => <State value={t.to} /> },
          { id: "epoch", title: "Attempt", numeric: true, wide: true, cell: (t) => number(t.epoch) },
          { id: "reason", title: "Reason", cell: (t) => t.reason ?? "–" },
          { id: "actor", title: "By", wide: true, cell: (t) => t.actor ?? "–" },
        ]}
      />
    </>
  );
}

const between = ({ earliest, latest }) => {
  if (earliest && latest && instant(earliest) !== instant(latest))
    return `between ${instant(earliest)} and ${instant(latest)}`;
  return latest ? instant(latest) : `not before ${instant(earliest)}`;
};

// Why the job is where it is, in the words of the broker.
function Explanation({ of, job }) {
  const { expected, ahead, hints, better_site: better } = of;
  const reason = of.detail ?? job.detail;
  const starts =
    expected?.earliest || expected?.latest
      ? `Expected start: ${between(expected)}${expected.basis ? ` (${expected.basis})` : ""}.`
      : expected?.basis;
  return (
    <section class="explanation" aria-label="Explanation">
      {(of.reason || reason) && (
        <p>
          {of.reason && <b>{of.reason}</b>}
          {of.reason && reason ? ": " : ""}
          {reason}
        </p>
      )}
      {of.chosen && (
        <p>
          Chosen: <a href={link("sites", of.chosen)}>{of.chosen}</a>, pool {of.chosen_pool}
          {of.first_choice && of.first_choice !== of.chosen
            ? `; equal jobs of the same round took ${of.first_choice} first`
            : ""}
          .
        </p>
      )}
      {starts && <p>{starts}</p>}
      {ahead && ahead.jobs > 0 && (
        <p>
          Ahead of it: {plural(ahead.jobs, "job")} with {plural(ahead.gpus, "GPU")}.
        </p>
      )}
      {better && <p>{better}</p>}
      {hints?.length > 0 && (
        <>
          <h3>To start sooner</h3>
          <ul>
            {hints.map(({ kind, change, effect }) => (
              <li key={kind + change}>
                {change}
                {effect ? `: ${effect}` : ""}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

const signed = (value, text) => (value ? `${text(Math.abs(value))} ${value > 0 ? "less" : "more"}` : null);

// What the plan was worth: the chosen pool beside the home site, as the decision saw them.
function Savings({ of, job }) {
  const chosen = { site: of.chosen, pool: of.chosen_pool };
  const saved = useMemo(() => savedAgainst(of.candidates, chosen, job.home_site), [of]);
  if (!saved) return null;
  const grams = (value) => `${carbon(value)} CO₂e`;
  const parts = [signed(saved.cost, money), signed(saved.energy, energy), signed(saved.carbon, grams)].filter(Boolean);
  return (
    <p>
      Planned against its home site {saved.site}: {parts.join(", ") || "no difference"}.
    </p>
  );
}

function Cancel({ job, reload }) {
  const [ask, setAsk] = useState(null);
  const [problem, setProblem] = useState(null);
  const run = async () => {
    try {
      await send("DELETE", `jobs/${job.id}`);
      setProblem(null);
    } catch (error) {
      setProblem(error);
    }
    reload();
  };
  const question = {
    title: "Cancel this job?",
    text: "If it runs, it is stopped. This cannot be undone.",
    verb: "Cancel job",
    run,
  };
  return (
    <>
      <button type="button" onClick={() => setAsk(question)}>
        Cancel job
      </button>
      <Confirm ask={ask} close={() => setAsk(null)} />
      <Notice error={problem} what="Cancel" />
    </>
  );
}

const waited = (job) =>
  job.wait_seconds ?? (job.started_at || isOver(job.state) ? null : (Date.now() - new Date(job.submitted_at)) / 1000);

const tasksOf = (tasks) =>
  Object.entries(tasks)
    .map(([state, count]) => `${number(count)} ${state}`)
    .join(", ");

const Facts = ({ job, plan }) => {
  const ended = isOver(job.state);
  const figure = (term, key, text) => {
    const known = ended || job[key] ? text(job[key]) : "–";
    return [term, known, plan && isPriced(plan) && ` planned ${text(plan[key])}`];
  };
  return (
    <Figures
      of={[
        ["Site", job.site ? <a href={link("sites", job.site)}>{job.site}</a> : "–", job.pool && ` pool ${job.pool}`],
        [
          "Asks for",
          job.gpus ? `${plural(job.gpus, "GPU")}${job.gpu_model ? ` ${job.gpu_model}` : ""}` : "no GPU",
          job.nodes > 1 && ` on ${job.nodes} nodes`,
        ],
        ["Queue", job.queue, job.tier && ` tier ${job.tier}`],
        ["Owner", job.user ?? "–", ` ${job.tenant}`],
        ["Home site", job.home_site ?? "–"],
        ...wishesOf(job, Date.now()),
        ["Submitted", instant(job.submitted_at)],
        ["Waited", duration(waited(job))],
        ["Ran", duration(job.run_seconds), job.time_limit_s && ` of at most ${duration(job.time_limit_s)}`],
        ["Attempts", number(job.attempts)],
        job.exit_code !== null && ["Exit code", number(job.exit_code)],
        figure("Cost", "cost_usd", money),
        figure("Energy", "energy_kwh", energy),
        figure("CO₂e", "carbon_g", carbon),
        job.tasks && ["Tasks", number(job.tasks_total), ` ${tasksOf(job.tasks)}`],
      ]}
    />
  );
};

// What the newest decision expects of the pool that it chose.
const planOf = (of) => of?.candidates.find(({ site, pool }) => site === of.chosen && pool === of.chosen_pool);

export function JobPage({ id }) {
  const mine = (event) => event.id.startsWith(id) || event.id.endsWith(id); // an id can be given in part
  const job = useResource(`job ${id}`, (signal) => get(`jobs/${encodeURIComponent(id)}`, { signal }), {
    every: 15000,
    on: mine,
  });
  const explain = useResource(`explain ${id}`, (signal) => get(`jobs/${encodeURIComponent(id)}/explain`, { signal }), {
    every: 15000,
    on: mine,
  });
  const data = job.data;
  const title = data?.name ?? id;
  return (
    <>
      <div class="heading">
        <Title text={title} />
        {data && <State value={data.state} />}
        {data && (
          <a class="button" href={`${link("whatif")}?job=${encodeURIComponent(data.id)}`}>
            What if …
          </a>
        )}
        {data && !isOver(data.state) && <Cancel job={data} reload={job.reload} />}
      </div>
      <p class="id">
        <code>{data?.id ?? id}</code>
      </p>
      <Notice error={job.error} what="Job" />
      {!data && !job.error && <Waiting what="the job" />}
      {data && <p class="hidden" aria-live="polite">{`${title} is ${data.state}`}</p>}
      {data && <Facts job={data} plan={planOf(explain.data)} />}
      {data && explain.data && <Explanation of={explain.data} job={data} />}
      {data && <Timeline job={data} />}
      {data && data.epoch > 0 && <Attempts id={id} mine={mine} job={data} />}
      <Notice error={job.error ? null : explain.error} what="Explanation" />
      {data && explain.data && (
        <Candidates of={explain.data}>
          <Savings of={explain.data} job={data} />
        </Candidates>
      )}
      {data && data.epoch > 0 && <Logs id={id} epoch={data.epoch} />}
    </>
  );
}
