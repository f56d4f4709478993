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
        -- But for the end of an attempt that was given up, which its trigger lets correct.
        grant update (kind, exit_code, started_at, ended_at, at, run_ms, gpu_ms, energy_j, units_done, reason, local_id, basis)
            on helio.attempts to helio_broker;
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
            if not helio.reader_has_limits(reader) then
                execute helio.reader_limits(reader);
            end if;
        exception
            when insufficient_privilege then
                raise notice 'limits of role % not set: % may not alter it; `helio-broker check` prints the SQL for a superuser of '
                    'this server', reader, current_user;
        end;
    end loop;
end
$$;

do $$
begin
    if helio.add_privilege_checks() is not null then
        raise notice 'rights that nobody needs are open to every login of this database, and % may not revoke them; `helio-broker check` '
            'prints the SQL for a superuser of this server', current_user;
    end if;
end
$$;
