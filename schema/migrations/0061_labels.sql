-- Labels of jobs, as their documents or the submission give them; immutable, as the jobs are. Only jobs that have some have rows, and both
-- indexes hold what lists of jobs look for in the order of their ids, so that rows are added at few places.
create table helio.labels (
    job_id uuid not null,
    key    text not null check (key <> ''),
    value  text not null,
    primary key (job_id, key)
);
create index labels_value on helio.labels (key, value, job_id);
comment on table helio.labels is 'Labels of jobs: keys and values that their users chose.';

-- The newest jobs of a user, however old they are: ids ascend, so rows of one user are added at one place.
create index jobs_user on helio.jobs (user_name, job_id);
