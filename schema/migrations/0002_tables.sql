-- The tables. One writer (the broker that leads) in large batches; no foreign keys: the writer's order of rows within a
-- batch is its own, and a check per row would cost more than the row. Hot rows are narrow and carry no index on what
-- changes.

-- ---- the federation and who leads it ----------------------------------------------------------------------

create table helio.federation (
    one               boolean primary key default true check (one),
    incarnation       bigint not null default 0,
    timeline          integer,
    system_identifier bigint,
    broker_epoch      bigint not null default 0,
    holder            text,
    last_batch        bigint not null default 0,
    taken_at          timestamptz,
    seed              bigint not null
);
insert into helio.federation (seed)
select ('x' || right(replace(gen_random_uuid()::text, '-', ''), 16))::bit(64)::bigint & 9223372036854775807;
comment on table helio.federation is
    'One row. broker_epoch rises with each leader, incarnation when the WAL timeline or the database system changed.';

create table helio.tenants (
    tenant     text primary key check (tenant <> ''),
    home_site  text,
    created_at timestamptz not null default now()
);

create table helio.tokens (
    token_id   text primary key,
    hash       bytea not null check (octet_length(hash) = 32),
    tenant     text not null,
    user_name  text not null,
    role       text not null check (role in ('user', 'operator', 'admin')),
    created_at timestamptz not null,
    expires_at timestamptz,
    revoked_at timestamptz
);
comment on column helio.tokens.hash is 'SHA-256 of the secret part; the secret itself is nowhere.';

create table helio.site_keys (
    public_key text primary key,
    site       text not null,
    created_at timestamptz not null,
    revoked_at timestamptz
);

create table helio.queues (
    queue         text primary key,
    priority      integer not null,
    tier          smallint not null check (tier between 0 and 2),
    time_limit_ms bigint not null check (time_limit_ms > 0)
);
insert into helio.queues values
    ('express', 1000, 2, 3600000),
    ('reserved', 800, 2, 86400000),
    ('standard', 500, 1, 86400000),
    ('batch', 100, 1, 86400000),
    ('preemptible', 10, 0, 86400000);

-- ---- sites ------------------------------------------------------------------------------------------------

create table helio.sites (
    site                    text primary key,
    state                   smallint not null check (state between 0 and 4),
    draining                boolean not null,
    drain_reason            text,
    backend                 text,
    region                  text,
    latitude                double precision not null,
    longitude               double precision not null,
    timezone                text,
    pue                     double precision not null,
    carbon_g_per_kwh        double precision not null,
    electricity_usd_per_kwh double precision not null,
    containers              boolean not null,
    leases                  boolean not null,
    agent_version           text,
    seen_at                 timestamptz
);
comment on column helio.sites.carbon_g_per_kwh is 'The site file''s constant figure; below 0 = not known.';

create table helio.pools (
    site                  text not null,
    pool                  text not null,
    gpu                   text,
    gpu_memory_bytes      bigint not null,
    nodes                 integer not null,
    max_nodes             integer not null,
    gpus_per_node         integer not null,
    cpus_per_node         integer not null,
    memory_bytes_per_node bigint not null,
    interconnect          smallint not null,
    sharing               smallint not null,
    owned                 boolean not null,
    price_usd_per_gpu_h   double precision not null,
    idle_w                double precision not null,
    base_w                double precision not null,
    slope_w               double precision not null,
    host_w                double precision not null,
    primary key (site, pool)
);

create table helio.capacity_now (
    site               text not null,
    pool               text not null,
    at                 timestamptz not null,
    nodes_up           integer not null,
    gpus_total         integer not null,
    gpus_allocated     integer not null,
    gpus_free          integer not null,
    gpus_reserved      integer not null,
    largest_block_gpus integer not null,
    jobs_running       integer not null,
    jobs_queued        integer not null,
    site_power_w       double precision not null,
    primary key (site, pool)
) with (fillfactor = 50);

create table helio.capacity_samples (
    site               text not null,
    pool               text not null,
    at                 timestamptz not null,
    nodes_up           integer not null,
    gpus_total         integer not null,
    gpus_allocated     integer not null,
    gpus_free          integer not null,
    gpus_reserved      integer not null,
    largest_block_gpus integer not null,
    jobs_running       integer not null,
    jobs_queued        integer not null,
    site_power_w       double precision not null,
    primary key (site, pool, at)
);
create index capacity_samples_at on helio.capacity_samples using brin (at);

