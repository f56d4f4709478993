/*  test_agent.c -- the whole agent between a broker and a backend. */
#include "federation/reason/codes.h"
#include "federation/reason/detail.h"
#include "tests/unit/site-agent/agent/agent_testing.h"

#include <sys/stat.h>

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

static void agent__logs_once_that_a_pool_is_empty_and_once_that_it_is_back(void **state)
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
    sink->on_silence(sink->arg, true, 12000); /* the silence is logged, and the empty pool is not */
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

static void agent__adopts_running_attempts_after_a_restart(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    const helio_evidence_t asked = world.evidence;
    const helio_aev_evidence_t seen = {
        .key = key_of(1), .epoch = 1, .evidence = {.shown_wall_ms = 7, .shown_for_ms = 8}};
    world.fake->sink.on_evidence(world.fake->sink.arg, &seen);
    tell(1, HELIO_BACKEND_REPORT_STARTED, 0);
    turn_until(&world.report_count, 3);
    end_agent();
    uint32_t surveys = world.surveys;
    start_agent();
    assert_int_equal(world.adopts, 1);
    assert_true(asked.asked_wall_ms && world.evidence.asked_wall_ms == asked.asked_wall_ms);
    assert_true(world.evidence.shown_wall_ms == 7 && world.evidence.shown_for_ms == 8);
    assert_int_equal(world.surveys, surveys + 1); /* the journal can be an older copy */
    tell(1, HELIO_BACKEND_REPORT_STARTED, 0);
    turn_until(&world.hellos, 2);
    turn_until(&world.holdings, 1);
    turn_until(&world.report_count, 6); /* the same three again */
    assert_int_equal(world.reports[5].seq, world.reports[2].seq);
    assert_int_equal(world.starts, 1);
    tell(1, HELIO_BACKEND_REPORT_ENDED, 0);
    turn_until(&world.report_count, 7);
}

static void agent__gives_no_backend_a_document_that_does_not_parse(void **state)
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

/*  How the folder is lost: removed, or moved away; and another may be put in its place. */
static void lose_state(const char *away, bool removed, bool replaced)
{
    assert_int_equal(rename(world.directory, away), 0);
    if (removed)
        assert_int_equal(folder_remove(away), 0);
    if (replaced)
        assert_int_equal(mkdir(world.directory, 0700), 0);
}

static void agent__ends_before_it_takes_an_order_when_its_state_is_gone(void **state)
{
    for (int i = 0; i < 4; i++) {
        bool removed = i & 1, replaced = i & 2;
        char away[80];
        if (i)
            (void)begin(state);
        (void)snprintf(away, sizeof away, "%s-away", world.directory);
        turn_until(&world.summaries, 1);
        lose_state(away, removed, replaced);
        order(1, "run: train it\ngpu: H100:4\n");
        helio_error_t err = {0};
        for (int turns = 0; turns < 3000 && err.code == HELIO_OK; turns++)
            if (helio_agent_turn(world.agent, 10, &err) != HELIO_OK)
                break;
        assert_int_equal(err.code, HELIO_IO);
        assert_non_null(strstr(err.text, world.directory));
        assert_non_null(strstr(err.text, replaced ? "replaced" : "removed"));
        assert_int_equal(logged("state_gone"), 1);
        assert_int_equal(world.starts, 0);
        assert_int_equal(world.report_count, 0); /* nothing is said of a job that it could not remember */
        if (!removed)
            assert_int_equal(folder_remove(away), 0);
        if (!replaced)
            assert_int_equal(mkdir(world.directory, 0700), 0);
        if (i < 3)
            assert_int_equal(end(state), 0);
    }
}

/*  Turns until the agent ends, and expects that it names what it lost. */
static void expect_lost(const char *path, bool replaced, int64_t within_ms)
{
    helio_error_t err = {0};
    int64_t end_ms = helio_clock_boot_ms() + within_ms;
    while (helio_agent_turn(world.agent, 100, &err) == HELIO_OK && helio_clock_boot_ms() < end_ms)
        continue;
    assert_int_equal(err.code, HELIO_IO);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, replaced ? "replaced" : "removed"));
    assert_int_equal(logged("state_gone"), 1);
}

/*  The folder is left, but not what the agent has open in it: a name is gone, or names another file. A job that
 *  starts now would not be remembered. */
