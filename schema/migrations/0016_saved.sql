-- How much of a job's run need not run again.
alter table helio.job_state add column saved_ms bigint not null default 0;
comment on column helio.job_state.saved_ms is 'run time up to the last checkpoint of each attempt, added up; at most the time limit';
