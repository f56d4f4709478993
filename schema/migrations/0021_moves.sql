-- How often a running job was moved to a better site: so often at most, whoever leads.
alter table helio.job_state add column moves integer not null default 0;
comment on column helio.job_state.moves is 'how often it was told to leave for a better site';
