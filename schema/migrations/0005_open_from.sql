-- A mark in place of a table that had a row for every open job: a row and an index entry to write with each job, and to
-- delete with its end. Ids ascend with their submission (broker/core/submit.c), so the open jobs lie at and above the
-- oldest of them, and the row of the federation, which every batch updates anyway, has room for that id.

-- First the row that every batch begins with: the batch of a broker that still runs is waited for, and none comes between.
lock table helio.federation in access exclusive mode;
alter table helio.federation
    add column open_from uuid not null default '00000000-0000-0000-0000-000000000000';
comment on column helio.federation.open_from is 'No job with a smaller id is open.';
update helio.federation set open_from = coalesce(
    (select o.job_id from helio.open_jobs o order by o.job_id limit 1),
    (select j.job_id from helio.jobs j order by j.job_id desc limit 1),
    '00000000-0000-0000-0000-000000000000');
drop table helio.open_jobs;

comment on table helio.job_tails is
    'Ends of ids of jobs of which something is over, for the search by suffix; jobs from the mark on are looked through.';

-- Stable, so that the planner looks the mark up and sees how few jobs lie above it.
create function helio.open_from() returns uuid language sql stable
    return (select f.open_from from helio.federation f);

-- The first statement of every batch. Who does not lead any more commits nothing. The mark is that of the same batch: a job
-- may fall below it only with the row that says that the job is over.
drop function helio.take_batch(bigint, bigint);
create function helio.take_batch(as_epoch bigint, batch bigint, mark uuid) returns void language plpgsql
    as $$
begin
    update helio.federation f set last_batch = batch, open_from = mark
    where f.broker_epoch = as_epoch and f.last_batch = batch - 1;
    if not found then
        raise exception 'fenced: epoch % does not lead, or batch % is not the next', as_epoch, batch
            using errcode = 'HE001';
    end if;
end
$$;
