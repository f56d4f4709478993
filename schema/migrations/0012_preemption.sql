-- How often a job was told to make room for another.
alter table helio.job_state add column evictions integer not null default 0;
comment on column helio.job_state.evictions is 'a job that was evicted five times is left alone from then on';
