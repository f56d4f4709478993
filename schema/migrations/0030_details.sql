-- Reasons as data: beside each sentence the codes and values that it is made of (docs/reference/reasons.md). Rows of older
-- releases have the sentence only.
alter table helio.job_state add column details jsonb;
alter table helio.transitions add column details jsonb;
alter table helio.gates add column details jsonb;
alter table helio.decisions add column details jsonb;
alter table helio.candidates add column details jsonb;
alter table helio.classes add column details jsonb;

-- What a row of an older release says, as details.
create function helio.stated(sentence text) returns jsonb language sql immutable parallel safe
    return case when sentence <> ''
        then jsonb_build_array(jsonb_build_object('code', 'StateReported', 'params', jsonb_build_object('why', sentence))) end;
