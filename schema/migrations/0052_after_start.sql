-- A job can wait for another one to start.
alter table helio.dependencies drop constraint dependencies_after_check;
alter table helio.dependencies add constraint dependencies_after_check check (after between 0 and 3) not valid;
comment on column helio.dependencies.after is 'What the job waits for: 0: the other job succeeds, 1: it ends, 2: it ends without success, 3: it starts or ends.';
