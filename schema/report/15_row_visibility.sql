-- Row visibility: which rows of helio_report a login sees. The views run with their owner's privileges, but current_user in them is the
-- querying user. Each view of tenants' rows reads helio.row_visibility in a subquery, so once per query and not once per row. It is a
-- security barrier, or is based on one alone, so that no function or operator of a reader sees a row before that check.

-- The operator's reader, and users that can read the tables themselves, see every row.
create or replace function helio.sees_every_tenant(who name) returns boolean language sql stable parallel safe
    return (has_schema_privilege(who, 'helio', 'usage') and has_table_privilege(who, 'helio.jobs'::regclass, 'select'))
        or exists (select from pg_roles r where r.rolname = 'helio_reader' and pg_has_role(who, r.oid, 'usage'));

create or replace view helio.row_visibility as
select helio.sees_every_tenant(current_user) as every_tenant,
    array (select r.tenant from helio.readers r where r.reader = current_user::text) as tenants;

-- The jobs of those tenants, for rows that belong to a job. Empty for users that see every tenant: they need no check.
create or replace view helio.visible_jobs as
select j.job_id
from helio.jobs j
where not (select s.every_tenant from helio.row_visibility s) and j.tenant = any ((select s.tenants from helio.row_visibility s)::text[]);

-- The tasks of those jobs, newest first, without figures that need every attempt: helio_report.jobs computes those only for the rows that it
-- returns, not for all rows from which a list of the newest is selected.
-- The planner estimates comparisons of text columns from statistics over all tenants, and EXPLAIN shows the estimate; for `|| ''` there are
-- no statistics.
-- The id is computed here, so that a condition on it passes the barrier (equality of texts leaks nothing), and in two ways, so that
-- the index on the ids of jobs that are no arrays serves it. Each of the two has an index on submitted_at, which gives the order without a sort.
create or replace view helio.visible_tasks with (security_barrier) as
select t.job_id, t.task, t.name || '' as name, t.tenant || '' as tenant, t.user_name || '' as user_name, t.queue, t.tier, t.kind, t.state,
    t.home_site || '' as home_site, t.site, t.gpu_model, t.gpus,
    t.submitted_at, t.started_at, t.finished_at, t.exit_code, t.attempts, t.gpu_seconds, t.units_done, t.cost_usd, t.energy_kwh,
    t.carbon_g, t.reason, t.pool, t.nodes, t.epoch, t.before, t.details, t.id, t.goal, t.flexible_ms, t.deadline_at, t.time_limit_ms
from (
    (select n.*, helio.text_of_job(n.id_text, n.job_id) as id
     from helio.tasks_listed n
     where not n.of_array
       and ((select s.every_tenant from helio.row_visibility s) or n.tenant = any ((select s.tenants from helio.row_visibility s)::text[]))
     order by n.submitted_at desc)
    union all
    (select n.*, helio.text_of_job(n.id_text, n.job_id) || '.' || n.task
     from helio.tasks_listed n
     where n.of_array
       and ((select s.every_tenant from helio.row_visibility s) or n.tenant = any ((select s.tenants from helio.row_visibility s)::text[]))
     order by n.submitted_at desc)
) t
where t.task between -1 and 2147483647 -- every task; with it the planner expects one task per job instead of ten
order by t.submitted_at desc;

-- Those of them that are not over. They are among the jobs from the mark on, and the few older ones in helio.unsettled (as in
-- helio.maybe_open), so what is read does not grow with all the jobs there were. The id is computed in two ways here, too.
create or replace view helio.visible_open_tasks with (security_barrier) as
select t.job_id, t.task, t.name || '' as name, t.tenant || '' as tenant, t.user_name || '' as user_name, t.queue, t.tier, t.kind, t.state,
    t.home_site || '' as home_site, t.site, t.gpu_model, t.gpus,
    t.submitted_at, t.started_at, t.attempts, t.gpu_seconds, t.units_done, t.cost_usd, t.energy_kwh,
    t.carbon_g, t.reason, t.pool, t.nodes, t.epoch, t.before, t.details, t.id, t.goal, t.flexible_ms, t.deadline_at, t.time_limit_ms,
    t.detail, t.expected_at
