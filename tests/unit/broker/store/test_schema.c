/*  test_schema.c -- the schema and the program agree on names, transitions and ids; every query prepares; wrong
 *  migrations are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "broker/store/schema.h"
#include "broker/store/store.h"
#include "tests/support/pg_fixture.h"

static const char *shared; /* one database for what only reads; set by the group's setup */

static void assert_value(const char *conninfo, const char *sql, const char *expected)
{
    char *value = helio_pg_value(conninfo, sql);
    if (strcmp(value, expected) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", sql, value, expected);
    free(value);
}

/*  The words of 0..count-1 joined by commas, then null: nothing beyond the table. */
static void assert_words(const char *function, uint32_t count, const char *(*word)(uint32_t))
{
    char sql[256];
    helio_buffer_t expected = {0};
    for (uint32_t i = 0; i < count; i++)
        helio_buffer_printf(&expected, "%s,", word(i));
    helio_buffer_text(&expected, "-");
    (void)snprintf(sql, sizeof sql,
                   "select string_agg(coalesce(%s(i::int2), '-'), ',' order by i) from generate_series(0, %u) i",
                   function, count);
    assert_value(shared, sql, expected.data);
    helio_buffer_clear(&expected);
}

static void schema__names_of_stored_numbers_equal_those_of_the_program(void **state)
{
    (void)state;
    assert_words("helio.state_word", HELIO_JOB_STATE_COUNT, helio_job_state_name);
    assert_words("helio.tier_word", HELIO_TIER_COUNT, helio_tier_name);
    assert_words("helio.kind_word", HELIO_JOB_KIND_COUNT, helio_job_kind_name);
    assert_words("helio.goal_word", HELIO_GOAL_COUNT, helio_goal_name);
    assert_words("helio.report_word", HELIO_REPORT_KIND_COUNT, helio_report_kind_name);
    assert_words("helio.site_state_word", HELIO_SITE_STATE_COUNT, helio_site_state_name);
    assert_words("helio.signal_word", HELIO_SIGNAL_COUNT, helio_signal_name);
    assert_words("helio.interconnect_word", HELIO_INTERCONNECT_COUNT, helio_interconnect_name);
    assert_words("helio.sharing_word", HELIO_SHARING_COUNT, helio_sharing_name);
    assert_value(shared,
                 "select count(*) from generate_series(0, 13) i where helio.state_of(helio.state_word(i::int2)) = i",
                 "14");
}

static void schema__transitions_and_traits_of_states_equal_those_of_the_program(void **state)
{
    (void)state;
    helio_buffer_t expected = {0};
    for (uint32_t from = 0; from < HELIO_JOB_STATE_COUNT; from++)
        for (uint32_t to = 0; to < HELIO_JOB_STATE_COUNT; to++)
            helio_buffer_text(&expected, helio_job_state_edge(from, to) ? "1" : "0");
    assert_value(shared,
                 "select string_agg(helio.edge_listed(f::int2, t::int2)::int::text, '' order by f, t) "
                 "from generate_series(0, 13) f, generate_series(0, 13) t",
                 expected.data);
    helio_buffer_reset(&expected);
    for (uint32_t i = 0; i < HELIO_JOB_STATE_COUNT; i++)
        helio_buffer_printf(&expected, "%d%d", helio_job_state_is_live(i), helio_job_state_is_terminal(i));
    assert_value(shared,
                 "select string_agg(helio.state_is_live(i::int2)::int::text || helio.state_is_over(i::int2)::int, '' "
                 "order by i) from generate_series(0, 13) i",
                 expected.data);
    helio_buffer_clear(&expected);
}

static void schema__ids_read_and_write_as_in_the_program(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 50; i++) {
        uint8_t random[10];
        for (uint32_t k = 0; k < 10; k++)
            random[k] = (uint8_t)(i * 37 + k * 101 + i * k);
        helio_job_key_t key = {helio_uuid_v7(INT64_C(1795000000000) * (i + 1) % (INT64_C(1) << 48), random),
                               i % 3 ? (int32_t)i : HELIO_NO_TASK};
        char text[HELIO_KEY_SIZE], hex[33] = "", sql[512];
        helio_job_key_text(key, text);
        for (int k = 0; k < 16; k++)
            (void)snprintf(hex + 2 * (size_t)k, 3, "%02x", key.job.bytes[k]);
        (void)snprintf(sql, sizeof sql,
                       "select helio.job_text('%s', %d) = '%s' and helio.job_uuid('%s') = '%s'::uuid "
                       "and helio.job_uuid(upper('%s')) = '%s'::uuid and helio.job_task('%s') = %d",
                       hex, key.task, text, text, hex, text, hex, text, key.task);
        assert_value(shared, sql, "t");
    }
    static const char *const bad[] = {"",
                                      "short",
                                      "81hw000000e008000000000001",
                                      "01hw000000e00800000000000u",
                                      "01hw000000e0080000000000011",
                                      "01hw000000e00800000000000-"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char sql[128];
        (void)snprintf(sql, sizeof sql, "select helio.job_uuid('%s') is null", bad[i]);
        assert_value(shared, sql, "t");
    }
}

