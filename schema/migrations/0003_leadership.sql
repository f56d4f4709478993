-- Leadership and the fence. One session holds the advisory lock; every batch names its epoch and its number.

-- Commits of the broker are promises: a database that was told to be careless is overruled for its session.
create function helio.session_rules() returns void language plpgsql
    as $$
begin
    perform set_config('synchronous_commit', 'on', false)
    where current_setting('synchronous_commit') in ('off', 'local');
    perform set_config('search_path', 'pg_catalog', false);
    perform set_config('jit', 'off', false);
    perform set_config('plan_cache_mode', 'force_generic_plan', false);
    perform set_config('statement_timeout', '0', false);
    perform set_config('idle_in_transaction_session_timeout', '30s', false);
    -- A broker whose host died must not keep the lock for hours.
    perform set_config('tcp_keepalives_idle', '10', false);
    perform set_config('tcp_keepalives_interval', '5', false);
    perform set_config('tcp_keepalives_count', '3', false);
    perform set_config('tcp_user_timeout', '30000', false);
end
$$;

-- The timeline now, not of the last checkpoint: right from the first moment after a promotion.
create function helio.wal_timeline() returns integer language sql volatile
    return ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer;

create function helio.system_identifier() returns bigint language sql volatile
    return (select s.system_identifier from pg_control_system() s);

-- Becomes leader, or says that somebody else is (leads = false). Raises the epoch, and the incarnation when this is not
-- the same database as before: a promoted standby, a restored backup.
create function helio.lead(who text, out leads boolean, out epoch bigint, out incarnation bigint)
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
    set incarnation = f.incarnation + (f.timeline is distinct from helio.wal_timeline()
                                       or f.system_identifier is distinct from helio.system_identifier())::integer,
        timeline = helio.wal_timeline(),
        system_identifier = helio.system_identifier(),
        broker_epoch = f.broker_epoch + 1,
        holder = who,
        last_batch = 0,
        taken_at = now()
    returning f.broker_epoch, f.incarnation into epoch, incarnation;
end
$$;

-- A leader that lost its connection comes back: same epoch, same database, and what became of its last batch. The row
-- is written, so that the answer waits for the synchronous standby as the batch itself would have.
create function helio.resume(as_epoch bigint, out leads boolean, out same_epoch boolean, out same_database boolean,
                             out last_batch bigint)
    language plpgsql
    as $$
begin
    perform helio.session_rules();
    leads := pg_try_advisory_lock(7524442231838172527);
    select f.broker_epoch = as_epoch, f.last_batch,
           f.timeline = helio.wal_timeline() and f.system_identifier = helio.system_identifier()
    into same_epoch, last_batch, same_database
    from helio.federation f;
    if leads and same_epoch then
        update helio.federation f set taken_at = now() where f.broker_epoch = as_epoch
        returning f.last_batch into last_batch;
        same_epoch := found;
    end if;
end
$$;

-- The first statement of every batch. Who does not lead any more commits nothing.
create function helio.take_batch(as_epoch bigint, batch bigint) returns void language plpgsql
    as $$
begin
    update helio.federation f set last_batch = batch where f.broker_epoch = as_epoch and f.last_batch = batch - 1;
    if not found then
        raise exception 'fenced: epoch % does not lead, or batch % is not the next', as_epoch, batch
            using errcode = 'HE001';
    end if;
end
$$;
