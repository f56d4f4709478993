-- What the ledger was priced by, what hours came to, and what jobs would have used elsewhere.

-- What an hour at a pool was priced by, figure by figure. rates_id follows from the content, so that a row is written once
-- and never changed.
create table helio.rates (
    rates_id                bigint primary key,
    hour                    timestamptz not null,
    watts_per_gpu           double precision not null,
    pue                     double precision not null,
    price_usd_per_gpu_h     double precision not null,
    electricity_usd_per_kwh double precision not null,
    carbon_g_per_kwh        double precision,
    pue_issued_at           timestamptz,
    price_issued_at         timestamptz,
    electricity_issued_at   timestamptz,
    carbon_issued_at        timestamptz,
    pue_estimated           boolean not null,
    price_estimated         boolean not null,
    electricity_estimated   boolean not null,
    carbon_estimated        boolean not null,
    site                    text not null,
    pool                    text,
    pue_source              text,
    price_source            text,
    electricity_source      text,
    carbon_source           text,
    carbon_kind             text,
    carbon_factor           text
);
comment on column helio.rates.carbon_issued_at is 'null: the static figure of the site file, as its source says';
comment on column helio.rates.electricity_source is 'null: electricity is part of the rent';

alter table helio.ledger add column rates_id bigint;
comment on column helio.ledger.rates_id is 'null: written before rates were kept, and priced by the static figures';
create index ledger_fenced on helio.ledger (hour) where fenced;

-- The latest word on each hour that has begun. What a new leader prices by, and what forecasts are held against.
create table helio.actuals (
    site      text not null,
    pool      text not null,
    signal    smallint not null,
    hour      timestamptz not null,
    value     double precision not null,
    issued_at timestamptz not null,
    estimated boolean not null,
    kind      text not null,
    factor    text,
    source    text,
    constraint actuals_pkey primary key (site, signal, pool, hour)
) with (fillfactor = 70);
create index actuals_hour on helio.actuals using brin (hour);
comment on column helio.actuals.estimated is
    'by its source, or because it was issued before the hour began and nothing later confirmed it';

-- A job's first placement: where it could have started first, and when.
alter table helio.placements
    add column least_at timestamptz,
    add column least_site text,
    add column least_pool text;

-- One row a job or task that ran to its end.
create table helio.baselines (
    job_id                uuid not null,
    task                  integer not null,
    ended_at              timestamptz not null,
    run_ms                bigint not null,
    wait_ms               bigint not null,
    energy_j              bigint not null,
    carbon_mg             bigint not null,
    cost_micro_usd        bigint not null,
    home_energy_j         bigint not null,
    home_carbon_mg        bigint not null,
    home_cost_micro_usd   bigint not null,
    least_wait_ms         bigint not null,
    least_energy_j        bigint not null,
    least_carbon_mg       bigint not null,
    least_cost_micro_usd  bigint not null,
    estimated             boolean not null,
    tenant                text not null,
    home_site             text,
    home_carbon_kind      text,
    least_site            text,
    least_carbon_kind     text,
    constraint baselines_pkey primary key (job_id, task)
);
create index baselines_ended on helio.baselines using brin (ended_at);
comment on table helio.baselines is
    'What a job used, and what it would have at its home site at once, and where it could have started first.';
comment on column helio.baselines.home_carbon_kind is
    'kind and factor that used and baseline share, or mixed; null: not known of one of them';
create trigger append_only before update or delete or truncate on helio.baselines
    for each statement execute function helio.refuse_change();
create trigger append_only before update or delete or truncate on helio.rates
    for each statement execute function helio.refuse_change();

-- "average lifecycle"; null where no intensity is known.
create function helio.carbon_kind_word(kind text, factor text) returns text language sql immutable parallel safe
    return case when kind is not null or factor is not null then concat_ws(' ', coalesce(kind, 'average'), factor) end;

-- What came true before hours were kept, as far as the issues tell: a new leader prices the attempts that run now by it.
insert into helio.actuals (site, pool, signal, hour, value, kind, factor, source, estimated, issued_at)
select distinct on (site, signal, pool, hour) site, pool, signal, hour, value, kind, factor, source,
    estimated or issued_at < hour, issued_at
from (
    select i.site, i.pool, i.signal, i.kind, i.factor, i.source, i.estimated, i.issued_at, i."values"[n] as value,
        date_trunc('hour', i.start_at + make_interval(secs => (n - 1)::float8 * i.step_s), 'UTC') as hour
    from helio.series i cross join lateral generate_series(1, cardinality(i."values")) as n
    where i.signal between 1 and 4 and i.kind <> 'marginal' and i.issued_at between now() - interval '9 days' and now()
) p
where hour between now() - interval '7 days' and now() and value < 'infinity'
  and case when signal = 3 then value between 0 and 1e5 when signal = 4 then value between 1 and 10 else true end
order by site, signal, pool, hour, issued_at desc;
