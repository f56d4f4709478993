-- The ledger's views: figures, provenance, baselines, and forecasts against what came true.
begin;
select no_plan();

create temporary table day as select '2026-03-29 00:00+00'::timestamptz as d; -- clocks go forward in Europe at 01:00
insert into helio.rates (rates_id, site, pool, hour, watts_per_gpu, pue, price_usd_per_gpu_h, electricity_usd_per_kwh,
    carbon_g_per_kwh, pue_estimated, price_estimated, electricity_estimated, carbon_estimated, carbon_source, carbon_kind,
    carbon_factor, carbon_issued_at)
select i, 'lulea', 'a', d + make_interval(hours => i), 1000, 1, 2, 0, 100 * i, false, false, false, i = 3, 'grid', 'average',
    'lifecycle', d + make_interval(hours => i) from day, generate_series(1, 3) i;
insert into helio.attempts (job_id, task, epoch, kind, completes, fenced, started_at, ended_at, at, run_ms, gpu_ms, energy_j,
    units_done, site)
select '0199dddd-0000-7000-8000-000000000001'::uuid, -1, e, 5, e = 2, e = 1, d, d, d, 1, case e when 1 then 1800000 else 10800000 end,
    0, 30, 'lulea' from day, generate_series(1, 2) e;
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, pool,
    gpu_model, queue, provenance, rates_id)
select '0199dddd-0000-7000-8000-000000000001'::uuid, -1, 2, d + make_interval(hours => i), 3600000, 3600000, 100000 * i, 2000000,
    false, 'led', 'lulea', 'a', 'H100', 'standard', case i when 1 then 'measured' else 'model' end, i
from day, generate_series(1, 3) i
union all
select '0199dddd-0000-7000-8000-000000000001'::uuid, -1, 1, d + interval '1 hour', 1800000, 1800000, 50000, 1000000, true, 'led',
    'lulea', 'a', 'H100', 'standard', 'model', 1 from day;

select results_eq($$select time, energy_kwh, carbon_g, cost_usd, carbon_g_per_kwh, carbon_kind, carbon_factor, carbon_source,
        carbon_estimated, energy_provenance from helio_report.ledger where tenant = 'led' and not fenced order by time$$,
    $$select d + make_interval(hours => i), 1::float8, 100.0 * i::float8, 2::float8, 100.0 * i::float8, 'average', 'lifecycle',
        'grid', i = 3, case i when 1 then 'measured' else 'model' end from day, generate_series(1, 3) i$$,
    'each hour with what it was priced by');
insert into helio.rates (rates_id, site, pool, hour, watts_per_gpu, pue, price_usd_per_gpu_h, electricity_usd_per_kwh, pue_estimated,
    price_estimated, electricity_estimated, carbon_estimated, pue_source, price_source, electricity_source, carbon_source, pue_feed_state,
    pue_last_value_at, price_feed_state, price_last_value_at, carbon_feed_state)
select 9, 'lulea', 'a', d, 1000, 1, 2, 0, true, true, false, false, 'hall', 'spot', 'tariff', 'grid', 2, d, 3, d + interval '90 minutes', 1
from day;
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, provenance, rates_id)
select '0199dddd-0000-7000-8000-000000000001'::uuid, -1, 9, d, 1, 1, 1, 1, false, 'feeds', 'lulea', 'model', 9 from day;
select results_eq($$select pue_source, price_source, electricity_source, carbon_source from helio_report.ledger where tenant = 'feeds'$$,
    $$values ('hall, last good 2026-03-29T00Z', 'spot, no data since 2026-03-29T01Z', 'tariff', 'grid')$$,
    'a feed that had failed is named so');
select is((select sum(energy_j) from helio.ledger where tenant = 'led'), 12600000::numeric, 'whole hours over the change of clocks');
select results_eq($$select time, jobs, gpu_seconds, energy_kwh, carbon_g, cost_usd, fenced_gpu_seconds, carbon_kind,
        round(carbon_estimated_ratio::numeric, 4), round(measured_ratio::numeric, 4)
    from helio_report.usage_daily where tenant = 'led'$$,
    $$select d, 1::bigint, 12600::float8, 3.5::float8, 650::float8, 7::float8, 1800::float8, 'average lifecycle', 0.2857, 0.2857
    from day$$, 'a day is the sum of its hours, fenced ones too');
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, pool,
    gpu_model, queue, provenance, rates_id)
