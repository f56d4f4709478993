-- Budgets: what is gone of the period that is. One tenant; times are of the day and the month that are, and the tests say only
-- what holds at every hour of them.
begin;
select no_plan();

select has_table('helio', 'budgets', 'table budgets');
select col_is_pk('helio', 'budgets', array ['tenant', 'queue', 'kind'], 'one of each kind');
prepare budget(text, text, int, int, bigint) as insert into helio.budgets (tenant, queue, kind, period, amount, set_at)
    values ($1, $2, $3, $4, $5, now());
select throws_ok($$execute budget('bt', '', 3, 1, 1)$$, '23514', null, 'a kind that is not listed');
select throws_ok($$execute budget('bt', '', 0, 4, 1)$$, '23514', null, 'a period that is not listed');
select throws_ok($$execute budget('bt', '', 0, 1, -1)$$, '23514', null, 'less than nothing');
select throws_ok($$execute budget('*', '', 0, 1, 1)$$, '23514', null, 'of each tenant only in a queue');
select is(array(select helio.budget_kind_word(i::smallint) from generate_series(0, 2) i), '{gpu,money,carbon}', 'kinds');
select is(array(select helio.period_word(i::smallint) from generate_series(0, 3) i), '{"",day,week,month}', 'periods');

insert into helio.tenants (tenant) values ('bt'), ('bu') on conflict do nothing;
execute budget('bt', '', 0, 1, 36000000); -- 10 GPU-hours a day
execute budget('bt', '', 1, 3, 20000000); -- 20 USD a month
execute budget('bt', 'batch', 2, 2, 500000000); -- 500 kg a week
execute budget('*', 'batch', 1, 1, 5000000);
execute budget('bu', 'batch', 1, 0, 0); -- not for this one
execute budget('bu', '', 1, 0, 0);

create temporary table day as select date_trunc('day', now(), 'UTC') as d;
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, queue)
select ('0199dddd-0000-7000-8000-00000000000' || i)::uuid, -1, 1, d + at, 3600000, 0, 1000000, 1000000, fenced, 'bt', 's', queue
from day, (values (1, interval '0 hours', false, 'batch'), (2, interval '0 hours', true, 'standard'),
    (3, interval '-40 days', false, 'batch'), (4, interval '0 hours', false, null)) v (i, at, fenced, queue);

select results_eq($$select queue, kind, period, unit, budget, used, committed, remaining, round(gone_ratio::numeric, 3), of_each
        from helio_report.budgets where tenant = 'bt' order by queue nulls first, kind$$,
    $$values (null, 'gpu', 'day', 'GPU-hours', 10::float8, 3::float8, 0::float8, 7::float8, 0.3, false),
        (null, 'money', 'month', 'USD', 20, 3, 0, 17, 0.15, false),
        ('batch', 'carbon', 'week', 'kg CO2e', 500, 1, 0, 499, 0.002, false),
        ('batch', 'money', 'day', 'USD', 5, 1, 0, 4, 0.2, true)$$,
    'what is booked counts in its period, fenced attempts too; what each tenant has in a queue is said of each');
prepare days as select day, tenant, queue, gpu_ms, carbon_mg, cost_micro_usd from helio.ledger_days order by 1, 2, 3;
prepare ledger as select date_trunc('day', hour, 'UTC'), tenant, coalesce(queue, ''), sum(gpu_ms)::bigint, sum(carbon_mg)::bigint,
    sum(cost_micro_usd)::bigint from helio.ledger group by 1, 2, 3 order by 1, 2, 3;
select results_eq('days', 'ledger', 'the days are the ledger''s');
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, queue)
select '0199dddd-0000-7000-8000-000000000001', -1, 1, d + at, 5, 0, 5, 5, false, 'bt', 's', 'batch'
from day, (values (interval '0 hours'), (interval '-50 days')) v (at) on conflict do nothing;
select results_eq('days', 'ledger', 'and of what is there already nothing is added');

-- Two rows of one site and day: one below zero, which counts as nothing, and an estimate below zero that is taken back.
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, queue, part)
select ('0199dddd-0000-7000-8000-00000000030' || i)::uuid, -1, 1, d - interval '70 days', sign * 10, 0, sign * 5, cost, part > 1, 'bt', 's', queue, part
from day, (values (1, 1, 3000000, 0, 'batch'), (2, 1, -8000000, 0, 'batch'), (3, 1, -500000, 2, 'batch'), (3, -1, 500000, 3, 'batch'),
    (3, 1, 200000, 4, 'batch'), (4, 1, 700000, 2, 'batch'), (4, -1, -700000, 3, 'batch'), (5, 1, -900000, 0, null)) v (i, sign, cost, part, queue);
