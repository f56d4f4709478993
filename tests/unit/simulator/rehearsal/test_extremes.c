/*  test_extremes.c -- what a broker can have stored, because sites reported it or users wrote it, is no damage. */
#include "tests/unit/simulator/rehearsal/rehearsal_testing.h"

static helio_buffer_t extreme;

/*  Sets the fields of a part to the extremes that sites and users can bring a broker to store. */
static helio_rc make_extreme(void *arg, uint32_t kind, void *record, helio_error_t *ret_err)
{
    const bool least = *(const bool *)arg;
    const int64_t sum = HELIO_ROW_SUM_MAX, year_9999 = INT64_C(253402300799999);
    helio_row_spent_t *spent = record;
    helio_row_usage_t *usage = record;
    helio_row_site_t *site = record;
    helio_row_pool_t *pool = record;
    helio_ev_load_job_t *job = record;
    helio_row_edit_t *edit = record;
    helio_row_state_t *state = record;
    helio_row_expected_use_t *use = record;
    helio_row_series_t *series = record;
    helio_row_queue_rule_t *rule = record;
    switch (kind) {
    case HELIO_BROKER_EV_LOAD_SPENT:
        spent->gpu_ms = spent->carbon_mg = least ? 0 : (uint64_t)sum;
        spent->cost_micro_usd = least ? -sum : sum;
        break;
    case HELIO_BROKER_EV_LOAD_USAGE:
        usage->gpu_ms = least ? 0 : (uint64_t)sum;
        break;
    case HELIO_BROKER_EV_LOAD_SITE:
        site->memory_since_ms = least ? INT64_MIN : INT64_MAX; /* the site's own clock */
        site->memory_mark = least ? 0 : INT64_MAX;
        break;
    case HELIO_BROKER_EV_LOAD_POOL:
        pool->gpu_memory_bytes = pool->memory_bytes_per_node = INT64_MAX;
        break;
    case HELIO_BROKER_EV_LOAD_JOB:
        job->spec.deadline_wall_ms = job->row.deadline_wall_ms = least ? NOON : year_9999;
        job->spec.max_cost_micro_usd = job->spec.max_carbon_mg_per_kwh = INT64_MAX;
        job->spec.carbon_price_micro_usd_per_t = job->spec.wait_price_micro_usd_per_gpu_h = least ? 0 : INT64_MAX;
        job->spec.memory_bytes = least ? 0 : INT64_MAX;
        break;
    case HELIO_BROKER_EV_LOAD_EDIT:
        edit->deadline_wall_ms = least ? 0 : year_9999;
        edit->max_cost_micro_usd = edit->max_carbon_mg_per_kwh = INT64_MAX;
        break;
    case HELIO_BROKER_EV_LOAD_STATE:
        state->gpu_ms = state->energy_j = state->carbon_mg = state->cost_micro_usd = state->units_done =
            least ? 0 : (uint64_t)sum;
        break;
    case HELIO_BROKER_EV_LOAD_EXPECTED_USE:
        use->transfer_ms = least ? 0 : UINT64_C(1) << 53; /* federation/policy/transfer.c */
        use->cost_micro_usd = least ? -sum : sum;
        use->carbon_mg = least ? 0 : (uint64_t)sum;
        break;
    case HELIO_BROKER_EV_LOAD_SERIES:
    case HELIO_SNAPSHOT_SERIES:
        series->step_s = least ? 1 : INT32_MAX;
        break;
    case HELIO_BROKER_EV_LOAD_QUEUE_RULE:
        rule->until_ms = least ? 0 : year_9999;
        break;
    default:
        break;
    }
    return helio_snapshot_add(kind, record, &extreme, ret_err);
}

static void add_rows(helio_job_key_t waits)
{
    static double prices[] = {0.05, 0.06, 0.07, 0.05};
    const helio_row_queue_rule_t rule = {.queue = HELIO_TEXT("standard"), .priority = 20, .at_ms = NOON - DAY};
    const helio_row_spent_t spent = {
        .tenant = HELIO_TEXT("acme"), .queue = HELIO_TEXT("standard"), .day_ms = NOON - NOON % DAY};
    const helio_row_usage_t usage = {HELIO_TEXT("acme"), HELIO_TEXT("H100"), NOON - 5 * HOUR, 0};
    const helio_row_budget_t budget = {HELIO_TEXT("acme"), {0}, 1, INT64_C(1000000000), HELIO_PERIOD_MONTH, NOON - DAY};
    const helio_row_edit_t edit = {.job = waits.job,
                                   .queue = HELIO_TEXT("express"),
                                   .tier = HELIO_TIER_CRITICAL,
                                   .class_id = 500,
                                   .at_ms = NOON - HOUR};
    const helio_row_series_t series = {.site = HELIO_TEXT("north"),
                                       .signal = HELIO_SIGNAL_ELECTRICITY,
                                       .source = HELIO_TEXT("feed"),
                                       .issued_ms = NOON,
                                       .start_ms = NOON,
                                       .step_s = 3600,
                                       .values = {prices, 4}};
    put_part(&parts.jobs, HELIO_BROKER_EV_LOAD_EDIT, &edit);
    put_part(&parts.expected, HELIO_BROKER_EV_LOAD_QUEUE_RULE, &rule);
    put_part(&parts.expected, HELIO_BROKER_EV_LOAD_BUDGET, &budget);
    put_part(&parts.expected, HELIO_BROKER_EV_LOAD_SPENT, &spent);
    put_part(&parts.expected, HELIO_BROKER_EV_LOAD_USAGE, &usage);
    put_part(&parts.expected, HELIO_BROKER_EV_LOAD_SERIES, &series);
    put_part(&parts.expected, HELIO_SNAPSHOT_SERIES, &series);
}

static void rehearse_extremes(bool least)
{
    add_site("north", 1, 2);
    add_site("south", 2, 0);
    (void)add_job("acme", (job_ask_t){.gpus = 4, .hours = 2, .runs_at = "north", .ran_min = 30});
    helio_job_key_t waits = add_job("globex", (job_ask_t){.gpus = 8, .hours = 1});
    add_rows(waits);
    helio_arena_t *arena = helio_arena_new();
    helio_text_t good = snapshot();
    helio_snapshot_begin(&extreme);
    assert_int_equal(helio_snapshot_each(good, arena, make_extreme, &least, &err), HELIO_OK);
    reh_result_t result;
    if (reh_run(helio_buffer_view(&extreme), NULL, 0, 6 * HOUR, &result, &err))
        fail_msg("%s", err.text);
    reh_result_clear(&result);
    helio_buffer_clear(&extreme);
    helio_arena_destroy(&arena);
}

static void the_least_that_a_broker_stores__is_rehearsed(void **state)
{
    (void)state;
    rehearse_extremes(true);
}

static void the_most_that_a_broker_stores__is_rehearsed(void **state)
{
    (void)state;
    rehearse_extremes(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_least_that_a_broker_stores__is_rehearsed),
        CASE(the_most_that_a_broker_stores__is_rehearsed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
