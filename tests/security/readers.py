"""What the database lets its readers do: every statement of a table by every login that is no broker's. What a login sees is its own
tenants'; nothing is written, locked, copied, run or learned beyond that."""
import concurrent.futures, re, subprocess

from door import check
from federation import run

SECRET = "globex-secret"  # in the name, the user, the document and the reasons of another tenant's job
PRIVATE = re.compile(r"globex|\bhel_[0-9a-z]{12}_|SCRAM-SHA-256\$")

# What is wrong with a verdict's statement says: denied (42501), no such thing for it (42xxx, 3xxxx), or nothing of others'.
DENIED, REFUSED, NOTHING = "denied", "refused", "nothing of others"
STATEMENTS = {
    DENIED: """
        select * from pg_authid | select * from pg_shadow | select * from pg_statistic | select * from pg_statistic_ext_data
        select * from pg_hba_file_rules | select * from pg_ident_file_mappings | select * from pg_file_settings
        select * from pg_user_mapping | select * from pg_replication_origin_status | select subconninfo from pg_subscription
        select * from pg_largeobject | select * from pg_shmem_allocations | select * from pg_backend_memory_contexts
        select pg_read_file('postgresql.conf') | select pg_read_binary_file('PG_VERSION') | select pg_ls_dir('.')
        select * from pg_ls_logdir() | select * from pg_ls_waldir() | select * from pg_ls_tmpdir() | select pg_stat_file('base')
        select pg_reload_conf() | select pg_rotate_logfile() | select pg_switch_wal() | select pg_create_restore_point('x')
        select pg_stat_reset() | select pg_stat_reset_shared('bgwriter') | select pg_promote() | select pg_export_snapshot(), pg_wal_replay_pause()
        select pg_log_backend_memory_contexts(pg_backend_pid()) | select pg_backup_start('x') | select pg_backup_stop()
        select lo_creat(-1) | select lo_create(0) | select lo_from_bytea(0, 'x') | select lo_import('/etc/passwd')
        select lo_export(1, '/tmp/x') | select pg_logical_emit_message(false, 'x', 'x') | select pg_logical_emit_message(true, 'x', 'x')
        select pg_advisory_lock(7524442231838172527) | select pg_advisory_lock(1, 2) | select pg_advisory_lock_shared(1)
        select pg_try_advisory_lock(7524442231838172527) | select pg_try_advisory_lock_shared(1, 2) | select pg_advisory_xact_lock(1)
        select pg_try_advisory_xact_lock(7524442231838172527) | select pg_advisory_xact_lock_shared(1, 2)
        create temporary table t (a text) | create table public.t (a text) | create table helio_report.t (a text) | create schema s
        create temporary view v as select 1 | create temporary sequence s | create function public.f() returns int language sql return 1
        create function helio_report.f() returns int language sql return 1 | create extension dblink | create extension file_fdw
        create extension adminpack | create language plpython3u | create role r | create role r superuser | create database d
        create role r in role helio_broker | alter role current_user superuser | alter role current_user createrole
        alter role helio_broker password 'x' | alter role helio_reader nologin | grant helio_broker to current_user
        grant helio_owner to current_user | grant pg_read_all_data to current_user | grant pg_execute_server_program to current_user
        set role helio_broker | set role helio_owner | set role postgres | set session authorization postgres | set role pg_monitor
        set role pg_read_server_files | set temp_file_limit = -1 | set session_replication_role = replica | set log_statement = 'none'
        set log_min_messages = 'fatal' | set lc_messages = 'C' | set track_activities = off | set session_preload_libraries = 'x'
        alter role current_user set temp_file_limit = -1 | alter system set fsync = off
        alter database postgres set search_path = 'x' | alter role all set work_mem = '1GB' | set dynamic_library_path = '/tmp'
        copy (select 1) to '/tmp/x' | copy (select 1) to program 'id' | load '/tmp/x.so' | checkpoint
        create publication p for all tables | create event trigger e on ddl_command_start execute function f()
        create tablespace t location '/tmp' | create foreign data wrapper w | create access method a type index handler bthandler
        security label for x on role helio_broker is 'x' | comment on role helio_broker is 'x' | comment on view helio_report.jobs is 'x'
        do $$begin perform 1 from helio.jobs; end$$ | do $$begin execute 'set role helio_broker'; end$$
        explain select * from helio.jobs | explain analyze select * from helio.tokens | declare c cursor for select * from helio.tokens
        prepare p as select * from helio.jobs | table helio.tokens | create index on helio_report.jobs (name) | drop view helio_report.jobs
        select helio.put_reader(current_user::text, '{globex}') | select helio.audit_verify() | select helio.job_text(null, null)
        select * from helio.visible_tasks | select * from helio.visible_jobs | select * from helio.row_visibility | select * from helio.tasks_now
        create or replace view helio_report.jobs as select 1 as job_id | alter view helio_report.jobs owner to current_user
        alter view helio_report.jobs reset (security_barrier) | grant select on helio_report.jobs to acme with grant option
        drop owned by helio_broker | reassign owned by helio_broker to current_user | begin; lock table helio_report.jobs in share mode
        begin; lock table helio.federation in access share mode | begin; lock table pg_catalog.pg_class in access exclusive mode
        vacuum full pg_catalog.pg_authid_missing; reindex system postgres | alter default privileges for role helio_broker grant select on tables to public
        select dblink('x', 'y') from helio.jobs | select query_to_xml('select * from helio.tokens', true, true, '')
        select table_to_xml('helio.tokens', true, true, '') | select schema_to_xml('helio', true, true, '') | select cursor_to_xml('c', 1, true, true, '') from helio.jobs
        select nextval('helio.x') from helio.jobs | select pg_terminate_backend(pid) from pg_stat_activity where usename = 'postgres'
        select pg_cancel_backend(pid) from pg_stat_activity where usename = 'postgres' | select ts_stat('select document from helio.jobs')
        select pg_get_wal_resource_managers(), pg_current_wal_lsn() from helio.jobs | select * from pg_get_multixact_members('1'), helio.jobs""",
    NOTHING: """
        select * from pg_stat_activity | select query from pg_stat_activity | select * from pg_stats | select * from pg_stats_ext
        select most_common_vals from pg_stats | select histogram_bounds from pg_stats | select * from pg_locks | select * from pg_prepared_xacts
        select * from pg_stat_user_tables | select * from pg_stat_progress_vacuum | select * from pg_cursors | select * from pg_prepared_statements
        select * from pg_settings | select * from pg_db_role_setting | select * from pg_roles | select * from pg_user
        select * from pg_description | select * from pg_seclabels | select * from pg_stat_ssl | select * from pg_replication_slots
        select pg_get_functiondef(oid) from pg_proc where pronamespace in (select oid from pg_namespace where nspname ~ 'helio')
        select pg_get_viewdef(oid) from pg_class where relkind = 'v' and relnamespace in (select oid from pg_namespace where nspname ~ 'helio')
        select * from information_schema.columns | select * from information_schema.view_table_usage | select * from information_schema.routines
        select * from pg_available_extensions | select * from pg_publication | select * from pg_event_trigger | select * from pg_foreign_server
        select current_setting('krb_server_keyfile', true) | select * from pg_timezone_names limit 3 | select inet_server_addr(), version()
        select database_to_xml_missing() | listen helio | notify helio, 'x' | select pg_notify('helio', 'x')
        set search_path = pg_temp, helio, helio_report; select * from jobs | set search_path = helio; select * from helio_report.jobs
        set search_path = public, helio_report; select * from tokens | set row_security = off; select * from helio_report.jobs
        set default_transaction_read_only = off; select * from helio_report.jobs | set transaction_read_only = off; select * from helio_report.jobs
        set statement_timeout = 0; select * from helio_report.jobs | set client_min_messages = debug5; select * from helio_report.jobs
        reset role; select * from helio_report.jobs | reset session authorization; select * from helio_report.jobs | discard all; select 1
        set enable_seqscan = off; explain analyze verbose select * from helio_report.jobs where name like 'globex_secre%'
        explain (analyze, verbose) select * from helio_report.jobs | explain (verbose, costs off) select * from helio_report.usage
        select * from helio_report.jobs where 1 / (case when name = 'globex' || '-secret' then 0 else 1 end) > 0
        select * from helio_report.jobs where name::int > 0 | select job_id, name::numeric from helio_report.jobs
        select count(*) filter (where tenant ~ '^glob') from helio_report.jobs | select row_to_json(j) from helio_report.jobs j
        select * from helio_report.jobs j cross join lateral (select j.name::date) x | select xmin, ctid from helio_report.jobs
        select * from helio_report.jobs for update | select * from helio_report.jobs tablesample system (100)
        with j as materialized (select * from helio_report.jobs) select * from j | select (select j from helio_report.jobs j limit 1)
        select jsonb_agg(j) from helio_report.jobs j | select string_agg(tenant, ',') from helio_report.jobs
        copy (select * from helio_report.jobs) to stdout | copy helio_report.jobs to stdout | table helio_report.jobs
        begin isolation level serializable; select * from helio_report.jobs; commit
        select set_config('role', 'helio_broker', false) | select set_config('session_authorization', 'postgres', false)
        select set_config('search_path', 'helio', false); select * from jobs | execute nothing | fetch all from nothing""",
}