select results_eq($$select queue, cost_micro_usd, charged_micro_usd from helio.ledger_days, day
        where tenant = 'bt' and ledger_days.day = d - interval '70 days' order by queue$$,
    $$values ('', -900000::bigint, 0::bigint), ('batch', -4800000, 3200000)$$, 'no row adds to a budget of money, and no reversal takes from it');
select results_eq('days', 'ledger', 'while the days have the true cost');

insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, queue)
select ('0199dddd-0000-7000-8000-00000000020' || i)::uuid, -1, 1, d - interval '60 days', 9223372036854775807, 0, 0, -9223372036854775807,
    false, 'bt', 's', 'batch' from day, generate_series(1, 3) i;
select results_eq($$select gpu_ms, cost_micro_usd from helio.ledger_days, day where tenant = 'bt' and ledger_days.day = d - interval '60 days'$$,
    $$values (9000000000000000000, -9000000000000000000)$$, 'what no sum can hold fails no commit');
select is_empty($$select * from helio_report.budgets where tenant in ('bu', '*')$$, 'who has none is not listed');
select is((select ends_at from helio_report.budgets where tenant = 'bt' and kind = 'gpu'), (select d + interval '1 day' from day),
    'when it begins again');
select ok(begins_at = date_trunc('month', now(), 'UTC') and ends_at = (date_trunc('month', now() at time zone 'UTC') + interval '1 month') at time zone 'UTC',
    'a month is one of the UTC calendar') from helio_report.budgets where tenant = 'bt' and kind = 'money' and queue is null;
set local timezone = 'Pacific/Auckland';
select is((select ends_at from helio_report.budgets where tenant = 'bt' and kind = 'money' and queue is null),
    (date_trunc('month', now() at time zone 'UTC') + interval '1 month') at time zone 'UTC', 'wherever the reader is');
set local timezone = 'UTC';

-- A job that runs, and one that has yet to begin. Periods of any length are cut, so that sums are compared, of a month and more.
update helio.federation set open_from = '00000000-0000-0000-0000-000000000000';
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source)
select ('0199dddd-0000-7000-8000-00000000010' || i)::uuid, now(), 7200000, 1, 1, 1, 1, 1, 'bt', 'standard', 'h', 's' from generate_series(1, 3) i;
insert into helio.job_state (job_id, task, state, before, intent, epoch, attempts, failures, site_failures, gpu_ms, cost_micro_usd,
    energy_j, carbon_mg, units_done, site, pool, started_at, at)
select ('0199dddd-0000-7000-8000-00000000010' || i)::uuid, -1, state, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 's', 'p', started, now()
from (values (1, 4, now() - interval '30 minutes'), (2, 3, null), (3, 4, now() - interval '90 minutes')) v (i, state, started);
insert into helio.placements (job_id, task, epoch, nodes, gpus, decision_id, score_micro_usd, planned_cost_micro_usd, planned_energy_j,
    planned_carbon_mg, start_at, at, site, pool, expected_ms, expected_high_ms)
select ('0199dddd-0000-7000-8000-00000000010' || i)::uuid, -1, epoch, 1, 1, 1, 0, 1000000, 0, 0, now() - since, now(), 's', 'p', 3600000, 4000000
from (values (1, 1, interval '3 hours'), (1, 2, interval '31 minutes'), (2, 2, interval '1 hour'), (3, 2, interval '91 minutes')) v (i, epoch, since);
-- 0.5 of the first until now and 0.5 yet; 1 of the second yet; of the third, which outlasts both figures, 1.5 and 0.5 to its limit
select is(sum(used - 3), 2.0::float8, 'what runs has used by what was foreseen') from helio_report.budgets
where tenant = 'bt' and kind = 'money' and queue is null and now() - begins_at > interval '2 hours'
having count(*) > 0;
select is(sum(committed), 2.0::float8, 'and is foreseen to use yet') from helio_report.budgets
where tenant = 'bt' and kind = 'money' and queue is null and ends_at - now() > interval '2 hours'
having count(*) > 0;
select ok(used + committed between 5 and 7, 'across a bound what belongs elsewhere does not count') from helio_report.budgets
where tenant = 'bt' and kind = 'money' and queue is null;

select * from finish();
rollback;
