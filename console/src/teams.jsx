// What each team may hold and holds, its share of the past day, and its budgets.
import { useMemo, useState } from "preact/hooks";
import { get } from "./api.js";
import { instant, money, number, plural, ratio } from "./format.js";
import { useResource } from "./live.js";
import { Notice, Title, Waiting } from "./parts.jsx";
import { budgetParts, ordered, scaleEnd, sharesOf, teamsOf } from "./quotas.js";

const MOST = 100; // cards; the filter finds the others
const percent = (share) => `${100 * Math.min(1, Math.max(0, share))}%`;

// The fill is what is held, the tick the guarantee, the end of the scale what it may hold at most.
function Gpus({ row, title }) {
  const { guaranteed_gpus: guaranteed, burst_gpus: burst, gpus_in_use: used } = row;
  const end = scaleEnd(row);
  const most = burst === null ? "no limit" : `at most ${number(burst)}`;
  const place = guaranteed === 0 ? "nothing guaranteed" : `${number(guaranteed)} guaranteed`;
  return (
    <div class="measure">
      <span class="term">{title}</span>
      <span class="track" aria-hidden="true">
        <span class="within" style={{ width: percent(Math.min(used, guaranteed) / end) }} />
        <span class="beyond" style={{ width: percent(Math.max(0, used - guaranteed) / end) }} />
        {guaranteed > 0 && <span class="tick" style={{ left: percent(guaranteed / end) }} />}
      </span>
      <span class="numbers">
        <b>{number(used)}</b> in use <small>{`${place}, ${most}`}</small>
      </span>
    </div>
  );
}

function Share({ share, row }) {
  if (!share) return null;
  return (
    <div class="measure">
      <span class="term">Past day</span>
      <span class="track" aria-hidden="true">
        <span class="within" style={{ width: percent(share.used ?? 0) }} />
        {share.due !== null && <span class="tick" style={{ left: percent(share.due) }} />}
      </span>
      <span class="numbers">
        <b>{share.used === null ? "–" : ratio(share.used, 1)}</b> of the GPU hours{" "}
        <small>{`its weight of ${number(row.weight, row.weight % 1 ? 2 : 0)} stands for ${share.due === null ? "–" : ratio(share.due, 1)}`}</small>
      </span>
    </div>
  );
}

const unitOf = (unit) => unit.replace("CO2e", "CO₂e");
const amount = (value, unit) => (unit === "USD" ? money(value) : `${number(value, Math.abs(value) < 10 ? 2 : 0)} ${unitOf(unit)}`);

function Budget({ budget }) {
  const { spent, promised, limit, over } = budgetParts(budget);
  return (
    <div class={over ? "measure over" : "measure"}>
      <span class="term">
        {unitOf(budget.unit)} <small>a {budget.period}</small>
      </span>
      <span class="track" aria-hidden="true">
        <span class="within" style={{ width: percent(spent) }} />
        <span class="promised" style={{ width: percent(promised) }} />
        {over && <span class="tick" style={{ left: percent(limit) }} />}
      </span>
      <span class="numbers">
        <b>{amount(budget.used, budget.unit)}</b> of {amount(budget.budget, budget.unit)}{" "}
        <small>
          {budget.committed > 0 && `${amount(budget.committed, budget.unit)} more for running jobs, `}
          {budget.left < 0 ? <b>{amount(-budget.left, budget.unit)} over</b> : `${amount(budget.left, budget.unit)} left`}
          {`, anew ${instant(budget.begins_again)}`}
        </small>
      </span>
    </div>
  );
}

const Rows = ({ row, title }) => (
  <>
    <Gpus row={row} title={title} />
    {row.budgets.map((budget) => (
      <Budget key={budget.kind} budget={budget} />
    ))}
  </>
);

function Team({ team, share }) {
  const { tenant, whole, queues } = team;
  const name = tenant === "*" ? "every other team" : tenant;
  return (
    <section class="series team" aria-label={name}>
      <h2>
        {name}{" "}
        <small>
          {whole && tenant !== "*" && `${plural(whole.jobs_running, "job")} running, ${number(whole.gpu_hours_day, 1)} GPU hours in the past day`}
        </small>
      </h2>
      {whole && <Rows row={whole} title="GPUs" />}
      {whole && tenant !== "*" && <Share share={share} row={whole} />}
      {queues.map((row) => (
        <Rows key={row.queue} row={row} title={`Queue ${row.queue}`} />
      ))}
    </section>
  );
}

export function TeamsPage({ who }) {
  const [filter, setFilter] = useState("");
  const { data, error } = useResource("quotas", (signal) => get("quotas", { signal }), { every: 15000, on: () => true });
  const teams = useMemo(() => ordered(teamsOf(data ?? [])), [data]);
  const shares = useMemo(() => (who && who.role !== "user" ? sharesOf(teams) : new Map()), [teams, who]);
  const wanted = teams.filter(({ tenant }) => tenant.includes(filter.trim()));
  return (
    <>
      <Title text="Teams" />
      <Notice error={error} what="Teams" />
      {!data && !error && <Waiting what="the quotas" />}
      {data && (
        <>
          {teams.length > 8 && (
            <form class="filters" role="search" aria-label="Teams" onSubmit={(event) => event.preventDefault()}>
              <label>
                Team
                <input type="search" value={filter} autoComplete="off" spellcheck={false} onInput={(event) => setFilter(event.target.value)} />
              </label>
            </form>
          )}
          <p class="legend">
            <span>
              <span class="sample-box within" aria-hidden="true" />
              in use within the guarantee, or used
            </span>
            <span>
              <span class="sample-box beyond" aria-hidden="true" />
              in use beyond it
            </span>
            <span>
              <span class="sample-box promised" aria-hidden="true" />
              expected of running jobs
            </span>
            <span>
              <span class="sample-tick" aria-hidden="true" />
              guarantee, share by weight, budget
            </span>
          </p>
          <div class="cards">
            {wanted.slice(0, MOST).map((team) => (
              <Team key={team.tenant} team={team} share={shares.get(team.tenant)} />
            ))}
          </div>
          {wanted.length > MOST && <p class="empty">{plural(wanted.length - MOST, "more team")}: the filter finds them.</p>}
          {wanted.length === 0 && <p class="empty">No team has that name.</p>}
        </>
      )}
    </>
  );
}