static void agent__takes_no_order_when_a_file_of_its_memory_is_gone(void **state)
{
    static const char *const names[] = {"lock", "journal.db", "journal.db-wal"};
    for (int i = 0; i < 6; i++) {
        char path[96];
        if (i)
            (void)begin(state);
        (void)snprintf(path, sizeof path, "%s/%s", world.directory, names[i / 2]);
        turn_until(&world.summaries, 1);
        assert_int_equal(remove(path), 0);
        if (i & 1) {
            FILE *file = fopen(path, "w");
            assert_true(file && fclose(file) == 0);
        }
        order(1, "run: train it\ngpu: H100:4\n");
        expect_lost(path, i & 1, 3000); /* before its tick */
        assert_int_equal(world.starts, 0);
        assert_int_equal(world.report_count, 0);
        if (i < 5)
            assert_int_equal(end(state), 0);
    }
}

/*  The broker is told why, before the process ends. */
static void agent__notices_within_a_tick_that_its_journal_is_gone(void **state)
{
    (void)state;
    char path[96];
    (void)snprintf(path, sizeof path, "%s/journal.db", world.directory);
    turn_until(&world.summaries, 1);
    assert_int_equal(world.withheld, HELIO_DETAIL_NONE);
    assert_int_equal(remove(path), 0);
    expect_lost(path, false, 12000);
    helio_agent_destroy(&world.agent);
    for (int turns = 0; turns < 300 && world.withheld != HELIO_DETAIL_WITHHELD_STATE_GONE; turns++)
        assert_int_equal(helio_loop_turn(world.loop, 10, NULL), HELIO_OK);
    assert_int_equal(world.withheld, HELIO_DETAIL_WITHHELD_STATE_GONE);
}

