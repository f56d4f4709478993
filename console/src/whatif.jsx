// Where a job would go at other prices of carbon and waiting, by the broker's own plan, which changes nothing.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Candidates } from "./candidates.jsx";
import { carbon, duration, energy, instant, money, number, plural } from "./format.js";
import { placeLabels } from "./labels.js";
import { Moves } from "./moves.jsx";
import { Choice, Notice, Title } from "./parts.jsx";
import { askPlan, carbonSteps, difference, endsOf, nearest, placeOf, placeWords, pointsOf, startOf, waitSteps } from "./plans.js";
import { link, setValues } from "./router.js";
import { factors, hours, kindOf, ofKind, shares, supposedOf, valuesOf, wordsOf } from "./supposed.js";

const EXAMPLE = `name: what-if
gpu: H100:8
time: 4h
placement: {flexible: 12h}
run: ./train.sh
`;

const DOCUMENT = "heliostat.whatif"; // stays when somebody looks at another page of this tab

// The plan of the job as it is, and the one at the prices and with what is supposed: {base, plan, error, busy}.
function usePlans(id, text, prices, supposed) {
  const [state, setState] = useState({ base: null, plan: null, error: null, busy: true });
  const first = useRef(true);
  useEffect(() => {
    if (!id && !text.trim()) {
      setState({ base: null, plan: null, error: null, busy: false });
      return undefined;
    }
    const end = new AbortController();
    const { signal } = end;
    setState((old) => ({ ...old, busy: true }));
    const read = async () => {
      try {
        const base = await askPlan({ id, text, signal });
        const plan = prices || supposed ? await askPlan({ id, text, prices, supposed, signal }) : base;
        setState({ base, plan, error: null, busy: false });
      } catch (error) {
        if (!signal.aborted) setState((old) => ({ ...old, error, busy: false }));
      }
    };
    const timer = setTimeout(read, first.current ? 0 : 350); // a slider passes many prices
    first.current = false;
    return () => {
      clearTimeout(timer);
      end.abort();
    };
  }, [id, text, prices?.carbon, prices?.wait, JSON.stringify(supposed)]);
  return state;
}

function Slider({ name, unit, steps, price, set }) {
  const at = nearest(steps, price);
  const words = `${steps[at]} ${unit}`;
  return (
    <label class="slider">
      <span>
        {name} <b>{words}</b>
      </span>
      <input
        type="range"
        min="0"
        max={steps.length - 1}
        value={at}
        aria-valuetext={words}
        onInput={(event) => set(steps[Number(event.target.value)])}
      />
    </label>
  );
}

const signed = (value, text) => (Math.abs(value) < 1e-9 ? null : `${text(Math.abs(value))} ${value > 0 ? "less" : "more"}`);
const grams = (value) => `${carbon(value)} CO₂e`;

function Answer({ title, plan, place, against, note }) {
  if (!place)
    return (
      <section class="answer" aria-label={title}>
        <h2>{title}</h2>
        <p class="large">nowhere</p>
        <p>{plan.detail ?? plan.reason ?? "No pool can run it."}</p>
      </section>
    );
  const { candidate, sure } = place;
  const change = difference(against, candidate);
  const less = change && [signed(change.cost, money), signed(change.carbon, grams), signed(change.energy, energy)].filter(Boolean);
  return (
    <section class="answer" aria-label={title}>
      <h2>{title}</h2>
      <p class="large">
        <a href={link("sites", candidate.site)}>{candidate.site}</a> <small>{candidate.pool}</small>
      </p>
      <p>
        {sure
          ? `starts ${startOf(candidate)}`
          : `waits: ${plan.detail ?? plan.reason ?? candidate.reason}`}
        {`, runs ${duration(candidate.duration_s)}`}
      </p>
      <p>
        {money(candidate.cost_usd)} · {grams(candidate.carbon_g)} · {energy(candidate.energy_kwh)}
      </p>
      {less && <p class="change">{less.length ? less.join(", ") : "no difference"}</p>}
      {note && <p class="source">{note}</p>}
    </section>
  );
}

const BOX = { width: 420, height: 220 };
const LEFT = 56; // of the axis; what carbon its end stands for is beside it