from (
    select n.job_id, n.task, n.name, n.tenant, n.user_name, n.queue, n.tier, n.kind, n.home_site, n.gpus, n.nodes, n.time_limit_ms, n.submitted_at,
        n.state, n.epoch, n.attempts, n.site, n.pool, n.gpu_model, n.started_at, n.gpu_seconds, n.cost_usd, n.energy_kwh, n.carbon_g, n.units_done,
        n.reason, n.detail, n.expected_at, n.before, n.details, n.goal, n.flexible_ms, n.deadline_at,
        helio.text_of_job(n.id_text, n.job_id) as id
    from helio.single_tasks_now n
    union all
    select n.job_id, n.task, n.name, n.tenant, n.user_name, n.queue, n.tier, n.kind, n.home_site, n.gpus, n.nodes, n.time_limit_ms, n.submitted_at,
        n.state, n.epoch, n.attempts, n.site, n.pool, n.gpu_model, n.started_at, n.gpu_seconds, n.cost_usd, n.energy_kwh, n.carbon_g, n.units_done,
        n.reason, n.detail, n.expected_at, n.before, n.details, n.goal, n.flexible_ms, n.deadline_at,
        helio.text_of_job(n.id_text, n.job_id) || '.' || n.task
    from helio.tasks_now n where n.of_array and n.job_id >= helio.open_from()
    union all
    select n.job_id, n.task, n.name, n.tenant, n.user_name, n.queue, n.tier, n.kind, n.home_site, n.gpus, n.nodes, n.time_limit_ms, n.submitted_at,
        n.state, n.epoch, n.attempts, n.site, n.pool, n.gpu_model, n.started_at, n.gpu_seconds, n.cost_usd, n.energy_kwh, n.carbon_g, n.units_done,
        n.reason, n.detail, n.expected_at, n.before, n.details, n.goal, n.flexible_ms, n.deadline_at,
        helio.text_of_job(n.id_text, n.job_id) || case when n.of_array then '.' || n.task else '' end
    from helio.tasks_now n where n.job_id = any (array (select u.job_id from helio.unsettled u))
) t
where not helio.state_is_over(t.state)
  and ((select s.every_tenant from helio.row_visibility s) or t.tenant = any ((select s.tenants from helio.row_visibility s)::text[]))
  and t.task between -1 and 2147483647; -- every task, as above

-- ---- helio-broker reader ----------------------------------------------------------------------------------

-- jit: queries of dashboards take less time than compiling them. random_page_cost: what they read is in memory or on SSDs; with the default, the
-- waiting times of a day were sought by reading all jobs there are.
create or replace function helio.reader_limits(reader text) returns text language sql immutable
    return format('alter role %1$I connection limit 20;'
        ' alter role %1$I set default_transaction_read_only = on;'
        ' alter role %1$I set statement_timeout = ''30s'';'
        ' alter role %1$I set idle_in_transaction_session_timeout = ''30s'';'
        ' alter role %1$I set jit = off; alter role %1$I set random_page_cost = 1.1;', reader);

create or replace function helio.reader_grants(reader text) returns text language sql immutable
    return format('grant usage on schema helio_report to %1$I; grant select on all tables in schema helio_report to %1$I;', reader);

-- Unlike the limits, a session cannot change it. A value that an operator has set is kept.
create or replace function helio.reader_privilege_check(reader text) returns text language sql immutable
    return format('alter role %I set temp_file_limit = ''1GB'';', reader);

create or replace function helio.reader_has_limits(reader text) returns boolean language sql stable
    return exists (select from pg_roles r
        where r.rolname = reader and r.rolconnlimit = 20
          and r.rolconfig @> array ['default_transaction_read_only=on', 'statement_timeout=30s',
              'idle_in_transaction_session_timeout=30s', 'jit=off', 'random_page_cost=1.1']);

-- A grant without the privilege to grant is a warning, not an error, so the result is checked.
create or replace function helio.reader_is_ready(reader text) returns boolean language sql stable
    return helio.reader_has_limits(reader) and exists (select from pg_roles r
        where r.rolname = reader and r.rolcanlogin
          and has_schema_privilege(r.oid, 'helio_report', 'usage')
          and not exists (select from pg_class c where c.relnamespace = 'helio_report'::regnamespace and c.relkind = 'v'
              and not has_table_privilege(r.oid, c.oid, 'select')));

-- ---- privilege checks that no session setting can undo ----------------------------------------------------

