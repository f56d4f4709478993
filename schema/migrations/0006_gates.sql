-- What jobs wait for before they may start. Rows are written for such jobs only.

-- One row a job, array or task (on_task -1: the whole) that a document names, resolved when it was submitted.
create table helio.dependencies (
    job_id  uuid not null,
    place   integer not null,
    after   smallint not null check (after between 0 and 2),
    on_job  uuid not null,
    on_task integer not null check (on_task >= -1),
    primary key (job_id, place)
);
comment on column helio.dependencies.after is '0 = to succeed, 1 = to end, 2 = to end without success';

-- While opened_at is null its tasks are not in any queue, and detail says why.
create table helio.gates (
    job_id    uuid primary key,
    detail    text,
    opened_at timestamptz
);

-- How a job, the whole of an array (task -1) or one task of it ended: true = with success (an array: every task),
-- false = otherwise, null = it is not over.
create function helio.ended_well(job uuid, of_task integer) returns boolean language sql stable
    begin atomic
        select case when count(s.job_id) >= case when of_task >= 0 then 1 else coalesce(max(cardinality(j.tasks)), 1) end
            then bool_and(s.state = 8) end
        from helio.jobs j
        left join helio.job_state s
            on s.job_id = j.job_id and (of_task = -1 or s.task = of_task) and helio.state_is_over(s.state)
        where j.job_id = job;
    end;