// Money to the right, carbon upwards: what is near the corner is good in both.
function Scatter({ plan, place }) {
  const mine = ({ site, pool }) => place?.candidate.site === site && place.candidate.pool === pool;
  const points = useMemo(() => {
    const first = [...pointsOf(plan.candidates)].sort((a, b) => mine(b) - mine(a)); // whose label has a place for sure
    const at = first.map((each) => ({
      ...each,
      x: LEFT + 10 + each.x * (BOX.width - LEFT - 90),
      y: BOX.height - 30 - each.y * (BOX.height - 60),
      r: 6,
    }));
    const boxes = placeLabels(
      at.map((each) => ({ ...each, x: each.x - LEFT })),
      at.map(({ site }) => ({ w: 7.2 * site.length + 6, h: 15 })),
      { width: BOX.width - LEFT, height: BOX.height - 26 },
    );
    return at.map((each, i) => ({ ...each, box: { ...boxes[i], x: boxes[i].x + LEFT } }));
  }, [plan]);
  if (points.length < 2) return null;
  const ends = endsOf(plan.candidates);
  return (
    <section class="series">
      <h3>
        Cost and carbon <small>of every pool that could run it</small>
      </h3>
      <svg class="scatter" viewBox={`0 0 ${BOX.width} ${BOX.height}`} role="img" aria-label="Pools by cost and carbon; the table of candidates has the numbers.">
        <path class="axes" d={`M${LEFT} 10V${BOX.height - 24}H${BOX.width - 8}`} />
        <path class="axes" d={`M${LEFT + 10 + BOX.width - LEFT - 90} ${BOX.height - 28}v8M${LEFT - 4} 30h8`} />
        <text x={BOX.width - 8} y={BOX.height - 8} class="end">
          cost →
        </text>
        <text x={LEFT + 10 + BOX.width - LEFT - 90} y={BOX.height - 8} class="middle tick">
          {money(ends.cost)}
        </text>
        <text x={LEFT - 6} y="34" class="end tick">
          {carbon(ends.carbon)}
        </text>
        <text x={LEFT + 6} y="18">
          ↑ CO₂e
        </text>
        <text x={LEFT - 6} y={BOX.height - 20} class="end tick">
          0
        </text>
        {points.map((each) => (
          <g key={`${each.site}/${each.pool}`} class={mine(each) ? "mine" : each.open ? "shut" : ""}>
            <circle cx={each.x} cy={each.y} r={each.r} />
            {each.box.far && !each.box.hidden && (
              <line x1={each.x} y1={each.y} x2={each.box.x < each.x ? each.box.x + each.box.w : each.box.x} y2={each.box.y + 8} />
            )}
            {!each.box.hidden && (
              <text x={each.box.x + 2} y={each.box.y + 12}>
                {each.site}
              </text>
            )}
          </g>
        ))}
      </svg>
      <p class="legend">
        <span>
          <span class="sample-dot mine" aria-hidden="true" />
          it would go there
        </span>
        <span>
          <span class="sample-dot shut" aria-hidden="true" />
          not now
        </span>
      </p>
    </section>
  );
}

// Several prices of carbon, one after the other, at the same price of waiting: where the choice turns.
function Sweep({ id, text, wait, supposed }) {
  const [steps, setSteps] = useState([]);
  const [busy, setBusy] = useState(false);
  const end = useRef(null);
  useEffect(() => {
    setSteps([]);
    return () => end.current?.abort();
  }, [id, text, wait, JSON.stringify(supposed)]);
  const run = async () => {
    end.current = new AbortController();
    const { signal } = end.current;
    setBusy(true);
    setSteps([]);
    try {
      for (const price of carbonSteps) {
        const plan = await askPlan({ id, text, prices: { carbon: price, wait }, supposed, signal });
        setSteps((old) => [...old, { price, place: placeOf(plan) }]);
      }
    } catch {
      // a page that was left, or a broker that is away: what came is shown
    }
    setBusy(false);
  };
  const turns = steps.filter(({ place }, i) => i === 0 || placeWords(place) !== placeWords(steps[i - 1].place));
  return (
    <>
      <h2>
        Where the choice turns <small>at {wait} USD per GPU hour of waiting</small>
      </h2>
      <button type="button" onClick={run} disabled={busy}>
        Try {carbonSteps.length} prices of carbon
      </button>
      <ol class="sweep" aria-label="Site by carbon price" aria-busy={busy ? "true" : undefined}>
        {turns.map(({ price, place }, i) => (
          <li key={price}>
            <b>{placeWords(place)}</b>
            <span>
              from {number(price)} USD/t{i === turns.length - 1 && !busy ? " on" : ""}
            </span>
            {place && <small>{`${money(place.candidate.cost_usd)} · ${grams(place.candidate.carbon_g)}`}</small>}
          </li>
        ))}
      </ol>
    </>
  );
}

function Scope() {
  return (
    <details class="numbers">
      <summary>What this page can say</summary>
      <p>
        A plan judges one job as if it were submitted now, by the code that decides, and changes nothing. For a job that exists, what it
        depends on counts as fulfilled, and the GPUs that it holds are not free for it.
      </p>
      <p>
        “Suppose of a site” does the same with a site that were drained, or curtailed from now on, or whose prices of GPU hours and electricity were so many times what
        they are, in all hours ahead. “Who would move” asks that for the open jobs, one by one. It knows nothing of what they would take from
        one another, nor of what happens later, and moves no job that runs: <code>helio rehearse</code> runs a copy of the live state on for
        that, and <code>helio simulate</code> a trace.
      </p>
    </details>
  );
}

