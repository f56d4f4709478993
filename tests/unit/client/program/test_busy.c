/*  test_busy.c -- commands on many jobs wait while the broker has too much to do, and for no longer than they said. */
#include "tests/unit/client/program/remote_testing.h"

#define BUSY "{\"detail\":\"commands of your tenant on large arrays are under way\"}"
#define DONE "{\"id\":\"" ID_B "\"}"

static const struct {
    const char *words[6], *first, *second; /* requests */
} commands[] = {
    {{"cancel", "first1", "second"}, "DELETE /v1/jobs/first1 ", "DELETE /v1/jobs/second "},
    {{"hold", "first1", "second"}, "POST /v1/jobs/first1/hold ", "POST /v1/jobs/second/hold "},
    {{"release", "first1", "second"}, "POST /v1/jobs/first1/release ", "POST /v1/jobs/second/release "},
    {{"requeue", "first1", "second"}, "POST /v1/jobs/first1/requeue ", "POST /v1/jobs/second/requeue "},
    {{"scancel", ID_A, ID_B}, "DELETE /v1/jobs/" ID_A " ", "DELETE /v1/jobs/" ID_B " "},
    {{"scontrol", "hold", ID_A "," ID_B}, "POST /v1/jobs/" ID_A "/hold ", "POST /v1/jobs/" ID_B "/hold "},
};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

/*  More refusals than an ordinary request has attempts. */
static void busy__brokers_are_waited_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMANDS; i++) {
        outcome_t outcome = play(RULES({commands[i].first, 0, 202, NULL, DONE, WHOLE, 0},
                                       {commands[i].second, HELIO_REMOTE_ATTEMPTS + 2, 429, NULL, BUSY, WHOLE, 0},
                                       {commands[i].second, 0, 202, NULL, DONE, WHOLE, 0}),
                                 commands[i].words);
        expect(&outcome, 0, NULL, NULL);
        assert_int_equal(broker_double_count(outcome.broker, commands[i].first), 1);
        assert_int_equal(broker_double_count(outcome.broker, commands[i].second), HELIO_REMOTE_ATTEMPTS + 3);
        end(&outcome);
    }
}

/*  One is waited for for a minute (here: half a second), and the next ones no longer than before. */
static void busy__brokers_are_not_waited_for_without_end(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMANDS; i++) {
        bool repeatable = commands[i].first[0] == 'D';
        outcome_t outcome = play(RULES({"", 0, 429, NULL, BUSY, WHOLE, 0}), commands[i].words);
        expect(&outcome, HELIO_EXIT_FAILURE, NULL, "under way; retrying for up to a minute\n");
        assert_true(broker_double_count(outcome.broker, commands[i].first) > HELIO_REMOTE_ATTEMPTS);
        assert_int_equal(broker_double_count(outcome.broker, commands[i].second),
                         repeatable ? HELIO_REMOTE_ATTEMPTS : 1);
        end(&outcome);
    }
}

int main(void)
{
    (void)setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(busy__brokers_are_waited_for),
        cmocka_unit_test(busy__brokers_are_not_waited_for_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
