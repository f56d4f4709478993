-- Each task of an array can wait for the task of its index of another array.
alter table helio.dependencies drop constraint dependencies_after_check;
alter table helio.dependencies add constraint dependencies_after_check check (after between 0 and 4) not valid;
create index dependencies_of_tasks on helio.dependencies (job_id, on_task) where after = 4;
comment on column helio.dependencies.after is 'What the job waits for: 0: the other job succeeds, 1: it ends, 2: it ends without success, 3: it starts or ends, 4: it succeeds, and only the task of the job with the index on_task waits for it.';
