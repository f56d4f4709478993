/*  test_policies.c -- the table of policies, and lists of them. */
#include "tests/unit/simulator/experiment/experiment_testing.h"

#include "simulator/experiment/policies.h"

enum { ROWS_MAX = 32 };

static void list__is_in_the_order_in_which_it_is_given(void **state)
{
    (void)state;
    const exp_policy_t *rows[ROWS_MAX];
    uint32_t count;
    assert_int_equal(exp_policies_parse("greenest,isolated,balanced", rows, &count, &err), HELIO_OK);
    assert_int_equal(count, 3);
    assert_string_equal(rows[0]->name, "greenest");
    assert_string_equal(rows[1]->name, "isolated");
    assert_string_equal(rows[2]->name, "balanced");
}

static void list__errors_name_the_word(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"", "--policy: '' is not known; known: isolated, "},
        {"isolate", "--policy: 'isolate' is not known; known: isolated, "},
        {"isolatedx", "--policy: 'isolatedx' is not known; known: isolated, "},
        {"green, isolated", "--policy: ' isolated' is not known; known: isolated, "},
        {",green", "--policy: '' is not known; known: isolated, "},
        {"green,cheap,green", "--policy: 'green' is named twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const exp_policy_t *found[ROWS_MAX];
        uint32_t count;
        assert_int_equal(exp_policies_parse(rows[i][0], found, &count, &err), HELIO_INVALID);
        assert_int_equal(strncmp(err.text, rows[i][1], strlen(rows[i][1])), 0);
    }
}

/*  Every policy differs from every other one in what it does, and from the service's own at most where it says so. */
static void table__has_no_two_equal_rows(void **state)
{
    (void)state;
    assert_true(exp_policy_count <= ROWS_MAX);
    for (uint32_t i = 0; i < exp_policy_count; i++) {
        const exp_policy_t *a = &exp_policies[i];
        assert_true(a->name[0] && a->doc[0]);
        for (uint32_t k = 0; k < i; k++) {
            const exp_policy_t *b = &exp_policies[k];
            bool same_goal = a->objective != HELIO_OBJECTIVE_ALL || a->goal == b->goal;
            bool same_jobs = a->rank == b->rank && a->admit == b->admit && same_goal;
            assert_string_not_equal(a->name, b->name);
            assert_false(same_jobs && a->objective == b->objective && a->knows == b->knows);
        }
        bool service = a->objective == HELIO_OBJECTIVE_ALL;
        assert_false(service &&
                     (a->rank != EXP_RANK_SHARES || a->admit != EXP_ADMIT_ANY || a->knows == EXP_KNOWS_MEAN));
        assert_int_equal(exp_policy_is_priced(a), service && a->goal == HELIO_GOAL_BALANCED);
        assert_ptr_equal(exp_policy_find(helio_text_of(a->name)), a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(list__is_in_the_order_in_which_it_is_given),
        CASE(list__errors_name_the_word),
        CASE(table__has_no_two_equal_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