select '0199dddd-0000-7000-8000-00000000000f', -1, 1, d + interval '1 hour', 1, 3600000, 1, 1, false, 'led-modelled', 'lulea', 'a',
    'H100', 'standard', 'model', l.rates_id
from day, (select rates_id from helio.ledger l where tenant = 'led' and provenance = 'measured' limit 1) l;
select results_eq($$select fenced_gpu_seconds, carbon_estimated_ratio, measured_ratio from helio_report.usage_daily
    where tenant = 'led-modelled'$$, $$values (0::float8, 0::float8, 0::float8)$$, 'nothing of a kind is 0, not unknown');
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, pool,
    gpu_model, queue, provenance, estimated)
select '0199dddd-0000-7000-8000-00000000000e', -1, e, d + interval '1 hour', 1000 * e, 1, 1, 1, false, 'led-unseen', 'lulea', 'a',
    'H100', 'standard', 'model', e = 2 from day, generate_series(1, 2) e;
select results_eq($$select epoch, time_estimated from helio_report.ledger where tenant = 'led-unseen' order by epoch$$,
    $$values (1, false), (2, true)$$, 'an estimated time is marked');
select results_eq($$select gpu_seconds, estimated_gpu_seconds from helio_report.usage_daily where tenant = 'led-unseen'$$,
    $$values (3::float8, 2::float8)$$, 'and summed up by day');
select is((select sum(gpu_seconds) from helio_report.usage_daily where tenant = 'led'),
    (select sum(gpu_seconds) from helio_report.ledger where tenant = 'led'), 'usage and ledger have one sum');
select throws_ok('update helio.rates set pue = 2', 'HE002', null, 'rates stay as they were');
select throws_ok('delete from helio.baselines', 'HE002', null, 'and so do baselines');

-- Baselines: the fenced half hour is the federation's doing.
insert into helio.baselines (job_id, task, tenant, ended_at, run_ms, wait_ms, energy_j, carbon_mg, cost_micro_usd, home_site,
    home_energy_j, home_carbon_mg, home_cost_micro_usd, home_carbon_kind, least_site, least_wait_ms, least_energy_j,
    least_carbon_mg, least_cost_micro_usd, least_carbon_kind, estimated)
select ('0199dddd-0000-7000-8000-00000000000' || i)::uuid, -1, 'led', d + interval '5 hours', 10800000, 60000, 10800000, 600000,
    6000000, 'dresden', 14400000, 2000000, 9000000, case i when 1 then 'average lifecycle' end, case i when 1 then 'oslo' end,
    10000, 10800000, 700000, 8000000, 'average lifecycle', i = 2
from day, generate_series(1, 2) i;
select results_eq($$select baseline, carbon_kind, jobs, jobs_estimated, carbon_g_saved, cost_usd_saved, energy_kwh_saved,
        wait_seconds_saved, used_cost_usd, baseline_cost_usd
    from helio_report.savings_daily where tenant = 'led' order by baseline, carbon_kind nulls last$$,
    $$values ('home', 'average lifecycle', 1::bigint, 0::bigint, 1350::float8, 2::float8, 0.5::float8, -60::float8, 7::float8, 9::float8),
        ('home', null, 1, 1, null, 3, 1, -60, 6, 9),
        ('least-wait', 'average lifecycle', 1, 0, 50, 1, -0.5, -50, 7, 8)$$,
    'used against both baselines, nothing said of what is not known');

select results_eq($$select baseline, baseline_site, carbon_kind, estimated, carbon_g_saved, cost_usd_saved, wait_seconds_saved, used_cost_usd
    from helio_report.savings where tenant = 'led' order by estimated, baseline$$,
    $$values ('home', 'dresden', 'average lifecycle', false, 1400::float8, 3::float8, -60::float8, 6::float8),
        ('least-wait', 'oslo', 'average lifecycle', false, 100, 2, -50, 6),
        ('home', 'dresden', null, true, null, 3, -60, 6)$$,
    'and of each job, without what fenced attempts used');
select results_eq($$select baseline, sum(energy_kwh_saved) from helio_report.savings where tenant = 'led' group by baseline order by baseline$$,
    $$select baseline, sum(energy_kwh_saved) + (select sum(energy_kwh) from helio_report.ledger where tenant = 'led' and fenced)
    from helio_report.savings_daily where tenant = 'led' group by baseline order by baseline$$, 'whose sum by day is savings_daily with these');

