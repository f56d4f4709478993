-- The broker writes the text of a job's id with the job: for an index on each row, helio.job_text takes longer than all the rest of the row.

-- A constant default: rows that are there already, and rows of brokers of the release before, have it without being written again.
alter table helio.jobs add column id_text text not null default '';
comment on column helio.jobs.id_text is
    'helio.job_text(job_id, -1), as the broker computes it; empty: submitted before this column was added (helio.text_of_job).';
-- A histogram of ids would tell a reader ids of others, by the rows that the planner expects of a comparison.
alter table helio.jobs alter column id_text set statistics 0;

-- The planner puts it into the query. It is null for a job that is not there and, by the operator, strict in a way that the planner sees: so
-- a condition on it makes an inner join of views that join jobs from the left (0046_boards.sql).
create function helio.text_of_job(id_text text, job uuid) returns text language sql immutable parallel safe
    return id_text || case when id_text = '' then helio.job_text(job, -1) else '' end;
