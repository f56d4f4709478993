-- How many tasks of an array run at once at most (`array: 0-9%2`), so that readers see which tasks that limit keeps waiting.
alter table helio.jobs add column tasks_at_once integer check (tasks_at_once > 0);
comment on column helio.jobs.tasks_at_once is
    'As `array` of the document sets it; null = no limit, no array, or an array that was submitted before this column was added.';