-- Forecasts
insert into helio.series (site, pool, signal, kind, factor, source, estimated, issued_at, start_at, step_s, "values")
select 'fc', '', 3, 'average', 'lifecycle', 'grid', false, d + make_interval(mins => 60 * i + 5), d + make_interval(hours => i), 3600,
    array[100 + 10 * i, 120, 140, 160]::float8[] from day, generate_series(0, 2) i;
insert into helio.actuals (site, pool, signal, hour, value, kind, factor, source, estimated, issued_at)
select 'fc', '', 3, d + make_interval(hours => i), 100 + 10 * i, 'average', case i when 3 then 'direct' else 'lifecycle' end, 'grid',
    i = 2, d + make_interval(mins => case i when 4 then 0 else 60 * i + 5 end) from day, generate_series(0, 4) i;
select results_eq($$select extract(hour from time at time zone 'UTC')::int, horizon_h, absolute_error,
        round(ape_ratio::numeric, 4), actual_estimated, kind
    from helio_report.forecast_error where site = 'fc' order by 1, 2$$,
    $$values (1, 0, 10::float8, 0.0909, false, 'average'), (2, 0, 0::float8, 0.0000, true, 'average'),
        (2, 1, 20::float8, 0.1667, true, 'average')$$,
    'by horizon; not of hours that had begun, of other factors, nor of what nothing confirmed');
select is((select count(*) from helio_report.forecast_error_by_horizon where site = 'fc'), 0::bigint, 'means are of the last week');

-- A transfer is a row beside the run's in the hour of the start, and a part of every sum.
insert into helio.ledger (job_id, task, epoch, hour, gpu_ms, energy_j, carbon_mg, cost_micro_usd, fenced, tenant, site, pool,
    gpu_model, queue, provenance, rates_id, part)
select '0199dddd-0000-7000-8000-000000000009'::uuid, -1, 1, d + interval '1 hour', g, 3600000, 100000, 2000000, false, 'moved',
    'lulea', 'a', 'H100', 'standard', case g when 0 then 'transfer' else 'model' end, 1, case g when 0 then 1 else 0 end
from day, (values (3600000), (0)) as v (g);
select results_eq($$select energy_provenance, gpu_seconds from helio_report.ledger where tenant = 'moved' order by gpu_seconds$$,
    $$values ('transfer', 0::float8), ('model', 3600)$$, 'the ledger shows both');
select results_eq($$select jobs, gpu_seconds, cost_usd, energy_kwh, carbon_g, transfer_cost_usd, transfer_energy_kwh,
        transfer_carbon_g from helio_report.usage_daily where tenant = 'moved'$$,
    $$values (1::bigint, 3600::float8, 4::float8, 2::float8, 200::float8, 2::float8, 1::float8, 100::float8)$$,
    'the sum contains the transfer, which is shown apart, too');
select throws_ok($$insert into helio.ledger select * from helio.ledger where tenant = 'moved' and part = 1$$, '23505', null,
    'an attempt is charged its transfer once');
insert into helio.jobs (job_id, submitted_at, time_limit_ms, class_id, gpus, nodes, tier, kind, tenant, queue, spec_hash, source)
select '0199dddd-0000-7000-8000-000000000009', d, 1, 1, 1, 1, 1, 1, 'moved', 'standard', 'h', 's' from day;
insert into helio.decisions (decision_id, at, class_id, policy_version) select 990001, d, 1, 'x' from day;
insert into helio.candidates (decision_id, rank, site, score_micro_usd, cost_micro_usd, energy_j, carbon_mg, transfer_ms,
    egress_micro_usd, transfer_j, transfer_carbon_mg) values (990001, 0, 'lulea', 9, 1000000, 3600000, 5000, 1500, 2000000, 3600000, 1000);
insert into helio.placements (job_id, task, epoch, nodes, gpus, decision_id, score_micro_usd, planned_cost_micro_usd,
    planned_energy_j, planned_carbon_mg, at, site, pool)
select '0199dddd-0000-7000-8000-000000000009'::uuid, -1, 1, 1, 1, 990001, 9, 3000000, 7200000, 6000, d, 'lulea', 'a' from day;
select results_eq($$select transfer_s, egress_usd, cost_usd, energy_kwh, carbon_g from helio_report.placement_candidates
        where job_id = helio.job_text('0199dddd-0000-7000-8000-000000000009'::uuid, -1)$$,
    $$values (1.5::float8, 2::float8, 3::float8, 2::float8, 6::float8)$$, 'a candidate''s figures contain its transfer');

select * from finish();
rollback;
