// The pools that were judged for a job: the terms of each score from left to right, or why it is none.
import { carbon, duration, energy, instant, money } from "./format.js";
import { link } from "./router.js";
import { Table } from "./table.jsx";
import { isPriced, ranked, shownRange, stepsOf, terms } from "./waterfall.js";

const WIDTH = 300;

function Waterfall({ candidate, range: [least, most] }) {
  const steps = stepsOf(candidate);
  const x = (usd) => (WIDTH * (usd - least)) / (most - least);
  const words = steps.map(({ title, value }) => `${title} ${money(value)}`).join(", ");
  if (!isPriced(candidate)) return "–";
  return (
    <svg
      class="waterfall"
      viewBox={`0 0 ${WIDTH} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words || "no terms"}
    >
      <line class="zero" x1={x(0)} x2={x(0)} y1="0" y2="20" />
      {steps.map(({ id, title, value, from, to }, i) => (
        <rect
          key={id}
          class={`term-${id}`}
          x={Math.min(x(from), x(to))}
          width={Math.max(1.5, Math.abs(x(to) - x(from)))}
          y={2 + (i % 2) * 3}
          height="13"
        >
          <title>{`${title} ${money(value)}`}</title>
        </rect>
      ))}
      {steps.some(({ to }) => to > most) && (
        <path class="cut" d={`M${WIDTH - 14} 0l-5 10l5 10h5l-5 -10l5 -10z`}>
          <title>longer than shown</title>
        </path>
      )}
    </svg>
  );
}

const Legend = ({ candidates }) => (
  <p class="legend">
    {terms
      .filter(([id]) => candidates.some((each) => each.terms?.[id]))
      .map(([id, title]) => (
        <span key={id}>
          <svg class="sample" viewBox="0 0 10 10" aria-hidden="true">
            <rect class={`term-${id}`} width="10" height="10" />
          </svg>
          {title}
        </span>
      ))}
  </p>
);

const priced = (key) => (candidate) => (isPriced(candidate) ? candidate[key] : null);

const columnsOf = (of, range) => [
  {
    id: "site",
    title: "Site",
    value: (c) => c.site,
    cell: (c) => (
      <>
        <a href={link("sites", c.site)}>{c.site}</a>
        <small> {c.pool}</small>
        {c.site === of.chosen && c.pool === of.chosen_pool && <b class="chosen"> chosen</b>}
      </>
    ),
  },
  {
    id: "score",
    title: "Score",
    numeric: true,
    value: priced("score_usd"),
    cell: (c) => money(priced("score_usd")(c)),
  },
  { id: "terms", title: "Terms", cell: (c) => <Waterfall candidate={c} range={range} /> },
  {
    id: "start",
    title: "Start",
    wide: true,
    value: (c) => (c.reason ? null : c.start),
    cell: (c) => (c.reason ? "–" : c.start ? instant(c.start) : "now"),
  },
  {
    id: "duration",
    title: "Takes",
    numeric: true,
    wide: true,
    value: priced("duration_s"),
    cell: (c) => duration(priced("duration_s")(c)),
  },
  { id: "cost", title: "Cost", numeric: true, value: priced("cost_usd"), cell: (c) => money(priced("cost_usd")(c)) },
  {
    id: "energy",
    title: "Energy",
    numeric: true,
    wide: true,
    value: priced("energy_kwh"),
    cell: (c) => energy(priced("energy_kwh")(c)),
  },
  { id: "carbon", title: "CO₂e", numeric: true, value: priced("carbon_g"), cell: (c) => carbon(priced("carbon_g")(c)) },
  {
    id: "why",
    title: "Why not",
    rest: true,
    wraps: true,
    value: (c) => c.reason,
    cell: (c) => {
      const why = [c.reason, c.detail].filter(Boolean).join(": ") || "–";
      return <span title={why}>{why}</span>;
    },
  },
];

// The same terms as numbers: of what costs far more than the rest only that one bar is long.
function Terms({ candidates }) {
  const rows = candidates.filter(isPriced);
  const used = terms.filter(([id]) => rows.some((each) => each.terms?.[id]));
  if (rows.length === 0 || used.length === 0) return null;
  const site = { id: "site", title: "Site", value: (c) => c.site, cell: (c) => `${c.site} ${c.pool}` };
  const columns = used.map(([id, title]) => ({ id, title, numeric: true, value: (c) => c.terms?.[id] ?? 0, cell: (c) => money(c.terms?.[id] ?? 0) }));
  const score = { id: "score", title: "Score", numeric: true, value: (c) => c.score_usd, cell: (c) => <b>{money(c.score_usd)}</b> };
  return (
    <details class="numbers">
      <summary>Terms as numbers</summary>
      <Table caption="Terms" columns={[site, ...columns, score]} rows={rows} rowKey={(c) => `${c.site}/${c.pool}`} empty="" />
    </details>
  );
}

export function Candidates({ of, children }) {
  const candidates = ranked(of.candidates);
  return (
    <>
      <h2>
        Candidates{" "}
        {of.decided_at && (
          <small>
            decided {instant(of.decided_at)}
            {of.policy_version && `, policy ${of.policy_version}`}
          </small>
        )}
      </h2>
      {children}
      {candidates.length > 0 && <Legend candidates={candidates} />}
      <Table
        caption="Candidates"
        columns={columnsOf(of, shownRange(candidates))}
        rows={candidates}
        rowKey={(c) => `${c.site}/${c.pool}`}
        empty="No pool has been judged for it yet."
      />
      <Terms candidates={candidates} />
    </>
  );
}
