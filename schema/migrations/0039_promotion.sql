-- A promoted standby is another WAL timeline of the same database. Whether it has every commit that was confirmed, only somebody
-- outside can know: the operator who made the standby synchronous, and a broker that knows which batch was durable.

-- A server that was told where to stop its recovery has left out what came after, and keeps the setting.
create function helio.is_recovered_to_target() returns boolean language sql stable
    return exists (select from pg_settings s
                   where s.name in ('recovery_target', 'recovery_target_lsn', 'recovery_target_name', 'recovery_target_time',
                                    'recovery_target_xid')
                       and s.setting <> '');

-- Whether this is the database that the leader before wrote. seen_*: a batch that was durable, by what the caller knows; zeros: it
-- knows none. A database without that batch has lost commits, whatever else it looks like: the next leader must find that, too, and
-- begin an incarnation that no site has seen.
-- standby_keeps: the operator says that only a standby with every confirmed commit is promoted. Its timeline then becomes ours.
create function helio.recognize(standby_keeps boolean, seen_incarnation bigint, seen_epoch bigint, seen_batch bigint)
    returns boolean language plpgsql
    as $$
declare
    f helio.federation;
begin
    select g.* into strict f from helio.federation g for update;
    if (f.incarnation, f.broker_epoch, f.last_batch) < (seen_incarnation, seen_epoch, seen_batch) then
        update helio.federation g set home = '', incarnation = greatest(f.incarnation, seen_incarnation);
        return false;
    end if;
    if standby_keeps and f.timeline < helio.wal_timeline() and not helio.is_recovered_to_target() then
        update helio.federation g set timeline = helio.wal_timeline() returning g.* into f;
    end if;
    return coalesce(f.timeline = helio.wal_timeline() and f.system_identifier = helio.system_identifier()
                    and f.home = helio.database_home(), false);
end
$$;

create function helio.lead(who text, grants_ms bigint, at_http text, standby_keeps boolean, seen_incarnation bigint,
                           seen_epoch bigint, seen_batch bigint, out leads boolean, out epoch bigint, out incarnation bigint)
    language plpgsql
    as $$
begin
    leads := pg_try_advisory_lock(7524442231838172527);
    if not leads then
        return;
    end if;
    perform helio.recognize(standby_keeps, seen_incarnation, seen_epoch, seen_batch);
    select l.leads, l.epoch, l.incarnation into leads, epoch, incarnation from helio.lead(who, grants_ms, at_http) l;
end
$$;

-- As before, and a site that never joined and has no key in force is not awaited either: it cannot have joined since.
create or replace function helio.lead(who text, out leads boolean, out epoch bigint, out incarnation bigint)
    language plpgsql
    as $$
declare
    is_same boolean;
    is_first boolean;
begin
    perform helio.session_rules();
    leads := pg_try_advisory_lock(7524442231838172527);
    if not leads then
        return;
    end if;
    select f.holder is null,
        coalesce(f.timeline = helio.wal_timeline() and f.system_identifier = helio.system_identifier()
                 and f.home = helio.database_home(), false)
    into is_first, is_same
    from helio.federation f for update;
    update helio.federation f
    set incarnation = case when is_same then f.incarnation
                           else greatest(f.incarnation + 1, extract(epoch from clock_timestamp())::bigint) end,
        timeline = helio.wal_timeline(),
        system_identifier = helio.system_identifier(),
        home = helio.database_home(),
        broker_epoch = f.broker_epoch + 1,
        holder = who,
        last_batch = 0,
        taken_at = now()
    returning f.broker_epoch, f.incarnation into epoch, incarnation;
    if is_same or is_first then
        return;
    end if;
    update helio.federation f
    set restored_at = clock_timestamp(),
        restored_job = (select j.job_id from helio.jobs j order by j.job_id desc limit 1);
    update helio.sites s
    set unreconciled_at = clock_timestamp()
    where s.state not in (0, 4) or exists (select from helio.site_keys k where k.site = s.site and k.revoked_at is null);
end
$$;

-- As before. While another session has the lock, what it will make of the database is not known yet.
drop function helio.resume(bigint);
create function helio.resume(as_epoch bigint, standby_keeps boolean default false, seen_incarnation bigint default 0,
                             seen_batch bigint default 0, out leads boolean, out same_epoch boolean, out same_database boolean,
                             out last_batch bigint)
    language plpgsql
    as $$
begin
    perform helio.session_rules();
    leads := pg_try_advisory_lock(7524442231838172527);
    same_database := not leads or helio.recognize(standby_keeps, seen_incarnation, as_epoch, seen_batch);
    select f.broker_epoch = as_epoch, f.last_batch into same_epoch, last_batch from helio.federation f;
    if leads and same_epoch then
        update helio.federation f set taken_at = now() where f.broker_epoch = as_epoch
        returning f.last_batch into last_batch;
        same_epoch := found;
    end if;
end
$$;
