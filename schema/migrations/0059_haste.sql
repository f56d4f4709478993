-- What people ask of a job's stop outlives the leader that was asked: a cancel without grace reaches a site that comes back under
-- the next one.
alter table helio.job_state add column haste smallint not null default 0;
alter table helio.job_state add constraint job_state_haste_check check (haste between 0 and 2) not valid;
comment on column helio.job_state.haste is
    'What people ask of the stop of its attempt: 0: nothing more; 1: an operator cancelled it, so that a second time ends its grace; 2: it has no grace.';
