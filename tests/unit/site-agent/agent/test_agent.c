/*  test_agent.c -- the whole agent between a broker and a backend. */
#include "federation/reason/codes.h"
#include "tests/unit/site-agent/agent/agent_testing.h"

/* ---- the stage ----------------------------------------------------------------------------------------- */

static void agent__carries_a_job_from_order_to_acknowledged_end(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    assert_int_equal(world.inventories, 1);
    assert_int_equal(world.renews, 1);
    assert_true(world.lease_ms > 0);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.report_count, 2);
    assert_int_equal(world.reports[0].kind, HELIO_REPORT_KIND_ACCEPTED);
    assert_int_equal(world.reports[1].kind, HELIO_REPORT_KIND_STARTING);
    turn_until(&world.starts, 1);
    assert_string_equal(world.started_run, "train it");
    tell(1, HELIO_BACKEND_REPORT_STARTED, 0);
    tell(1, HELIO_BACKEND_REPORT_ENDED, 3);
    turn_until(&world.report_count, 4);
    assert_int_equal(world.reports[2].kind, HELIO_REPORT_KIND_RUNNING);
    assert_int_equal(world.reports[3].kind, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(world.reports[3].exit_code, 3);
    assert_int_equal(world.reports[3].gpu_ms, 4000);
    helio_msg_reports_ack_t ack = {world.reports[3].seq};
    say(HELIO_MSG_REPORTS_ACK, &ack);
    turn_until(&world.forgets, 1);
}

static void agent__a_pool_of_which_nothing_is_left_is_logged_once_and_so_is_its_return(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    helio_pool_capacity_t pool = {.pool = world.pool.name, .gpus_total = world.pool.gpus_per_node};
    helio_aev_capacity_t capacity = {0};
    capacity.pools.items = &pool;
    capacity.pools.count = 1;
    helio_backend_sink_t *sink = &world.fake->sink;
    sink->on_capacity(sink->arg, &capacity);
    assert_int_equal(logged("pool_empty") + logged("pool_back"), 0);
    sink->on_silence(sink->arg, true, 12000); /* which offers nothing, and is said itself */
    pool.gpus_total = 0;
    sink->on_capacity(sink->arg, &capacity);
    sink->on_silence(sink->arg, false, 12000);
    assert_int_equal(logged("pool_empty"), 0);
    sink->on_capacity(sink->arg, &capacity);
    sink->on_capacity(sink->arg, &capacity);
    assert_int_equal(logged("pool_empty"), 1);
    pool.gpus_total = 4;
    sink->on_capacity(sink->arg, &capacity);
    sink->on_capacity(sink->arg, &capacity);
    assert_int_equal(logged("pool_empty"), 1);
    assert_int_equal(logged("pool_back"), 1);
}

static void agent__takes_over_what_runs_when_it_is_started_again(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    tell(1, HELIO_BACKEND_REPORT_STARTED, 0);
    turn_until(&world.report_count, 3);
    helio_agent_destroy(&world.agent);
    uint32_t surveys = world.surveys;
    start_agent();
    assert_int_equal(world.adopts, 1);
    assert_int_equal(world.surveys, surveys); /* the journal knew */
    tell(1, HELIO_BACKEND_REPORT_STARTED, 0);
    turn_until(&world.hellos, 2);
    turn_until(&world.holdings, 1);
    turn_until(&world.report_count, 6); /* the same three again */
    assert_int_equal(world.reports[5].seq, world.reports[2].seq);
    assert_int_equal(world.starts, 1);
    tell(1, HELIO_BACKEND_REPORT_ENDED, 0);
    turn_until(&world.report_count, 7);
}

static void agent__refuses_to_hand_a_backend_what_does_not_parse(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    order(1, "run: [unclosed");
    turn_until(&world.report_count, 3);
    assert_int_equal(world.reports[2].kind, HELIO_REPORT_KIND_LOST);
    assert_int_equal(world.reports[2].cause, HELIO_CAUSE_BAD_DOCUMENT);
    assert_memory_equal(world.reports[2].reason.data, "BadDocument: ", 13); /* for brokers before version 4 */
    assert_int_equal(world.starts, 0);
}