def statements(federation):
    """[(verdict, statement)]: those of the table above, and for each relation and function that there is."""
    table = [(verdict, one.strip()) for verdict, text in STATEMENTS.items()
             for line in text.strip().splitlines() for one in re.split(r" \| ", line) if one.strip()]
    relations = federation.sql("select n.nspname, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
                               "where n.nspname in ('helio', 'helio_report') and c.relkind in ('r', 'v', 'S', 'm', 'p') order by 1, 2")
    for schema, name in relations:
        whole = f"{schema}.{name}"
        if schema == "helio":
            table.append((DENIED, f"select * from {whole}"))
            table.append((DENIED, f"copy {whole} to stdout"))
        else:
            table.append((NOTHING, f"select * from {whole}"))
            table.append((NOTHING, f"select max(v::text), min(v::text), count(*) from {whole} v"))
        for change in ("delete from {}", "insert into {} default values", "truncate {}", "alter table {} disable trigger all",
                       "drop table {} cascade"):
            table.append((REFUSED, change.format(whole)))
        table.append((NOTHING, f"grant all on {whole} to public"))  # a warning; the schema stays as it is
    for (signature,) in federation.sql("select p.oid::regprocedure from pg_proc p where pronamespace = 'helio'::regnamespace"):
        name, given = signature.rstrip(")").split("(", 1)
        values = ", ".join(f"null::{kind}" for kind in given.split(",") if kind)
        table.append((DENIED, f"select {name}({values})"))
    return table


