-- Whose rows of helio_report a login sees. The views read with their owner's rights, but current_user in them is who asks. Each
-- view of tenants' rows asks helio.sight, as a subquery of its own, so once a query and not once a row, and is a security
-- barrier, or stands on one alone: no function or operator of a reader's own meets a row before that.

-- The operator's reader, and who may read the tables themselves: there is nothing to keep from them.
create or replace function helio.sees_every_tenant(who name) returns boolean language sql stable parallel safe
    return (has_schema_privilege(who, 'helio', 'usage') and has_table_privilege(who, 'helio.jobs'::regclass, 'select'))
        or exists (select from pg_roles r where r.rolname = 'helio_reader' and pg_has_role(who, r.oid, 'usage'));

create or replace view helio.sight as
select helio.sees_every_tenant(current_user) as every_tenant,
    array (select r.tenant from helio.readers r where r.reader = current_user::text) as tenants;

-- The jobs of those tenants, for rows that belong to a job. Who sees every tenant needs no look at them: none are in it then.
create or replace view helio.jobs_in_sight as
select j.job_id
from helio.jobs j
where not (select s.every_tenant from helio.sight s) and j.tenant = any ((select s.tenants from helio.sight s)::text[]);

-- Tasks of theirs, without what takes a look at every attempt: helio_report.jobs counts that for the rows that are shown, and
-- not for all that a list of the newest is chosen from.
create or replace view helio.tasks_in_sight with (security_barrier) as
select t.job_id, t.task, t.name, t.tenant, t.user_name, t.queue, t.tier, t.kind, t.state, t.home_site, t.site, t.gpu_model, t.gpus,
    t.submitted_at, t.started_at, t.finished_at, t.exit_code, t.attempts, t.gpu_seconds, t.units_done, t.cost_usd, t.energy_kwh,
    t.carbon_g, t.reason, t.pool, t.nodes, t.epoch, t.before
from helio.tasks_now t
where ((select s.every_tenant from helio.sight s) or t.tenant = any ((select s.tenants from helio.sight s)::text[]))
  and t.task between -1 and 2147483647; -- every task; PostgreSQL takes a job for one task by it, and not for ten

-- ---- helio-broker reader ----------------------------------------------------------------------------------

create or replace function helio.reader_limits(reader text) returns text language sql immutable
    return format('alter role %1$I connection limit 20;'
        ' alter role %1$I set default_transaction_read_only = on;'
        ' alter role %1$I set statement_timeout = ''30s'';'
        ' alter role %1$I set idle_in_transaction_session_timeout = ''30s'';', reader);

create or replace function helio.reader_grants(reader text) returns text language sql immutable
    return format('grant usage on schema helio_report to %1$I; grant select on all tables in schema helio_report to %1$I;', reader);

-- A grant by who may not is a warning and no error, so what came of it is looked at.
create or replace function helio.reader_is_ready(reader text) returns boolean language sql stable
    return exists (select from pg_roles r
        where r.rolname = reader and r.rolcanlogin and r.rolconnlimit = 20
          and r.rolconfig @> array ['default_transaction_read_only=on', 'statement_timeout=30s',
              'idle_in_transaction_session_timeout=30s']
          and has_schema_privilege(r.oid, 'helio_report', 'usage')
          and not exists (select from pg_class c where c.relnamespace = 'helio_report'::regnamespace and c.relkind = 'v'
              and not has_table_privilege(r.oid, c.oid, 'select')));

-- Makes a reader, or gives one other tenants. The answer is what a superuser has yet to run, as SQL; null: nothing.
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
        return null;
    end if;
    begin
        execute script;
        if not helio.reader_is_ready(wanted) then
            raise insufficient_privilege;
        end if;
    exception
        when insufficient_privilege then
            return script;
    end;
    return null;
end
$$;

-- Takes a reader's tenants, rights and login. The answer is as above. Its sessions see no tenant from this moment on.
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