static void schema__every_named_query_prepares(void **state)
{
    (void)state;
    PGconn *connection = PQconnectdb(shared);
    PQclear(PQexec(connection, "set search_path = pg_catalog"));
    uint32_t count = 0;
    for (const helio_sql_file_t *query = helio_sql_queries; query->name; query++, count++) {
        PGresult *result = PQprepare(connection, query->name, query->text, 0, NULL);
        if (PQresultStatus(result) != PGRES_COMMAND_OK)
            fail_msg("%s: %s", query->name, PQresultErrorMessage(result));
        PQclear(result);
    }
    PQfinish(connection);
    assert_true(count > 40);
}

/* ---- migrations ---------------------------------------------------------------------------------------- */

static void say(void *arg, const char *line)
{
    helio_buffer_t *said = arg;
    helio_buffer_printf(said, "%s\n", line);
}

static void say_privilege(void *arg, const char *open, const char *sql)
{
    helio_buffer_t *said = arg;
    helio_buffer_printf(said, "%s|%s\n", open, sql);
}

/*  Commands choose their advice by this state. */
static void errors__of_the_server_and_of_the_connection_have_their_state(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    char stranger[512];
    helio_error_t err = {.text = ""};
    helio_pg_exec(conninfo, "create role schema_stranger login");
    (void)snprintf(stranger, sizeof stranger, "%s user=schema_stranger", conninfo);
    assert_int_equal(helio_schema_verify(stranger, &err), HELIO_INVALID);
    assert_string_equal(err.sqlstate, "42501");
    helio_pg_exec(conninfo, "drop role schema_stranger");
    assert_int_equal(helio_schema_verify("host=127.0.0.1 port=1 connect_timeout=5", &err), HELIO_UNAVAILABLE);
    assert_string_equal(err.sqlstate, "08001");
    assert_int_equal(helio_schema_verify(helio_pg_empty_database(*state), &err), HELIO_VERSION);
    assert_string_equal(err.sqlstate, ""); /* the database reported no error */
}

static void migrate__creates_the_schema_once_and_then_changes_nothing(void **state)
{
    const char *conninfo = helio_pg_empty_database(*state);
    helio_buffer_t said = {0};
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_schema_verify(conninfo, &err), HELIO_VERSION);
    assert_non_null(strstr(err.text, "helio-broker migrate"));
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = conninfo});
    assert_int_equal(helio_store_open(store, &err), HELIO_VERSION);
    helio_store_destroy(&store);
    assert_int_equal(helio_schema_migrate(conninfo, say, &said, &err), HELIO_OK);
    assert_non_null(strstr(said.data, "applying 0001_"));
    assert_int_equal(helio_schema_verify(conninfo, &err), HELIO_OK);
    helio_buffer_reset(&said);
    assert_int_equal(helio_schema_migrate(conninfo, say, &said, &err), HELIO_OK);
    assert_null(strstr(said.data, "applying"));
    assert_non_null(strstr(said.data, "nothing to migrate"));
    helio_buffer_clear(&said);
}

