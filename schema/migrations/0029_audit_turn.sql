-- The audit's chain was made one by an advisory lock, which any login of the database could take: then nothing was committed. The
-- row that each batch takes first (helio.take_batch) does as well, and only who may lead can lock it.
create or replace function helio.audit_chain() returns trigger language plpgsql
    as $$
begin
    perform 1 from helio.federation for update;
    select a.audit_id + 1, a.hash into new.audit_id, new.prev_hash
    from helio.audit a order by a.audit_id desc limit 1;
    if not found then
        new.audit_id := 1;
        new.prev_hash := '\x0000000000000000000000000000000000000000000000000000000000000000';
    end if;
    new.hash := helio.audit_hash(new.prev_hash, new.audit_id, new.at, new.actor, new.action, new.object, new.detail);
    return new;
end
$$;