def by(database, login, table):
    """[(SQLSTATE or '', output)]: all statements in one session; each begins with the login's settings."""
    script = "\\set VERBOSITY sqlstate\n" + "".join(
        f"reset all; reset role; set client_min_messages = error; set default_transaction_read_only = off;\n\\echo <<{i}>>\n{one};\n\\echo <</{i}>>\nrollback;\n" for i, (_, one) in enumerate(table))
    said = subprocess.run(["psql", "-qXAt", re.sub(r"user=\S+", f"user={login}", database)], input=script, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    got = []
    for i in range(len(table)):
        found = re.search(rf"<<{i}>>\n(.*?)<</{i}>>", said, re.S)
        check(found, f"{login}: no answer to {table[i][1]}: {said[-500:]}")
        error = re.search(r"^(?:psql:\S+ )?(?:ERROR|FATAL): +(\w{5})", found.group(1), re.M)
        got.append((error.group(1) if error else "", found.group(1)))
    return got


def matrix(federation, logins):
    table = statements(federation)
    state = "select md5(string_agg(t::text, '|')) from (select c.oid, relname, relacl, relowner from pg_class c where relkind <> 't' " \
            "and relnamespace in ('helio'::regnamespace, 'helio_report'::regnamespace, 'public'::regnamespace) order by 1) t"
    before = federation.sql(state)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda login: by(federation.database, login[0], table), logins))
    for (login, sees_all), got in zip(logins, answers):
        sees = {word for word in ("acme-secret", SECRET) if any(word + "|" in output for _, output in got)}
        check(sees == {"acme-secret", SECRET} if sees_all else SECRET not in sees, f"{login} sees {sees}: the attack would not show a leak")
        for (verdict, one), (error, output) in zip(table, got):
            if verdict == DENIED:
                good = error == "42501" or error in ("42704", "42883", "42P01", "0A000", "22023", "25001", "55006")
            elif verdict == REFUSED:
                good = error in ("42501", "55000", "42809")
            else:
                good = True
            told = "" if sees_all else PRIVATE.search(output.replace("'globex' || '-secret'", "").replace("'globex_secre%'", ""))
            check(good and not told, f"{login} may ({verdict} expected, {error or 'done'}): {one}\n{output[:600]}")
    check(federation.sql(state) == before, "a reader changed the schema")
    return len(table) * len(logins)


def attack(federation, door, _seed):
    for tenant in ("acme", "globex"):
        door.submit(door.token_of(tenant, f"{tenant}-user"), {"run": f"echo {tenant}-secret", "name": f"{tenant}-secret"})
    federation.wait_for(lambda: federation.sql("select count(*) from helio_report.jobs where state = 'succeeded' and name ~ 'secret'")[0][0] >= "2",
                        30, "the tenants' jobs do not end")
    federation.sql("analyze")
    conf = federation.path("broker.yaml")
    run(federation.tool("helio-broker"), "reader", "add", "acme-dashboards", "--tenant", "acme", "--config", conf)
    federation.sql("create role outsider login")
    federation.sql('create role "nobody-yet" login')
    run(federation.tool("helio-broker"), "reader", "add", "nobody-yet", "--tenant", "acme", "--config", conf)
    federation.sql("delete from helio.readers where reader = 'nobody-yet'")
    yield "statements of readers", lambda: matrix(federation, (
        ("acme-dashboards", False), ("nobody-yet", False), ("outsider", False), ("helio_reader", True)))
