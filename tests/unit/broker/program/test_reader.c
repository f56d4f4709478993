/*  test_reader.c -- the commands for readers: only the script is on standard output, so that it can be piped. */
#include "tests/unit/broker/program/commands_testing.h"

static void add_tenants(desk_t *self)
{
    helio_pg_exec(self->database, "insert into helio.tenants values ('acme'), ('demo')");
}

static void reader__sees_its_tenants_until_it_is_removed(void **state)
{
    desk_t *self = *state;
    char as_reader[600];
    (void)snprintf(as_reader, sizeof as_reader, "%s user=wall", self->database);
    add_tenants(self);
    assert_int_equal(RUN(self, helio_command_reader, "reader", "add", "wall", "--tenant", "acme", "--tenant", "demo"),
                     0);
    assert_null(strstr(self->out, "create role")); /* a superuser ran it: nothing is left to run */
    assert_in_database(self, "select string_agg (reader || ' ' || tenant, ', ' order by tenant) from helio.readers",
                       "wall acme, wall demo");
    char *seen = helio_pg_value(as_reader, "select count(*) from helio_report.jobs");
    assert_string_equal(seen, "0");
    free(seen);
    assert_int_equal(RUN(self, helio_command_reader, "reader", "list"), 0);
    assert_non_null(strstr(self->out, "wall"));
    assert_non_null(strstr(self->out, "acme, demo"));
    assert_null(strstr(self->out, "no login"));
    assert_int_equal(RUN(self, helio_command_reader, "reader", "remove", "wall"), 0);
    assert_in_database(self, "select count(*) from pg_roles where rolname = 'wall'", "0");
    assert_int_equal(RUN(self, helio_command_reader, "reader", "list"), 0);
    assert_string_equal(self->out, "");
    assert_int_equal(RUN(self, helio_command_reader, "reader", "remove", "wall"), 1); /* there is none */
}

static void reader__of_a_broker_without_rights_is_a_script_for_a_superuser(void **state)
{
    desk_t *self = *state;
    char as_broker[600];
    (void)snprintf(as_broker, sizeof as_broker, "%s user=helio_broker", self->database);
    add_tenants(self);
    configure(self, as_broker, "");
    assert_int_equal(RUN(self, helio_command_reader, "reader", "add", "hall", "--tenant", "acme"), 0);
    assert_true(self->err[0]);
    char script[sizeof self->out];
    (void)snprintf(script, sizeof script, "%s", self->out);
    assert_int_equal(RUN(self, helio_command_reader, "reader", "list"), 0);
    assert_non_null(strstr(self->out, "no login"));
    helio_pg_exec(self->database, script); /* fails the test unless all of it is SQL */
    assert_int_equal(RUN(self, helio_command_reader, "reader", "list"), 0);
    assert_null(strstr(self->out, "no login"));
    assert_int_equal(RUN(self, helio_command_reader, "reader", "remove", "hall"), 0);
    (void)snprintf(script, sizeof script, "%s", self->out);
    helio_pg_exec(self->database, script);
    assert_in_database(self, "select count(*) from pg_roles where rolname = 'hall'", "0");
}

static void reader__of_an_unknown_tenant_is_refused(void **state)
{
    desk_t *self = *state;
    add_tenants(self);
    assert_int_equal(RUN(self, helio_command_reader, "reader", "add", "desk", "--tenant", "acme", "--tenant", "emca"),
                     1);
    assert_string_equal(self->out, "");
    assert_in_database(self, "select count(*) from helio.readers", "0");
    assert_in_database(self, "select count(*) from pg_roles where rolname = 'desk'", "0");
}

/*  A login that can do more than read serves more than a dashboard, so the broker does not remove it. */
static void reader__is_never_a_role_with_rights_of_its_own(void **state)
{
    desk_t *self = *state;
    add_tenants(self);
    helio_pg_exec(self->database, "create role chief login superuser");
    assert_int_equal(RUN(self, helio_command_reader, "reader", "add", "chief", "--tenant", "acme"), 1);
    assert_in_database(self, "select count(*) from helio.readers", "0");
    assert_int_equal(RUN(self, helio_command_reader, "reader", "remove", "chief"), 1);
    assert_in_database(self, "select count(*) from pg_roles where rolname = 'chief'", "1");
    helio_pg_exec(self->database, "drop role chief");
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, desk_with_database, desk_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(reader__sees_its_tenants_until_it_is_removed),
        CASE(reader__of_a_broker_without_rights_is_a_script_for_a_superuser),
        CASE(reader__of_an_unknown_tenant_is_refused),
        CASE(reader__is_never_a_role_with_rights_of_its_own),
    };
    return cmocka_run_group_tests(tests, pg_begin, pg_end);
}
