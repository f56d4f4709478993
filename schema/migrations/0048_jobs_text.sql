-- The index of jobs by text, on what the broker has written: the index of the release before is dropped last, since that keeps everybody
-- from the table until the end.

-- As in 0046_boards.sql. Only of jobs without a written text their text is computed.
create unique index jobs_text_written on helio.jobs (helio.text_of_job(id_text, job_id) text_pattern_ops) where tasks is null;
-- A histogram of ids, as in 0047_id_text.sql.
alter index helio.jobs_text_written alter column 1 set statistics 0;

-- A row that comes to summarised pages makes their filter anew, which takes longer the more names it is for: of 128 pages a millisecond, of
-- 16 a fiftieth of it. That are the first rows of a new database. The size of the index is the same.
create index jobs_name_written on helio.jobs using brin (name text_bloom_ops) with (pages_per_range = 16, autosummarize = on);

drop index helio.jobs_text, helio.jobs_name;
alter index helio.jobs_text_written rename to jobs_text;
alter index helio.jobs_name_written rename to jobs_name;
