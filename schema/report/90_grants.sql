-- Rights, given again by every migration run: a role that was created late, a table that is new. Roles that do not exist
-- are passed over.
revoke all on schema helio, helio_report from public;

do $$
begin
    if exists (select from pg_roles where rolname = 'helio_broker') then
        grant usage on schema helio, helio_report to helio_broker;
        grant select, insert, update, delete on all tables in schema helio to helio_broker;
        grant select on all tables in schema helio_report to helio_broker;
        -- What happened stays as it happened.
        revoke update, delete, truncate on helio.ledger, helio.attempts, helio.transitions, helio.audit,
            helio.edited, helio.rates, helio.baselines, helio.site_ledger from helio_broker;
        revoke insert, update, delete on helio.schema_migrations from helio_broker;
    end if;
    if exists (select from pg_roles where rolname = 'helio_reader') then
        grant usage on schema helio_report to helio_reader;
        grant select on all tables in schema helio_report to helio_reader;
    end if;
end
$$;

-- What a dashboard's login may cost. Only who may alter roles can say it.
do $$
begin
    if exists (select from pg_roles where rolname = 'helio_reader') then
        alter role helio_reader connection limit 20;
        alter role helio_reader set default_transaction_read_only = on;
        alter role helio_reader set statement_timeout = '30s';
        alter role helio_reader set idle_in_transaction_session_timeout = '30s';
    end if;
exception
    when insufficient_privilege then
        raise notice 'limits of role helio_reader not set: % may not alter it', current_user;
end
$$;
