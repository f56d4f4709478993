-- Details beside the sentences of the release before, whose leaders write sentences only.

-- A leader of that release leaves `details` as they are when it writes a sentence over one that has them. So a statement that
-- knows details flips details_turn, and a sentence that changes without it takes its stale details along.
alter table helio.job_state add column details_turn boolean not null default false;
alter table helio.gates add column details_turn boolean not null default false;
alter table helio.classes add column details_turn boolean not null default false;

create function helio.forget_details() returns trigger language plpgsql as $$
begin
    new.details := null;
    return new;
end $$;

create trigger forget_details before update on helio.job_state for each row
    when (old.details is not null and new.details_turn = old.details_turn and new.reason is distinct from old.reason)
    execute function helio.forget_details();
create trigger forget_details before update on helio.gates for each row
    when (old.details is not null and new.details_turn = old.details_turn and new.detail is distinct from old.detail)
    execute function helio.forget_details();
create trigger forget_details before update on helio.classes for each row
    when (old.details is not null and new.details_turn = old.details_turn
        and (new.reason, new.detail) is distinct from (old.reason, old.detail))
    execute function helio.forget_details();

-- What a row of that release says, as details. Of one sentence a leader has to know what it says: a job that is stopped for
-- its migration goes on to another site, whoever leads by then.
create or replace function helio.stated(sentence text) returns jsonb language sql immutable parallel safe
begin atomic
    select case
        when m.part is not null then jsonb_build_array(
            jsonb_build_object('code', 'Migrated', 'params', jsonb_build_object('from', m.part[1], 'to', m.part[2])),
            jsonb_build_object('code', 'StateReported', 'params', jsonb_build_object('why', m.part[3])))
        when sentence <> '' then
            jsonb_build_array(jsonb_build_object('code', 'StateReported', 'params', jsonb_build_object('why', sentence))) end
    from (select regexp_match(sentence, '^moved from (\S+) to (\S+): (.+)$') as part) as m;
end;
