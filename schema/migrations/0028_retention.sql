-- What is kept for a time only (retention: in broker.yaml), and what is rolled up before it goes.

create table helio.retention (
    what      text primary key,
    deleted   bigint not null,
    oldest_at timestamptz,
    ran_at    timestamptz not null,
    passed    uuid not null default '00000000-0000-0000-0000-000000000000'
);
comment on column helio.retention.oldest_at is 'of what is left, as of the last look; null: there is nothing';
comment on column helio.retention.passed is 'of keys: jobs with smaller ids have none, but for some that were open then';

-- Samples that are gone, by the hour.
create table helio.utilization (
    hour           timestamptz not null,
    gpus_allocated bigint not null,
    gpus_total     bigint not null,
    site           text not null,
    pool           text not null,
    primary key (site, pool, hour)
);
comment on table helio.utilization is 'Sums over the samples of an hour that retention deleted: a share is their quotient.';

-- The hour and the day (UTC) that a time is in. Immutable, where date_trunc is not: so there can be an index on it, and a
-- condition on the time of a view is one on the table.
create function helio.utc_hour(at timestamptz) returns timestamptz language sql immutable parallel safe
    return date_bin('1 hour', at, '2000-01-01 00:00:00+00');
create function helio.utc_day(at timestamptz) returns timestamptz language sql immutable parallel safe
    return date_bin('1 day', at, '2000-01-01 00:00:00+00');

-- A day's range of a large table is read, not the table. The newest pages are summarised as they fill, not when a fifth of the
-- table is new.
create index ledger_day on helio.ledger using brin (helio.utc_day(hour)) with (autosummarize = on);
create index attempts_day on helio.attempts using brin (helio.utc_day(ended_at)) with (autosummarize = on);
create index attempts_hour on helio.attempts using brin (helio.utc_hour(started_at)) with (autosummarize = on);
create index baselines_day on helio.baselines using brin (helio.utc_day(ended_at)) with (autosummarize = on);
create index capacity_samples_hour on helio.capacity_samples using brin (helio.utc_hour(at)) with (autosummarize = on);
create index jobs_submitted on helio.jobs using brin (submitted_at) with (autosummarize = on);
create index placements_at on helio.placements using brin (at) with (autosummarize = on);
create index transitions_at on helio.transitions using brin (at) with (autosummarize = on);
alter index helio.capacity_samples_at set (autosummarize = on);
alter index helio.series_issued_at set (autosummarize = on);
alter index helio.ledger_hour set (autosummarize = on);
alter index helio.actuals_hour set (autosummarize = on);
alter index helio.baselines_ended set (autosummarize = on);
alter index helio.site_ledger_hour set (autosummarize = on);
