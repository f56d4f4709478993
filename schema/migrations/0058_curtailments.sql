-- Curtailments: limits on the GPU power of a site, each for a time, and what keeping to them cost. They are kept when they are over.
create table helio.curtailments (
    site         text not null,
    set_at       timestamptz not null,
    from_at      timestamptz not null,
    until_at     timestamptz not null check (until_at > from_at),
    percent      smallint not null check (percent between 0 and 100),
    reason       text,
    actor        text not null,
    ended_at     timestamptz,
    judged_at    timestamptz,
    full_w       bigint not null check (full_w >= 0),
    used_w       bigint not null check (used_w >= 0),
    kept_w       bigint not null check (kept_w >= 0),
    jobs_stopped integer not null check (jobs_stopped >= 0),
    lost_gpu_ms  bigint not null check (lost_gpu_ms >= 0),
    primary key (site, set_at)
);
comment on table helio.curtailments is 'Limits on the GPU power of a site, each for a time, and what keeping to them cost.';
comment on column helio.curtailments.set_at is 'When an operator ordered it.';
comment on column helio.curtailments.until_at is 'When it ends by itself; it no longer holds then.';
comment on column helio.curtailments.percent is 'Of the power with all GPUs of the site in use.';
comment on column helio.curtailments.reason is 'Why, as the operator gave it.';
comment on column helio.curtailments.actor is 'Who ordered it.';
comment on column helio.curtailments.ended_at is 'When an operator ended it before that; null: nobody did.';
comment on column helio.curtailments.judged_at is 'When the figures were true; null: it has not begun.';
comment on column helio.curtailments.full_w is 'W with all GPUs of the site in use, by the model of power.';
comment on column helio.curtailments.used_w is 'W of the GPUs in use, by the model of power.';
comment on column helio.curtailments.kept_w is 'W above the limit, of jobs that may not be stopped and of work outside the federation.';
comment on column helio.curtailments.jobs_stopped is 'How many jobs were told to leave for it.';
comment on column helio.curtailments.lost_gpu_ms is 'Run time that those jobs had not saved, times their GPUs: an estimate.';
