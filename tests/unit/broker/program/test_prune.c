/*  test_prune.c -- `helio-broker prune` with its options and the settings. */
#include "tests/unit/broker/program/commands_testing.h"

/*  A pool with a signal; samples of it and figures that came true, one each 10, 50 and 500 days ago. */
static const char pool[] =
    "insert into helio.pools select 'lulea', 'a', 'H100', 1, 4, 4, 8, 1, 1, 0, 0, true, 0, 0, 0, 0, 0;"
    "insert into helio.series_now values ('lulea', '', 3, 'average', null, 't', false, now(), now(), 3600, "
    "'{1}')";
static const char figures[] = "insert into helio.capacity_samples select 'lulea', 'a', helio.utc_hour(now()) "
                              "- d * interval '1 day', 4, 32, 8, 24, 0, "
                              "8, 1, 0, 1 from unnest(array [10, 50, 500]) d;"
                              "insert into helio.actuals select 'lulea', '', 3, helio.utc_hour(now()) - d * "
                              "interval '1 day', 1, now(), false, '', "
                              "null, 't' from unnest(array [10, 50, 500]) d;";

static const char left[] =
    "select (select count(*) from helio.capacity_samples) || ' ' || (select count(*) from helio.actuals)";

static const struct {
    const char *lines; /* of broker.yaml */
    const char *words[5];
    const char *left;
} cases[] = {
    {"", {"prune"}, "2 2"}, /* 400 days by default */
    {"", {"prune", "--dry-run"}, "3 3"},
    {"", {"prune", "--older-than", "40d"}, "1 1"},
    {"", {"prune", "--older-than", "40d", "--dry-run"}, "3 3"},
    {"retention: {samples: 40d}\n", {"prune"}, "1 2"},
    {"retention: {samples: 0s}\n", {"prune"}, "3 2"},
    {"retention: {samples: 0s}\n", {"prune", "--older-than", "40d"}, "3 1"}, /* for ever is for ever */
    {"retention: {samples: 40d}\n", {"prune", "--older-than", "100d"}, "2 2"},
};

static void prune__deletes_only_what_options_and_settings_allow(void **state)
{
    desk_t *self = *state;
    helio_pg_exec(self->database, pool);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_pg_exec(self->database, "delete from helio.capacity_samples; delete from helio.actuals");
        helio_pg_exec(self->database, figures);
        configure(self, self->database, cases[i].lines);
        int code = run_words(self, helio_command_prune, cases[i].words);
        char *got = helio_pg_value(self->database, left);
        if (code != 0 || strcmp(got, cases[i].left) != 0)
            fail_msg("case %zu: exit code %d, '%s', not '%s'; %s", i, code, got, cases[i].left, self->err);
        free(got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(prune__deletes_only_what_options_and_settings_allow, desk_with_database,
                                        desk_end),
    };
    return cmocka_run_group_tests(tests, pg_begin, pg_end);
}