static void agent__answers_for_logs(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    helio_msg_log_read_t read = {.request = 5, .key = key_of(1), .epoch = 1, .size_max = 5};
    say(HELIO_MSG_LOG_READ, &read);
    turn_until(&world.logs, 1);
    assert_string_equal(world.log_text, "hello");
    read.epoch = 2;
    say(HELIO_MSG_LOG_READ, &read);
    turn_until(&world.logs, 2);
    assert_string_equal(world.log_text, "");
}

static void agent__surveys_the_backend_when_there_is_no_journal(void **state)
{
    (void)state;
    assert_int_equal(world.surveys, 1);
}

static void agent__says_bye_and_ends_no_attempt(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    helio_agent_stop(world.agent, "stopped");
    assert_int_equal(helio_agent_run(world.agent, NULL), HELIO_OK); /* returns at once */
    helio_agent_destroy(&world.agent);
    for (int turns = 0; turns < 3000 && !world.byes; turns++)
        assert_int_equal(helio_loop_turn(world.loop, 10, NULL), HELIO_OK);
    assert_int_equal(world.byes, 1);
    assert_int_equal(world.stops, 0);
}

static void agent__tells_what_its_feeds_say_and_what_the_backend_foresees(void **state)
{
    (void)state;
    char path[96], hour[HELIO_RFC3339_SIZE];
    (void)snprintf(path, sizeof path, "%s/carbon.csv", world.directory);
    int64_t now_ms = helio_clock_wall_ms();
    helio_rfc3339(now_ms, hour);
    FILE *file = fopen(path, "w");
    assert_true(file && fprintf(file, "time,value\n%s,123\n", hour) > 0 && fclose(file) == 0);
    helio_agent_destroy(&world.agent);
    helio_feed_t feed = {.signal = HELIO_FEED_CARBON,
                         .source = HELIO_SOURCE_CSV,
                         .every_ms = 60000,
                         .timeout_ms = 10000,
                         .path = helio_text_of(path),
                         .time_column = HELIO_TEXT("time"),
                         .value_column = HELIO_TEXT("value"),
                         .region_column = HELIO_TEXT("region")};
    helio_window_t window = {.pool = HELIO_TEXT("gpu"), .reserve_gpus = 3};
    helio_error_t err = {0};
    world.settings.site.timezone = HELIO_TEXT("UTC");
    world.settings.feeds.feeds.items = &feed;
    world.settings.feeds.feeds.count = 1;
    world.settings.feeds.windows = (helio_windows_t){&window, 1};
    if (helio_feeds_settings_complete(&world.settings.feeds, &world.settings.site, "/", world.arena, &err) !=
        HELIO_OK)
        fail_msg("%s", err.text);
    world.fed = 0;
    start_agent();
    turn_until(&world.fed, 1);
    assert_true(world.told_free_gpus == 16 - 3);
    double free_gpus = 10;
    helio_series_t series = {.signal = HELIO_SIGNAL_FREE_GPUS,
                             .pool = HELIO_TEXT("gpu"),
                             .source = HELIO_TEXT("fake"),
                             .start_wall_ms = now_ms,
                             .step_s = 3600,
                             .values = {&free_gpus, 1}};
    helio_aev_series_t told = {.series = {&series, 1}};
    world.fake->sink.on_series(world.fake->sink.arg, &told);
    turn_until(&world.summaries, world.summaries + 2);
    assert_true(world.told_free_gpus == 10 - 3);
}

static void agent__without_its_key_says_what_is_missing(void **state)
{
    (void)state;
    helio_agent_destroy(&world.agent);
    world.settings.key_file = HELIO_TEXT("/nonexistent/agent.key");
    helio_agent_parts_t parts = {&world.settings, make_fake, world.loop, world.log};
    helio_error_t err = {0};
    assert_int_equal(helio_agent_new(&parts, &world.agent, &err), HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nonexistent/agent.key"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(agent__carries_a_job_from_order_to_acknowledged_end),
        TEST(agent__a_pool_of_which_nothing_is_left_is_logged_once_and_so_is_its_return),
        TEST(agent__takes_over_what_runs_when_it_is_started_again),
        TEST(agent__refuses_to_hand_a_backend_what_does_not_parse),
        TEST(agent__answers_for_logs),
        TEST(agent__surveys_the_backend_when_there_is_no_journal),
        TEST(agent__says_bye_and_ends_no_attempt),
        TEST(agent__tells_what_its_feeds_say_and_what_the_backend_foresees),
        TEST(agent__without_its_key_says_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
