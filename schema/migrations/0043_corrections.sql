-- An attempt that was given up while its site was silent is charged by estimate at once. When the site reports what it measured, the
-- ledger gets the estimate once more with the opposite sign, and the measured use.

alter table helio.attempts add column basis smallint not null default 0;
comment on column helio.attempts.basis is
    '0: as its site reported; 1: given up, as far as the broker saw it run; 2: as its site reported after that';
create index attempts_given_up on helio.attempts (at) where basis = 1;

comment on column helio.ledger.part is
    '0: the run; 1: bringing its data; of an attempt that was given up: 2: its estimate, 3: the estimate taken back, 4: what was measured';

-- One row of an attempt may change, once: from given up to what its site reported.
create function helio.refuse_change_of_attempt() returns trigger language plpgsql
    as $$
begin
    if old.basis = 1 and new.basis = 2 and not new.completes
        and (old.job_id, old.task, old.epoch, old.site, old.fenced) = (new.job_id, new.task, new.epoch, new.site, new.fenced) then
        return new;
    end if;
    raise exception 'helio.attempts is append-only' using errcode = 'HE002';
end
$$;
drop trigger append_only on helio.attempts;
create trigger append_only before delete or truncate on helio.attempts
    for each statement execute function helio.refuse_change();
create trigger corrected_once before update on helio.attempts
    for each row execute function helio.refuse_change_of_attempt();
