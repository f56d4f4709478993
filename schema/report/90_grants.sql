-- Privileges. Every migration run grants them again, for roles created later and for new tables. Roles that do not exist are
-- skipped.
revoke all on schema helio, helio_report from public;

do $$
begin
    if exists (select from pg_roles where rolname = 'helio_broker') then
        grant usage on schema helio, helio_report to helio_broker;
        grant select, insert, update, delete on all tables in schema helio to helio_broker;
        grant select on all tables in schema helio_report to helio_broker;
        -- History is append-only.
        revoke update, delete, truncate on helio.ledger, helio.attempts, helio.transitions, helio.audit,
            helio.edited, helio.rates, helio.baselines, helio.site_ledger from helio_broker;
        revoke insert, update, delete on helio.schema_migrations from helio_broker;
    end if;
end
$$;

-- The logins of dashboards: the operator's, and those of tenants (helio-broker reader). Limits require the privilege to alter roles.
do $$
declare
    reader text;
begin
    for reader in select rolname from pg_roles
                  where rolname = 'helio_reader' or rolname in (select r.reader from helio.readers r) loop
        execute helio.reader_grants(reader);
        begin
            execute helio.reader_limits(reader);
        exception
            when insufficient_privilege then
                raise notice 'limits of role % not set: % may not alter it', reader, current_user;
        end;
    end loop;
end
$$;

do $$
declare
    open_yet text := helio.build_walls();
begin
    if open_yet is not null then
        raise notice 'open to every login of this database, which % cannot close; let a superuser run: %', current_user, open_yet;
    end if;
end
$$;