/*  HELLO carries what the process proves of the one before it. */
static void agent__that_restarts_proves_the_end_of_the_process_that_was_in_session(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    assert_true(helio_uuid_is_nil(world.former_boot_id));
    for (uint32_t i = 0; i < 4; i++) {
        helio_uuid_t former = world.boot_id;
        uint32_t hellos = world.hellos;
        if (i & 1)
            end_agent();
        else
            crash_agent();
        start_agent();
        turn_until(&world.hellos, hellos + 1);
        assert_true(helio_uuid_equal(world.former_boot_id, former));
        assert_false(helio_uuid_equal(world.boot_id, former));
        turn_until(&world.inventories, hellos + 1);
    }
    end_agent();
    start_agent(); /* and this one reaches no broker */
    end_agent();
    helio_uuid_t former = world.boot_id;
    uint32_t hellos = world.hellos;
    start_agent();
    turn_until(&world.hellos, hellos + 1);
    assert_true(helio_uuid_equal(world.former_boot_id, former));
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

static void agent__accepts_no_job_and_says_why_until_its_backend_could_look_everywhere(void **state)
{
    (void)state;
    static char log[16384];
    end_agent();
    world.hindrance = "the folder cannot be read";
    world.summaries = 0;
    start_agent();
    turn_until(&world.summaries, 1);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.report_count, 1);
    assert_int_equal(world.reports[0].kind, HELIO_REPORT_KIND_REFUSED);
    assert_int_equal(world.reports[0].cause, HELIO_CAUSE_NOT_READY);
    world.fake->sink.on_survey(world.fake->sink.arg, NULL);
    order(2, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    assert_true(pread(world.log_fd, log, sizeof log - 1, 0) > 0);
    assert_non_null(strstr(log, "survey_incomplete"));
    assert_non_null(strstr(log, "the folder cannot be read"));
    assert_non_null(strstr(log, "survey_complete"));
}

static void agent__logs_once_why_it_offers_nothing_while_an_attempt_of_unknown_size_runs(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    assert_int_equal(logged("nothing_offered"), 0);
    tell(9, HELIO_BACKEND_REPORT_STARTED, 0);
    for (uint8_t i = 1; i <= 2; i++) {
        uint32_t before = world.report_count;
        order(i, "run: train it\ngpu: H100:4\n");
        turn_until(&world.report_count, before + 1);
    }
    assert_int_equal(world.starts, 0);
    assert_int_equal(logged("nothing_offered"), 1);
    assert_int_equal(logged("offered_again"), 0);
    tell(9, HELIO_BACKEND_REPORT_ENDED, 0);
    for (uint32_t before = world.summaries; world.summaries < before + 2;)
        turn_until(&world.summaries, world.summaries + 1);
    order(3, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    assert_int_equal(logged("nothing_offered"), 1);
    assert_int_equal(logged("offered_again"), 1);
}

static void agent__says_bye_and_ends_no_attempt(void **state)
{
    (void)state;
    turn_until(&world.summaries, 1);
    order(1, "run: train it\ngpu: H100:4\n");
    turn_until(&world.starts, 1);
    helio_agent_stop(world.agent, "stopped");
    assert_int_equal(helio_agent_run(world.agent, NULL), HELIO_OK); /* returns at once */
    end_agent();
    for (int turns = 0; turns < 3000 && !world.byes; turns++)
        assert_int_equal(helio_loop_turn(world.loop, 10, NULL), HELIO_OK);
    assert_int_equal(world.byes, 1);
    assert_int_equal(world.stops, 0);
}

static void agent__publishes_the_series_of_feeds_and_backend(void **state)
{
    (void)state;
    char text[128], hour[HELIO_RFC3339_SIZE];
    int64_t now_ms = helio_clock_wall_ms();
    helio_rfc3339(now_ms, hour);
    (void)snprintf(text, sizeof text, "time,value\n%s,123\n", hour);
    helio_feed_t feed = {.signal = HELIO_FEED_CARBON};
    helio_window_t window = {.pool = HELIO_TEXT("gpu"), .reserve_gpus = 3};
    world.settings.feeds.windows = (helio_windows_t){&window, 1};
    world.fed = 0;
    restart_with_feed(&feed, text);
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

/*  The agent starts nevertheless and logs what `check` says; otherwise the fault would show only when a job needs the
 *  account. */
static void agent__logs_at_its_start_which_accounts_of_its_site_file_are_missing(void **state)
{
    (void)state;
    helio_user_rule_t rules[] = {
        {.tenant = HELIO_TEXT("demo"), .user = HELIO_TEXT("*"), .unix_user = HELIO_TEXT("root")},
        {.tenant = HELIO_TEXT("nlp"), .user = HELIO_TEXT("*")}};
    rules[0].allow_root = true;
    rules[1].unix_user = HELIO_TEXT("no-such-account-here");
    uint32_t ours = geteuid() == 0 ? 0 : 1; /* another account's jobs need an agent that is root */
    assert_int_equal(logged("user_unusable"), 0);
    end_agent();
    world.settings.rules.users.items = rules;
    world.settings.rules.users.count = 2;
    start_agent();
    assert_int_equal(logged("user_unusable"), 1 + ours);
    assert_int_equal(logged("`useradd --system no-such-account-here` adds it"), 1);
    world.settings.site.backend = HELIO_TEXT("kubernetes"); /* jobs run there as their images say */
    end_agent();
    start_agent();
    assert_int_equal(logged("user_unusable"), 1 + ours);
}

static void agent__without_its_key_file_fails_and_names_it(void **state)
{
    (void)state;
    end_agent();
    world.settings.key_file = HELIO_TEXT("/nonexistent/agent.key");
    helio_agent_parts_t parts = {&world.settings, make_fake, world.loop, world.log, &world.tenure};
    helio_error_t err = {0};
    assert_int_equal(helio_agent_new(&parts, &world.agent, &err), HELIO_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nonexistent/agent.key"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(agent__carries_a_job_from_order_to_acknowledged_end),
        TEST(agent__logs_once_that_a_pool_is_empty_and_once_that_it_is_back),
        TEST(agent__adopts_running_attempts_after_a_restart),
        TEST(agent__gives_no_backend_a_document_that_does_not_parse),
        TEST(agent__ends_before_it_takes_an_order_when_its_state_is_gone),
        TEST(agent__takes_no_order_when_a_file_of_its_memory_is_gone),
        TEST(agent__notices_within_a_tick_that_its_journal_is_gone),
        TEST(agent__that_restarts_proves_the_end_of_the_process_that_was_in_session),
        TEST(agent__answers_for_logs),
        TEST(agent__surveys_the_backend_when_there_is_no_journal),
        TEST(agent__accepts_no_job_and_says_why_until_its_backend_could_look_everywhere),
        TEST(agent__logs_once_why_it_offers_nothing_while_an_attempt_of_unknown_size_runs),
        TEST(agent__says_bye_and_ends_no_attempt),
        TEST(agent__publishes_the_series_of_feeds_and_backend),
        TEST(agent__logs_at_its_start_which_accounts_of_its_site_file_are_missing),
        TEST(agent__without_its_key_file_fails_and_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
