-- What a job asks for may be edited while it has no place. Its row stays as it came, and its document too; what holds
-- instead is here, for all tasks of an array.
create table helio.edits (
    job_id                uuid primary key,
    at                    timestamptz not null,
    deadline_at           timestamptz,
    flexible_ms           bigint not null,
    max_cost_micro_usd    bigint not null,
    max_carbon_mg_per_kwh bigint not null,
    class_id              bigint not null,
    priority              integer not null check (priority between -100 and 100),
    goal                  smallint not null,
    tier                  smallint not null check (tier between 0 and 2),
    prices_set            boolean not null,
    queue                 text not null
) with (fillfactor = 50);
comment on table helio.edits is 'One row per job that was edited, however often: what it asks for now.';
comment on column helio.edits.priority is 'among its tenant''s jobs of its queue';
comment on column helio.edits.prices_set is 'the document''s prices count, in place of the goal''s';

create table helio.edited (
    seq    bigint not null,
    place  integer not null,
    job_id uuid not null,
    at     timestamptz not null,
    actor  text not null,
    field  text not null,
    before text not null,
    after  text not null,
    primary key (seq, place)
);
create index edited_job on helio.edited (job_id, seq);
comment on table helio.edited is 'Who edited what of a job, from what to what.';
comment on column helio.edited.seq is 'of the transition that tells of it, which leads from a state to itself';
create trigger append_only before update or delete or truncate on helio.edited
    for each statement execute function helio.refuse_change();

-- What is there was held to less.
alter table helio.transitions drop constraint transitions_listed;
alter table helio.transitions add constraint transitions_listed
    check (helio.edge_listed(from_state, to_state) or (from_state = to_state and from_state in (0, 13))) not valid;