-- Series exactly as issued: the newest of each, and every issue.
create table helio.series_now (
    site      text not null,
    pool      text not null,
    signal    smallint not null,
    kind      text not null,
    factor    text,
    source    text,
    estimated boolean not null,
    issued_at timestamptz not null,
    start_at  timestamptz not null,
    step_s    integer not null check (step_s > 0),
    "values"  double precision[] not null,
    p10       double precision[],
    p90       double precision[],
    primary key (site, pool, signal, kind)
);
create table helio.series (
    site      text not null,
    pool      text not null,
    signal    smallint not null,
    kind      text not null,
    factor    text,
    source    text,
    estimated boolean not null,
    issued_at timestamptz not null,
    start_at  timestamptz not null,
    step_s    integer not null check (step_s > 0),
    "values"  double precision[] not null,
    p10       double precision[],
    p90       double precision[],
    primary key (site, signal, issued_at, pool, kind)
);
create index series_issued_at on helio.series using brin (issued_at);

-- ---- jobs -------------------------------------------------------------------------------------------------

-- Never updated. One row for an array, however many tasks it has.
create table helio.jobs (
    job_id          uuid not null,
    submitted_at    timestamptz not null,
    time_limit_ms   bigint not null,
    class_id        bigint not null,
    gpus            integer not null,
    nodes           integer not null,
    tier            smallint not null,
    kind            smallint not null,
    tenant          text not null,
    user_name       text,
    queue           text not null,
    name            text,
    home_site       text,
    gpu_model       text,
    idempotency_key text,
    spec_hash       bytea not null,
    source          bytea not null,
    tasks           integer[],
    constraint jobs_pkey primary key (job_id)
);
create unique index jobs_idempotency on helio.jobs (tenant, idempotency_key) where idempotency_key is not null;
comment on column helio.jobs.source is 'The document as received, byte for byte.';
-- Documents are short and stay inside the row; what is long is compressed fast.
alter table helio.jobs alter column source set compression lz4;

-- Jobs with a task that is not over: what a new leader reads, and what lists of the living look through.
create table helio.open_jobs (
    job_id     uuid not null,
    tasks_left integer not null check (tasks_left > 0),
    constraint open_jobs_pkey primary key (job_id)
);

-- Ends of ids of jobs that are over, for the search by suffix; those of open jobs are looked through. Ends are random: an
-- index over them costs a page per row, which a burst of submissions must not pay.
create table helio.job_tails (
    tail   integer not null,
    job_id uuid not null
);
create index job_tails_tail on helio.job_tails (tail);

