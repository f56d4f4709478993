-- The time limit of a waiting job can be edited, too. What is bounded by a job's limit reads it from here, if it was edited.
alter table helio.edits add column time_limit_ms bigint check (time_limit_ms > 0);
comment on column helio.edits.time_limit_ms is 'Time limit in ms. NULL: that of the job''s row, in rows of brokers that did not edit it.';