// A site, and whether it is drained, curtailed or has another price. What is chosen stays though no plan names it.
function Suppose({ sites, supposed, set }) {
  const names = supposed && !sites.includes(supposed.site) ? [...sites, supposed.site] : sites;
  const site = supposed?.site ?? "";
  return (
    <>
      <label>
        Suppose of a site
        <select value={site} onChange={(event) => set(event.target.value ? { ...(supposed ?? ofKind("drained", "")), site: event.target.value } : null)}>
          <option value="">nothing</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      {supposed && (
        <Choice
          name="It is"
          value={kindOf(supposed)}
          set={(to) => set(ofKind(to, site))}
          of={[
            ["drained", "drained"],
            ["curtailed", "curtailed"],
            ["price", "at another price"],
          ]}
        />
      )}
      {kindOf(supposed) === "curtailed" && (
        <>
          <Slider name="To" unit="% of its power" steps={shares} price={supposed.percent} set={(percent) => set({ ...supposed, percent })} />
          <Slider name="For" unit="h" steps={hours} price={supposed.hours} set={(long) => set({ ...supposed, hours: long })} />
        </>
      )}
      {supposed && kindOf(supposed) === "price" && (
        <Slider name="Its price" unit="times" steps={factors} price={supposed.factor} set={(factor) => set({ ...supposed, factor })} />
      )}
    </>
  );
}

const sitesOf = (plan) => [...new Set((plan?.candidates ?? []).map(({ site }) => site))].sort();

export function WhatIfPage({ values }) {
  const id = values.job ?? "";
  const [draft, setDraft] = useState(sessionStorage.getItem(DOCUMENT) ?? EXAMPLE);
  const [text, setText] = useState(draft);
  const given = values.carbon !== undefined && values.wait !== undefined;
  const prices = given ? { carbon: Number(values.carbon) || 0, wait: Number(values.wait) || 0 } : null;
  const supposed = supposedOf(values);
  const { base, plan, error, busy } = usePlans(id, text, prices, supposed);
  const own = base?.job.prices;
  const shown = prices ?? { carbon: own?.carbon_usd_per_t ?? 200, wait: own?.wait_usd_per_gpu_h ?? 0.5 };
  const set = (part) => setValues({ ...values, ...shown, ...part, carbon: String(part.carbon ?? shown.carbon), wait: String(part.wait ?? shown.wait) });
  const before = base && placeOf(base);
  const after = plan && placeOf(plan);
  const take = (event) => {
    event.preventDefault();
    sessionStorage.setItem(DOCUMENT, draft);
    setText(draft);
  };
  const changed = prices || supposed;
  return (
    <>
      <Title text="What if" />
      <Notice error={error} what="Plan" />
      <div class="whatif">
        <div class="controls">
          {id ? (
            <p>
              For the job <a href={link("jobs", id)}>{base?.job.name ?? id}</a>.{" "}
              <button type="button" onClick={() => setValues({ ...values, job: "" })}>
                Take a job file instead
              </button>
            </p>
          ) : (
            <form onSubmit={take}>
              <label>
                Job file
                <textarea
                  rows="9"
                  spellcheck={false}
                  value={draft}
                  onInput={(event) => setDraft(event.target.value)}
                  onKeyDown={(event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && take(event)}
                />
              </label>
              <button type="submit" class="strong">
                Plan it
              </button>
            </form>
          )}
          <Slider name="Carbon" unit="USD per tonne" steps={carbonSteps} price={shown.carbon} set={(to) => set({ carbon: to })} />
          <Slider name="Waiting" unit="USD per GPU hour" steps={waitSteps} price={shown.wait} set={(to) => set({ wait: to })} />
          <Suppose sites={sitesOf(plan ?? base)} supposed={supposed} set={(to) => setValues({ ...values, ...valuesOf(to) })} />
          <p>
            <button type="button" disabled={!changed} onClick={() => setValues({ job: id })}>
              As the job has it
            </button>
          </p>
        </div>
        <div class="answers" aria-busy={busy ? "true" : undefined} aria-live="polite">
          {base && (
            <Answer
              title={base.job.goal ? `With its goal, ${base.job.goal}` : "At its own prices"}
              plan={base}
              place={before}
              note={own && `${own.carbon_usd_per_t} USD/t, ${own.wait_usd_per_gpu_h} USD/GPU h`}
            />
          )}
          {plan && changed && (
            <Answer
              title={supposed ? `Then, ${wordsOf(supposed)}` : "Then"}
              plan={plan}
              place={after}
              against={before?.candidate}
              note={prices && `${shown.carbon} USD/t, ${shown.wait} USD/GPU h`}
            />
          )}
          {plan && <Scatter plan={plan} place={after} />}
        </div>
      </div>
      {supposed && <Moves supposed={supposed} />}
      {plan && <Candidates of={plan} />}
      {plan && <p class="source">{plural(plan.candidates.length, "pool")} judged at {instant(plan.planned_at)}.</p>}
      {(id || text.trim()) && base && <Sweep id={id} text={text} wait={shown.wait} supposed={supposed} />}
      <Scope />
    </>
  );
}
