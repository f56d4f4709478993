-- The newest of many jobs, and jobs of a time range in order: an index to walk backwards. Jobs are submitted in order, so rows are added
-- at its right end. helio_report.jobs reads jobs that are no arrays, and arrays, each by an index of their own.
create index jobs_submitted_at on helio.jobs (submitted_at) where tasks is null;
create index jobs_arrays_submitted_at on helio.jobs (submitted_at) where tasks is not null;