-- SQL that closes what is still open to every login of this database, one statement per row: locks that could stop a broker, and ways to
-- fill the server's disk. No row means that nothing is open. Users that can lead keep these privileges, and so does the owner of the
-- database; superusers need no grant. Only a superuser can revoke functions of pg_catalog.
create or replace function helio.missing_privilege_checks() returns setof text language sql stable
    begin atomic
        with keeping as (
            select r.oid, r.rolname
            from pg_roles r
            where not r.rolsuper and r.rolname !~ '^pg_'
              and (has_table_privilege(r.oid, 'helio.federation'::regclass, 'update')
                   or r.oid = (select d.datdba from pg_database d where d.datname = current_database()))
        ), keepers as (
            select string_agg(quote_ident(k.rolname), ', ' order by k.rolname) as by_roles from keeping k
        ), closed as (
            select p.oid, format('pg_catalog.%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)) as function
            from pg_proc p
            where p.pronamespace = 'pg_catalog'::regnamespace
              and (p.proname ~ '^pg_(try_)?advisory_(xact_)?lock'
                   or p.proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'pg_logical_emit_message'))
        )
        select missing.script
        from (
            select 1 as place, coalesce('grant execute on function ' || c.functions || ' to ' || keepers.by_roles || '; ', '')
                || 'revoke execute on function ' || c.functions || ' from public;' as script
            from (select string_agg(f.function, ', ' order by f.function) as functions,
                      bool_or(has_function_privilege('public', f.oid, 'execute')
                              or exists (select from keeping k where not has_function_privilege(k.oid, f.oid, 'execute'))) as open
                  from closed f) c, keepers
            where c.open
            union all
            select 2, coalesce(format('grant temporary on database %I to %s; ', current_database(), keepers.by_roles), '')
                || format('revoke temporary on database %I from public;', current_database())
            from keepers
            where has_database_privilege('public', current_database(), 'temporary')
               or exists (select from keeping k where not has_database_privilege(k.oid, current_database(), 'temporary'))
            union all
            select 3, format('revoke create on schema %I from public;', n.nspname)
            from pg_namespace n where n.nspname = 'public' and has_schema_privilege('public', n.oid, 'create')
            union all
            select 4, helio.reader_privilege_check(r.rolname)
            from pg_roles r
            where (r.rolname = 'helio_reader' or r.rolname in (select o.reader from helio.readers o))
              and not exists (select from unnest(r.rolconfig) c (setting) where c.setting ~ '^temp_file_limit=')
        ) missing
        order by missing.place, missing.script;
    end;

-- Runs the statements that this user may run. Returns the rest, for a superuser; null if nothing is left.
create or replace function helio.add_privilege_checks() returns text language plpgsql
    set client_min_messages = error -- a revoke without the privilege is a warning for each function
    as $$
declare
    statement text;
begin
    for statement in select * from helio.missing_privilege_checks() loop
        begin
            execute statement;
        exception
            when insufficient_privilege then
                null;
        end;
    end loop;
    return (select string_agg(m, ' ') from helio.missing_privilege_checks() m);
end
$$;

-- Creates a reader, or sets its tenants. Returns the SQL that a superuser still has to run; null if there is none.
create or replace function helio.put_reader(wanted text, of_tenants text[]) returns text language plpgsql
    as $$
declare
    unknown text;
    script text := case when exists (select from pg_roles where rolname = wanted) then format('alter role %I login;', wanted)
        else format('create role %I login;', wanted) end
        || ' ' || helio.reader_limits(wanted) || ' ' || helio.reader_grants(wanted);
begin
    select string_agg(t, ', ') into unknown
    from unnest(of_tenants) t
    where not exists (select from helio.tenants k where k.tenant = t)
      and not exists (select from helio.tokens k where k.tenant = t);
    if unknown is not null then
        raise exception 'there is no tenant %: `helio-broker tenant add` makes one', unknown using errcode = 'HE003';
    end if;
    if exists (select from pg_roles r where r.rolname = wanted and helio.sees_every_tenant(r.rolname)) then
        raise exception 'role % sees every tenant by rights that it has: take another name', wanted using errcode = 'HE003';
    end if;
    delete from helio.readers r where r.reader = wanted and r.tenant <> all (of_tenants);
    insert into helio.readers (reader, tenant) select wanted, t from unnest(of_tenants) t on conflict do nothing;
    if helio.reader_is_ready(wanted) then
        return helio.add_privilege_checks();
    end if;
    begin
        execute script;
        if not helio.reader_is_ready(wanted) then
            raise insufficient_privilege;
        end if;
    exception
        when insufficient_privilege then
            return concat_ws(' ', script, case when not exists (select from pg_roles r where r.rolname = wanted)
                then helio.reader_privilege_check(wanted) end, helio.add_privilege_checks());
    end;
    return helio.add_privilege_checks();
end
$$;

-- Removes a reader's tenants, privileges and login. Returns as above. Its sessions see no tenant from now on.
create or replace function helio.drop_reader(unwanted text) returns text language plpgsql
    as $$
declare
    script text := format('drop owned by %1$I; drop role %1$I;', unwanted);
begin
    delete from helio.readers r where r.reader = unwanted;
    if not found then
        raise exception 'there is no reader %: `helio-broker reader list` names those there are', unwanted using errcode = 'HE003';
    end if;
    if not exists (select from pg_roles where rolname = unwanted) then
        return null;
    end if;
    begin
        execute format('revoke all on all tables in schema helio_report from %1$I; revoke all on schema helio_report from %1$I;'
            ' drop role %1$I;', unwanted);
    exception
        when insufficient_privilege or dependent_objects_still_exist then
            return script;
    end;
    return null;
end
$$;