static void migrate__an_edited_migration_is_refused(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_pg_exec(conninfo, "update helio.schema_migrations set sha256 = sha256('x') where name like '0002%'");
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_schema_verify(conninfo, &err), HELIO_VERSION);
    assert_non_null(strstr(err.text, "0002_"));
    assert_int_equal(helio_schema_migrate(conninfo, NULL, NULL, &err), HELIO_VERSION);
}

static void migrate__a_database_of_a_newer_release_is_refused(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_pg_exec(conninfo, "insert into helio.schema_migrations values ('9999_future', sha256('x'))");
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_schema_verify(conninfo, &err), HELIO_VERSION);
    assert_non_null(strstr(err.text, "9999_future"));
    assert_non_null(strstr(err.text, "newer"));
    assert_int_equal(helio_schema_migrate(conninfo, NULL, NULL, &err), HELIO_VERSION);
}

static void migrate__a_missing_migration_is_named(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_pg_exec(conninfo, "delete from helio.schema_migrations where name like '0004%'");
    helio_error_t err = {.text = ""};
    assert_int_equal(helio_schema_verify(conninfo, &err), HELIO_VERSION);
    assert_non_null(strstr(err.text, "0004_"));
    assert_int_equal(helio_schema_migrate(conninfo, NULL, NULL, &err), HELIO_OK);
    assert_int_equal(helio_schema_verify(conninfo, &err), HELIO_OK);
}

static void migrate__a_failed_migration_leaves_nothing_behind(void **state)
{
    const char *conninfo = helio_pg_empty_database(*state);
    helio_pg_exec(conninfo, "create schema helio"); /* in the way of the first */
    helio_error_t err = {.text = ""};
    assert_int_not_equal(helio_schema_migrate(conninfo, NULL, NULL, &err), HELIO_OK);
    assert_non_null(strstr(err.text, "0001_"));
    assert_value(conninfo,
                 "select count(*) from pg_class c join pg_namespace n on n.oid = relnamespace where nspname = 'helio'",
                 "0");
}

static void migrate__an_owner_without_createrole_continues_without_roles(void **state)
{
    const char *conninfo = helio_pg_empty_database(*state);
    char plain[512];
    helio_pg_exec(conninfo,
                  "drop owned by helio_reader, helio_broker; create role plain login; "
                  "do $$ begin execute format('grant create on database %I to plain', current_database()); end $$");
    (void)snprintf(plain, sizeof plain, "%s user=plain", conninfo);
    helio_error_t err = {.text = ""};
    if (helio_schema_migrate(plain, NULL, NULL, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = plain});
    if (helio_store_open(store, &err) != HELIO_OK) /* leadership needs no superuser either */
        fail_msg("%s", err.text);
    helio_store_destroy(&store);
}

/*  A superuser set the limits of the readers for another owner, or will: each line names what was left out and what to
 *  do, and `helio-broker check` has the SQL. */
