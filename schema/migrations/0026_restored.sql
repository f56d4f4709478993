-- A database that went back in time: a backup that was restored, a dump that was loaded again, a promoted standby. Sites
-- may run, or have ended, what it knows nothing of. Whatever tells it from the one that the last leader wrote begins a new
-- incarnation.

alter table helio.federation
    add column home        text not null default '',
    add column restored_at timestamptz;
comment on column helio.federation.home is 'which database, and which table of it, this row was made in: a dump brings the old one';
comment on column helio.federation.restored_at is
    'when a leader found that this is another copy of the database than the one before wrote; a site that was seen since has spoken';

create function helio.database_home() returns text language sql stable
    return (select d.oid::text from pg_database d where d.datname = current_database()) || '/'
           || to_regclass('helio.federation')::oid::text;

update helio.federation set home = helio.database_home();

-- Incarnations rise with the clock, so that two copies of one backup do not begin the same one.
create or replace function helio.lead(who text, out leads boolean, out epoch bigint, out incarnation bigint)
    language plpgsql
    as $$
begin
    perform helio.session_rules();
    leads := pg_try_advisory_lock(7524442231838172527);
    if not leads then
        return;
    end if;
    perform 1 from helio.federation for update;
    update helio.federation f
    set incarnation = case when now_here.same then f.incarnation
                           else greatest(f.incarnation + 1, extract(epoch from clock_timestamp())::bigint) end,
        restored_at = case when now_here.same or f.holder is null then f.restored_at else clock_timestamp() end,
        timeline = now_here.timeline,
        system_identifier = now_here.system_identifier,
        home = now_here.home,
        broker_epoch = f.broker_epoch + 1,
        holder = who,
        last_batch = 0,
        taken_at = now()
    from (select here.*, coalesce(g.timeline = here.timeline and g.system_identifier = here.system_identifier
                                  and g.home = here.home, false) as same
          from helio.federation g, (select helio.wal_timeline() as timeline, helio.system_identifier() as system_identifier,
                                           helio.database_home() as home) as here) as now_here
    returning f.broker_epoch, f.incarnation into epoch, incarnation;
end
$$;

create or replace function helio.resume(as_epoch bigint, out leads boolean, out same_epoch boolean, out same_database boolean,
                                        out last_batch bigint)
    language plpgsql
    as $$
begin
    perform helio.session_rules();
    leads := pg_try_advisory_lock(7524442231838172527);
    select f.broker_epoch = as_epoch, f.last_batch,
           f.timeline = helio.wal_timeline() and f.system_identifier = helio.system_identifier()
               and f.home = helio.database_home()
    into same_epoch, last_batch, same_database
    from helio.federation f;
    if leads and same_epoch then
        update helio.federation f set taken_at = now() where f.broker_epoch = as_epoch
        returning f.last_batch into last_batch;
        same_epoch := found;
    end if;
end
$$;

-- What an operator says of a copy that nothing in it tells from the original: a snapshot of the disk that was put back.
-- False while a broker leads. The lock is let go with the transaction.
create function helio.declare_restored() returns boolean language plpgsql
    as $$
begin
    if not pg_try_advisory_xact_lock(7524442231838172527) then
        return false;
    end if;
    update helio.federation f set home = '';
    return true;
end
$$;
