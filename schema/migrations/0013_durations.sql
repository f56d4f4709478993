-- How long a run was expected to take, and what that rests on.

-- As on an A100, when it was submitted.
alter table helio.jobs
    add column expected_ms bigint,
    add column expected_high_ms bigint,
    add column expected_runs integer,
    add column expected_failed integer,
    add column expected_basis smallint check (expected_basis between 1 and 3);
comment on column helio.jobs.expected_ms is 'as on an A100; null: nothing was known, and the time limit stands';
comment on column helio.jobs.expected_high_ms is 'nine runs in ten are no longer';
comment on column helio.jobs.expected_basis is '1: runs of the same tenant, user and name; 2: of the user; 3: of the kind';

-- At the place itself.
alter table helio.placements
    add column expected_ms bigint,
    add column expected_high_ms bigint,
    add column gpu_model text;
comment on column helio.placements.expected_ms is 'what planned_* are of; null: written before, of the time limit';

alter table helio.candidates
    add column run_ms bigint,
    add column run_high_ms bigint;

create function helio.duration_basis_word(basis integer) returns text language sql immutable parallel safe
    return (array['name', 'user', 'kind'])[basis];

-- A name without what counts its runs: numbers at the end go, others become '#', and so do ids in eight or more hexadecimal
-- digits. As the broker does it (federation/policy/duration.h).
create function helio.duration_stem(name text) returns text language sql immutable parallel safe
    return regexp_replace(
        regexp_replace(
            regexp_replace(name, '(^|[-_.:/\[\]() ,=])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}(?=$|[-_.:/\[\]() ,=])', '\1#', 'g'),
            '[0-9]+', '#', 'g'),
        '[-_.:/\[\]() ,=#]+$', '');

-- Whose runs, in a word.
create function helio.duration_of(basis integer, name text, user_name text, kind smallint) returns text
    language sql immutable parallel safe
    return case basis when 1 then helio.duration_stem(name) when 2 then user_name when 3 then helio.kind_word(kind) end;