static void migrate__of_an_owner_who_may_not_alter_roles_says_what_to_do(void **state)
{
    const char *conninfo = helio_pg_empty_database(*state);
    char plain[512];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t said = {0}, rights = {0};
    helio_error_t err = {.text = ""};
    helio_pg_exec(
        conninfo,
        "create role other_owner login; alter role helio_reader connection limit 7; "
        "do $$ begin execute format('grant create on database %I to other_owner', current_database()); end $$");
    (void)snprintf(plain, sizeof plain, "%s user=other_owner", conninfo);
    if (helio_schema_migrate(plain, say, &said, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    assert_non_null(strstr(said.data,
                           "limits of role helio_reader not set: other_owner may not alter it; `helio-broker "
                           "check` prints the SQL for a superuser"));
    assert_non_null(strstr(said.data, "other_owner may not revoke them; `helio-broker check` prints the SQL"));
    for (const char *at = said.data; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        assert_true(strcspn(at, "\n") < 200); /* lines that a person reads */
    assert_int_equal(helio_store_open_privileges(plain, say_privilege, &rights, &err), HELIO_OK);
    assert_non_null(strstr(rights.data,
                           "role helio_reader of dashboards has no limits|alter role helio_reader connection limit "
                           "20;"));
    helio_pg_exec(conninfo, "do $$ begin execute helio.reader_limits('helio_reader'); end $$");
    helio_buffer_reset(&said);
    helio_buffer_reset(&rights);
    assert_int_equal(helio_schema_migrate(plain, say, &said, &err), HELIO_OK);
    assert_null(strstr(said.data, "limits of role")); /* they are set, so it does not matter that this owner cannot */
    assert_int_equal(helio_store_open_privileges(plain, say_privilege, &rights, &err), HELIO_OK);
    assert_null(strstr(rights.data, "has no limits"));
}

/*  Somebody has read, and has not ended the transaction: everybody who wants the table queues behind the migration. */
static void waits_for_reader(const char *conninfo, const char *reads, const char *name)
{
    static const helio_schema_patience_t patience = {.lock_ms = 1000, .tries = 2, .pause_ms = 300, .pause_max_ms = 300};
    char expected[200];
    helio_error_t err = {.text = ""};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t said = {0};
    PGconn *reader = PQconnectdb(conninfo);
    PQclear(PQexec(reader, "set application_name = 'wall'; begin"));
    PGresult *read = PQexec(reader, reads);
    assert_int_equal(PQresultStatus(read), PGRES_TUPLES_OK);
    PQclear(read);
    assert_int_equal(helio_schema_migrate_with(conninfo, &patience, say, &said, &err), HELIO_BUSY);
    assert_string_equal(err.sqlstate, "55P03");
    (void)snprintf(expected, sizeof expected, "%s needs a lock that another session has: process %d (user ", name,
                   PQbackendPID(reader));
    if (!strstr(err.text, expected) || !strstr(err.text, ", application wall). It gave up after 2 tries"))
        fail_msg("%s", err.text);
    (void)snprintf(expected, sizeof expected, "waiting for %s: it is locked by process %d (user ", name,
                   PQbackendPID(reader));
    if (!strstr(said.data, expected) || !strstr(said.data, "next try in 300 ms\n"))
        fail_msg("%s", said.data);
    PQclear(PQexec(reader, "rollback"));
    if (helio_schema_migrate_with(conninfo, &patience, NULL, NULL, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    assert_int_equal(helio_schema_verify(conninfo, &err), HELIO_OK);
    PQfinish(reader);
}

static void migrate__gives_up_behind_a_reader_and_says_which(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    waits_for_reader(conninfo, "select count(*) from helio_report.jobs", "views and grants");
    helio_pg_exec(conninfo, "delete from helio.schema_migrations where name = '0052_after_start'"); /* fit to repeat */
    waits_for_reader(conninfo, "select count(*) from helio.dependencies", "0052_after_start");
}

/*  As for a database that was restored into another server. */
static void migrate__makes_roles_that_the_server_lacks(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    helio_error_t err = {.text = ""};
    helio_pg_exec(conninfo, "alter role helio_reader rename to former_reader");
    assert_int_equal(helio_schema_migrate(conninfo, NULL, NULL, &err), HELIO_OK);
    assert_value(conninfo, "select has_table_privilege('helio_reader', 'helio_report.jobs', 'select')", "t");
}

static void schema__the_broker_role_suffices_to_lead_and_write(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    char as_broker[512];
    (void)snprintf(as_broker, sizeof as_broker, "%s user=helio_broker", conninfo);
    helio_error_t err = {.text = ""};
    helio_store_t *store = helio_store_new((helio_store_options_t){.conninfo = as_broker});
    if (helio_store_open(store, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    helio_store_destroy(&store);
    assert_int_equal(helio_store_put_tenant(as_broker, "acme", "lulea", NULL, &err), HELIO_OK);
}

static void list(void *arg, const char *reader, const char *tenants, bool ready)
{
    helio_buffer_printf(arg, "%s (%s)%s\n", reader, tenants, ready ? "" : " not ready");
}

static void reader__is_created_with_createrole_and_is_a_script_without(void **state)
{
    const char *conninfo = helio_pg_database(*state);
    char as_broker[512], as_reader[512];
    (void)snprintf(as_broker, sizeof as_broker, "%s user=helio_broker", conninfo);
    (void)snprintf(as_reader, sizeof as_reader, "%s user=wall", conninfo);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t script = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t said = {0};
    helio_error_t err = {0};
    const char *const tenants[] = {"acme", "demo"};
    assert_int_equal(helio_store_put_reader(conninfo, "wall", tenants, 2, &script, &err), HELIO_INVALID);
    assert_string_equal(err.text, "there is no tenant acme, demo: `helio-broker tenant add` makes one");
    assert_int_equal(helio_store_put_tenant(conninfo, "acme", NULL, NULL, &err), HELIO_OK);
    assert_int_equal(helio_store_put_tenant(conninfo, "demo", NULL, NULL, &err), HELIO_OK);

    assert_int_equal(helio_store_put_reader(as_broker, "wall", tenants, 2, &script, &err), HELIO_OK);
    assert_int_equal(helio_store_each_reader(as_broker, list, &said, &err), HELIO_OK);
    assert_string_equal(said.data, "wall (acme, demo) not ready\n");
    helio_pg_exec(conninfo, script.data);
    helio_buffer_reset(&said);
    assert_int_equal(helio_store_each_reader(as_broker, list, &said, &err), HELIO_OK);
    assert_string_equal(said.data, "wall (acme, demo)\n");
    helio_buffer_reset(&script);
    assert_int_equal(helio_store_put_reader(as_broker, "wall", tenants, 1, &script, &err), HELIO_OK);
    assert_int_equal(script.size, 0);
    assert_value(as_reader, "select count(*) from helio_report.jobs", "0");
    assert_value(conninfo,
                 "select string_agg(concat_ws(' ', action, object, detail), ', ' order by audit_id) from helio.audit "
                 "where action like 'reader%'",
                 "reader-add wall acme,demo, reader-add wall acme");

    helio_buffer_reset(&script);
    assert_int_equal(helio_store_remove_reader(conninfo, "wall", &script, &err), HELIO_OK);
    assert_int_equal(script.size, 0);
    assert_value(conninfo, "select count(*) from pg_roles where rolname = 'wall'", "0");
    assert_int_equal(helio_store_remove_reader(conninfo, "wall", &script, &err), HELIO_INVALID);
}

static int up(void **state)
{
    *state = helio_pg_up();
    shared = helio_pg_database(*state);
    return 0;
}

static int down(void **state)
{
    helio_pg_down((helio_pg_t **)state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schema__names_of_stored_numbers_equal_those_of_the_program),
        cmocka_unit_test(schema__transitions_and_traits_of_states_equal_those_of_the_program),
        cmocka_unit_test(schema__ids_read_and_write_as_in_the_program),
        cmocka_unit_test(schema__every_named_query_prepares),
        cmocka_unit_test(errors__of_the_server_and_of_the_connection_have_their_state),
        cmocka_unit_test(migrate__creates_the_schema_once_and_then_changes_nothing),
        cmocka_unit_test(migrate__an_edited_migration_is_refused),
        cmocka_unit_test(migrate__a_database_of_a_newer_release_is_refused),
        cmocka_unit_test(migrate__a_missing_migration_is_named),
        cmocka_unit_test(migrate__a_failed_migration_leaves_nothing_behind),
        cmocka_unit_test(migrate__an_owner_without_createrole_continues_without_roles),
        cmocka_unit_test(migrate__of_an_owner_who_may_not_alter_roles_says_what_to_do),
        cmocka_unit_test(migrate__gives_up_behind_a_reader_and_says_which),
        cmocka_unit_test(migrate__makes_roles_that_the_server_lacks),
        cmocka_unit_test(schema__the_broker_role_suffices_to_lead_and_write),
        cmocka_unit_test(reader__is_created_with_createrole_and_is_a_script_without),
    };
    return cmocka_run_group_tests(tests, up, down);
}