-- Absent = queued, never placed. Half of each page stays free, so that a batch of updates finds room beside its rows.
create table helio.job_state (
    job_id         uuid not null,
    task           integer not null,
    epoch          integer not null,
    state          smallint not null check (state between 0 and 13),
    before         smallint not null check (before between 0 and 13),
    intent         smallint not null,
    attempts       integer not null,
    failures       integer not null,
    site_failures  integer not null,
    exit_code      integer,
    started_at     timestamptz,
    finished_at    timestamptz,
    at             timestamptz,
    gpu_ms         bigint not null,
    cost_micro_usd bigint not null,
    energy_j       bigint not null,
    carbon_mg      bigint not null,
    units_done     bigint not null,
    site           text,
    pool           text,
    reason         text,
    constraint job_state_pkey primary key (job_id, task)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- The outbox: an offer leaves the broker only after its row is durable.
create table helio.placements (
    job_id                  uuid not null,
    task                    integer not null,
    epoch                   integer not null,
    nodes                   integer not null,
    gpus                    integer not null,
    decision_id             bigint not null,
    score_micro_usd         bigint not null,
    planned_cost_micro_usd  bigint not null,
    planned_energy_j        bigint not null,
    planned_carbon_mg       bigint not null,
    start_at                timestamptz,
    at                      timestamptz not null,
    site                    text not null,
    pool                    text not null,
    constraint placements_pkey primary key (job_id, task, epoch)
);

-- The end of one attempt. A job completes once: the second index, unconditionally.
create table helio.attempts (
    job_id     uuid not null,
    task       integer not null,
    epoch      integer not null,
    kind       smallint not null,
    completes  boolean not null,
    fenced     boolean not null,
    exit_code  integer,
    started_at timestamptz,
    ended_at   timestamptz,
    at         timestamptz not null,
    run_ms     bigint not null,
    gpu_ms     bigint not null,
    energy_j   bigint not null,
    units_done bigint not null,
    site       text not null,
    reason     text,
    local_id   text,
    constraint attempts_pkey primary key (job_id, task, epoch),
    constraint attempts_fenced_never_completes check (not (completes and fenced))
);
create unique index attempts_one_completion on helio.attempts (job_id, task) where completes;

create table helio.ledger (
    job_id         uuid not null,
    task           integer not null,
    epoch          integer not null,
    hour           timestamptz not null,
    gpu_ms         bigint not null,
    energy_j       bigint not null,
    carbon_mg      bigint not null,
    cost_micro_usd bigint not null,
    fenced         boolean not null,
    tenant         text not null,
    site           text not null,
    pool           text,
    gpu_model      text,
    queue          text,
    provenance     text,
    constraint ledger_pkey primary key (job_id, task, epoch, hour)
);
create index ledger_hour on helio.ledger using brin (hour);

create table helio.transitions (
    seq        bigint not null,
    job_id     uuid not null,
    task       integer not null,
    epoch      integer not null,
    from_state smallint not null,
    to_state   smallint not null,
    at         timestamptz not null,
    reason     text,
    actor      text,
    constraint transitions_pkey primary key (seq),
    constraint transitions_listed check (helio.edge_listed(from_state, to_state))
);
create index transitions_job on helio.transitions (job_id, task, seq);

-- ---- why --------------------------------------------------------------------------------------------------

create table helio.decisions (
    decision_id    bigint primary key,
    at             timestamptz not null,
    class_id       bigint not null,
    policy_version text,
    reason         text,
    detail         text,
    chosen_site    text,
    chosen_pool    text
);

create table helio.candidates (
    decision_id     bigint not null,
    rank            integer not null,
    site            text not null,
    pool            text,
    start_at        timestamptz,
    score_micro_usd bigint not null,
    cost_micro_usd  bigint not null,
    energy_j        bigint not null,
    carbon_mg       bigint not null,
    rejected_reason text,
    detail          text,
    primary key (decision_id, rank)
);

create table helio.classes (
    class_id    bigint primary key,
    tenant      text,
    queue       text,
    summary     text,
    reason      text,
    detail      text,
    decision_id bigint not null,
    at          timestamptz
) with (fillfactor = 50);

-- ---- audit ------------------------------------------------------------------------------------------------

-- Every mutation by a principal. Each row's hash covers the row before it, so a change or a gap shows.
create table helio.audit (
    audit_id  bigint primary key,
    at        timestamptz not null,
    actor     text not null,
    action    text not null,
    object    text,
    detail    text,
    prev_hash bytea not null,
    hash      bytea not null
);

-- Lengths are part of what is hashed: no two different rows have the same bytes.
create function helio.audit_hash(prev_hash bytea, audit_id bigint, at timestamptz, actor text, action text, object text,
                                 detail text) returns bytea language sql stable
    return sha256(prev_hash || convert_to(format('%s|%s|%s:%s|%s:%s|%s:%s|%s:%s', audit_id, helio.time_ms(at),
        length(actor), actor, length(action), action, length(object), object, length(detail), detail), 'UTF8'));

-- Rows that a statement inserted before are visible to the trigger, so one statement chains all of its rows. The lock
-- makes one chain of what two sessions add (the broker, and an operator's bootstrap command).
create function helio.audit_chain() returns trigger language plpgsql
    as $$
begin
    perform pg_advisory_xact_lock(7524442231838172529);
    select a.audit_id + 1, a.hash into new.audit_id, new.prev_hash
    from helio.audit a order by a.audit_id desc limit 1;
    if not found then
        new.audit_id := 1;
        new.prev_hash := '\x0000000000000000000000000000000000000000000000000000000000000000';
    end if;
    new.hash := helio.audit_hash(new.prev_hash, new.audit_id, new.at, new.actor, new.action, new.object, new.detail);
    return new;
end
$$;
create trigger audit_chain before insert on helio.audit for each row execute function helio.audit_chain();

-- The first row that does not fit its chain; null = the chain is whole.
create function helio.audit_verify() returns bigint language sql stable
    begin atomic
        select min(c.audit_id)
        from (select a.*, lag(a.hash, 1, '\x0000000000000000000000000000000000000000000000000000000000000000'::bytea)
                          over (order by a.audit_id) as expected_prev,
                     row_number() over (order by a.audit_id) as expected_id
              from helio.audit a) c
        where c.audit_id <> c.expected_id or c.prev_hash <> c.expected_prev
           or c.hash <> helio.audit_hash(c.prev_hash, c.audit_id, c.at, c.actor, c.action, c.object, c.detail);
    end;

-- What must not change is guarded against everybody who is not its owner's superuser: a slip of the hand, a bug.
create function helio.refuse_change() returns trigger language plpgsql
    as $$
begin
    raise exception '%.% is append-only', tg_table_schema, tg_table_name using errcode = 'HE002';
end
$$;
create trigger append_only before update or delete or truncate on helio.audit
    for each statement execute function helio.refuse_change();
create trigger append_only before update or delete or truncate on helio.ledger
    for each statement execute function helio.refuse_change();
create trigger append_only before update or delete or truncate on helio.attempts
    for each statement execute function helio.refuse_change();
create trigger append_only before update or delete or truncate on helio.transitions
    for each statement execute function helio.refuse_change();
