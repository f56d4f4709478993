/*  test_charge.c -- what jobs of the backend `exec` are charged, and when a stop of one is over, whatever they write into
 *  their own folders: by the engine's inventories. */
#include "tests/unit/site-agent/backends/exec/exec_testing.h"

/*  The engine's own begin and end; 0 = it does not tell. */
static void engine_says(const bench_t *bench, const char *state, const char *cause, int64_t begun_ms, int64_t ended_ms)
{
    char file[100];
    (void)snprintf(file, sizeof file, "jobs/%s", bench->name);
    bench_put(bench, file,
              "{\"name\":\"%s\",\"id\":\"7\",\"state\":\"%s\",\"cause\":\"%s\",\"begun_ms\":%lld,\"ended_ms\":%lld}",
              bench->name, state, cause, (long long)begun_ms, (long long)ended_ms);
}

/*  Long times cost fewer inventories. */
static void open_slow(bench_t *bench)
{
    bench_open(bench);
    bench->settings.poll_ms = 10000;
    bench_reopen(bench);
}

/*  The job's first command removed what its shim had written. */
static void open_unclaimed(bench_t *bench)
{
    bench_open(bench);
    bench_start(bench);
    bench_settle(bench);
    bench_engine(bench, "running");
}

static const helio_aev_backend_t *last(const bench_t *bench)
{
    assert_true(bench->heard_count > 0);
    return &bench->heard[bench->heard_count - 1];
}

static void expect_last(const bench_t *bench, uint32_t word, uint32_t cause, const char *explanation)
{
    bench_expect(bench, bench->heard_count - 1, word, cause);
    if (!strstr(bench->explanation[bench->heard_count - 1], explanation))
        fail_msg("'%s' lacks '%s'", bench->explanation[bench->heard_count - 1], explanation);
}

static void show_life(const bench_t *bench, int times)
{
    int folder = bench_attempt(bench);
    struct timespec now[2] = {{.tv_sec = 2000000000 + times}, {.tv_sec = 2000000000 + times}};
    assert_int_equal(utimensat(folder, "claim", now, AT_SYMLINK_NOFOLLOW), 0);
    (void)close(folder);
}

/* ---- jobs that hide that they ran ----------------------------------------------------------------------- */

static void a_job_that_removes_its_claim_is_charged_what_the_inventories_showed(void **state)
{
    (void)state;
    static const struct {
        const char *cause; /* NULL: it is not listed any more */
        uint32_t word, charged_as;
        uint64_t least_ms, most_ms;
    } cases[] = {
        {"", WORD(VANISHED), HELIO_CAUSE_DOUBTED, 48000, 48000}, /* 60 s without 10 s to launch, and 2 s */
        {"cancelled", WORD(VANISHED), HELIO_CAUSE_DOUBTED, 48000, 48000},
        {"node", WORD(FAILED_TO_START), HELIO_CAUSE_NODE_FAILED, 0, 0},
        {NULL, WORD(VANISHED), HELIO_CAUSE_DOUBTED, 25000, 48000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_t bench;
        open_unclaimed(&bench);
        int64_t begun_ms = bench.wall_ms;
        engine_says(&bench, "running", "", begun_ms, 0);
        bench_pass(&bench, 60000);
        assert_int_equal(bench.heard_count, 0);
        if (cases[i].cause)
            engine_says(&bench, "ended", cases[i].cause, begun_ms, begun_ms + 60000);
        else
            bench_engine(&bench, NULL);
        bench_pass(&bench, 60000);
        expect_last(&bench, cases[i].word, cases[i].charged_as,
                    cases[i].most_ms ? "its status file shows no run, but the engine showed it on its nodes" : "");
        assert_in_range(last(&bench)->run_ms, cases[i].least_ms, cases[i].most_ms);
        bench_close(&bench);
    }
}

static void a_job_that_closes_its_own_folder_is_ended_and_charged(void **state)
{
    (void)state;
    bench_t bench;
    open_unclaimed(&bench);
    bench_put(&bench, "on-cancel", "exit 1\n");
    int folder = bench_attempt(&bench);
    assert_int_equal(helio_folder_close_unclaimed(folder, NULL), HELIO_OK);
    (void)close(folder);
    bench_pass(&bench, 60000);
    assert_int_equal(bench.heard_count, 0);
    assert_true(bench_asked(&bench, "\"mode\":\"kill\"") >= 2);
    bench_put(&bench, "on-cancel", NULL);
    bench_pass(&bench, 30000);
    expect_last(&bench, WORD(VANISHED), HELIO_CAUSE_DOUBTED, "its status file shows no run");
    assert_in_range(last(&bench)->run_ms, 25000, 70000);
    bench_close(&bench);
}

static void a_short_launch_is_no_run(void **state)
{
    (void)state;
    bench_t bench;
    open_unclaimed(&bench);
    bench_pass(&bench, 20000);
    bench_engine(&bench, "ended");
    bench_pass(&bench, 10000);
    expect_last(&bench, WORD(FAILED_TO_START), HELIO_CAUSE_START_FAILED, "before it began");
    assert_int_equal(last(&bench)->run_ms, 0);
    bench_close(&bench);
}

/* ---- false times --------------------------------------------------------------------------------------- */

static void false_times_are_replaced_by_the_nearest_plausible_ones(void **state)
{
    (void)state;
    static const struct {
        int64_t begun_ago_ms;
        uint64_t run_ms, least_ms, most_ms;
        const char *explanation;
    } cases[] = {
        {64000, 62000, 62000, 62000, ""},
        {64000, 1, 40000, 55000, "its status file shows 1 ms, but by the engine and the agent it ran at least"},
        {64000, 360000000, 60000, 85000, "by the engine and the agent it ran at most"},
        {400000000, 62000, 62000, 62000, "times at which it was not on its nodes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_t bench;
        bench_open_running(&bench);
        bench_pass(&bench, 60000);
        bench_done(&bench,
                   (helio_done_t){.started_wall_ms = bench.wall_ms - cases[i].begun_ago_ms, .run_ms = cases[i].run_ms});
        bench_pass(&bench, 10000);
        expect_last(&bench, WORD(ENDED), cases[i].explanation[0] ? HELIO_CAUSE_DOUBTED : HELIO_CAUSE_NONE,
                    cases[i].explanation);
        assert_in_range(last(&bench)->run_ms, cases[i].least_ms, cases[i].most_ms);
        assert_in_range(last(&bench)->started_wall_ms, bench.wall_ms - 100000, bench.wall_ms);
        bench_pass(&bench, 30000); /* it runs on, and is killed */
        assert_true(bench_asked(&bench, "\"mode\":\"kill\"") >= 1);
        bench_close(&bench);
    }
}

/*  A new agent has seen none of it: the engine's own begin counts. */
static void a_new_agent_charges_by_the_engines_begin(void **state)
{
    (void)state;
    bench_t bench;
    bench_open_running(&bench);
    engine_says(&bench, "running", "", bench.wall_ms - 4000, 0);
    bench_pass(&bench, 96000);
    bench_reopen(&bench);
    bench.heard_count = 0;
    bench_adopt(&bench);
    bench_pass(&bench, 4000);
    bench_done(&bench, (helio_done_t){.started_wall_ms = bench.wall_ms - 1000, .run_ms = 1000});
    bench_pass(&bench, 10000);
    expect_last(&bench, WORD(ENDED), HELIO_CAUSE_DOUBTED, "it ran at least");
    assert_in_range(last(&bench)->run_ms, 70000, 100000);
    bench_close(&bench);
}

/*  The adapter tells no times, and what the first agent's inventories showed is in the journal. */
static void a_run_that_hides_is_charged_also_for_the_time_before_a_restart(void **state)
{
    (void)state;
    for (int listed = 0; listed < 2; listed++) {
        bench_t bench;
        open_slow(&bench);
        bench_start(&bench);
        bench_settle(&bench);
        bench_engine(&bench, "running");
        bench_pass(&bench, 600000);
        if (!listed)
            bench_engine(&bench, NULL); /* it ends while no agent runs, and the engine keeps nothing of it */
        bench_restart(&bench);
        bench_pass(&bench, 20000);
        bench_engine(&bench, NULL);
        bench_pass(&bench, 60000);
        expect_last(&bench, WORD(VANISHED), HELIO_CAUSE_DOUBTED, "its status file shows no run");
        assert_in_range(last(&bench)->run_ms, listed ? 570000 : 430000, 640000);
        bench_close(&bench);
    }
}

static void the_engines_begin_is_bounded_by_the_submission_also_after_a_restart(void **state)
{
    (void)state;
    static const struct {
        int64_t begun_ago_ms; /* as the engine says */
        bool ended;
        uint64_t says_ms, least_ms, most_ms;
    } cases[] = {{36000000, false, 1, 55000, 110000},         /* ten hours ago: charged for no more than it can be */
                 {36000000, true, 1, 55000, 110000},          /* ... */
                 {36000000, false, 36000000, 100000, 125000}, /* and it cannot say so itself */
                 {1000, true, 98000, 60000, 98000}};          /* a second ago: the inventories showed it for longer */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_t bench;
        bench_open_running(&bench);
        int64_t begun_ms = bench.wall_ms + 96000 - cases[i].begun_ago_ms;
        engine_says(&bench, "running", "", begun_ms, 0);
        bench_pass(&bench, 92000);
        bench_restart(&bench);
        bench_pass(&bench, 4000);
        if (cases[i].ended)
            engine_says(&bench, "ended", "", begun_ms, bench.wall_ms);
        bench_done(&bench, (helio_done_t){.started_wall_ms = bench.wall_ms - 100000, .run_ms = cases[i].says_ms});
        bench_pass(&bench, 20000);
        bench_expect(&bench, bench.heard_count - 1, WORD(ENDED), HELIO_CAUSE_DOUBTED);
        if (last(&bench)->run_ms < cases[i].least_ms || last(&bench)->run_ms > cases[i].most_ms)
            fail_msg("case %zu: %llu ms, '%s'", i, (unsigned long long)last(&bench)->run_ms,
                     bench.explanation[bench.heard_count - 1]);
        bench_close(&bench);
    }
}

/*  Its shim is alive, and everything in its folder is gone, before a new agent looks. */
static void empty_folder(const bench_t *bench)
{
    int folder = bench_attempt(bench);
    assert_int_equal(unlinkat(folder, "claim", 0), 0);
    assert_int_equal(unlinkat(folder, "started", 0), 0);
    (void)close(folder);
}

/*  It runs for 40 s. The agent is away at once, and sees 20 s of it, or from 30 s on, over its end; or it is stopped. */
static void what_an_earlier_agent_saw_claimed_has_begun_though_its_folder_is_empty(void **state)
{
    (void)state;
    static const struct {
        int64_t seen_ms, away_ms, left_ms;
        bool kept, tells_end, stopped; /* the engine lists it after its end, and says when that was */
        uint64_t least_ms, most_ms;
    } cases[] = {
        {0, 20000, 16000, false, false, false, 30000, 42000}, {0, 20000, 16000, true, false, false, 30000, 42000},
        {26000, 15000, 0, false, false, false, 14000, 42000}, {26000, 15000, 0, true, false, false, 14000, 42000},
        {26000, 900000, 0, true, true, false, 38000, 42000},  {0, 900000, 0, false, false, false, 0, 0},
        {0, 20000, 16000, false, false, true, 15000, 42000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_t bench;
        bench_open_running(&bench);
        int64_t began_ms = bench.wall_ms - 4000;
        bench_pass(&bench, cases[i].seen_ms);
        empty_folder(&bench);
        bench.boot_ms += cases[i].away_ms;
        bench.wall_ms += cases[i].away_ms;
        if (!cases[i].left_ms && cases[i].kept)
            engine_says(&bench, "ended", "", 0, cases[i].tells_end ? began_ms + 40000 : 0);
        else if (!cases[i].left_ms)
            bench_engine(&bench, NULL);
        bench_restart(&bench);
        if (cases[i].stopped)
            bench_stop(&bench, HELIO_STOP_MODE_KILL);
        bench_pass(&bench, cases[i].left_ms);
        bench_engine(&bench, cases[i].kept && !cases[i].tells_end ? "ended" : NULL);
        if (cases[i].tells_end)
            engine_says(&bench, "ended", "", 0, began_ms + 40000);
        bench_pass(&bench, 30000);
        if (last(&bench)->run_ms < cases[i].least_ms || last(&bench)->run_ms > cases[i].most_ms)
            fail_msg("case %zu: %llu ms, '%s'", i, (unsigned long long)last(&bench)->run_ms,
                     bench.explanation[bench.heard_count - 1]);
        expect_last(&bench, WORD(VANISHED), cases[i].most_ms ? HELIO_CAUSE_DOUBTED : HELIO_CAUSE_VANISHED,
                    cases[i].most_ms ? "its status files are gone, but a shim had begun it" : "");
        assert_true(last(&bench)->started_wall_ms >= began_ms);
        bench_close(&bench);
    }
}

/*  Whoever reads the journal must find the claim of what has started. */
static void the_journal_has_the_claim_before_the_start(void **state)
{
    (void)state;
    bench_t bench;
    bench_open(&bench);
    bench_start(&bench);
    bench_settle(&bench);
    bench_claim(&bench);
    bench_began(&bench);
    bench_engine(&bench, "running");
    while (bench.heard_count == 0)
        bench_pass(&bench, 1000);
    assert_int_equal(bench.heard[0].word, WORD(STARTED));
    assert_true(bench.claimed_at_start);
    bench_close(&bench);
}

/* ---- stops --------------------------------------------------------------------------------------------- */

static void a_stop_of_an_unclaimed_job_that_runs_is_over_when_the_engine_has_ended_it(void **state)
{
    (void)state;
    bench_t bench;
    open_unclaimed(&bench);
    bench_pass(&bench, 60000);
    bench_put(&bench, "on-cancel", "exit 1\n");
    bench_stop(&bench, HELIO_STOP_MODE_GRACE);
    bench_pass(&bench, 30000);
    assert_int_equal(bench.heard_count, 0);
    assert_in_range(bench_asked(&bench, "\"mode\":\"kill\""), 2, 4);
    bench_put(&bench, "on-cancel", NULL);
    bench_pass(&bench, 30000);
    expect_last(&bench, WORD(ENDED), HELIO_CAUSE_DOUBTED, "its status file shows no run");
    assert_true(last(&bench)->stopped);
    assert_in_range(last(&bench)->run_ms, 50000, 100000);
    bench_close(&bench);
}

static void a_stop_of_a_job_whose_folder_cannot_be_read_is_the_engines(void **state)
{
    (void)state;
    bench_t bench;
    char path[200], moved[200];
    open_unclaimed(&bench);
    (void)snprintf(path, sizeof path, "%s/attempts/%s", bench.folder, bench.name);
    (void)snprintf(moved, sizeof moved, "%s/moved", bench.dir);
    assert_int_equal(rename(path, moved), 0);
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    (void)close(file);
    bench_pass(&bench, 60000);
    bench_stop(&bench, HELIO_STOP_MODE_GRACE);
    bench_pass(&bench, 30000);
    assert_true(bench_asked(&bench, "\"mode\":\"kill\"") >= 1);
    expect_last(&bench, WORD(VANISHED), HELIO_CAUSE_DOUBTED, "its status file shows no run");
    bench_close(&bench);
}

/*  The same if the agent was restarted meanwhile: it had closed the folder. */
static void a_stop_survives_a_restart_of_the_agent(void **state)
{
    (void)state;
    bench_t bench;
    open_unclaimed(&bench);
    engine_says(&bench, "running", "", bench.wall_ms, 0);
    bench_put(&bench, "on-cancel", "exit 1\n");
    bench_pass(&bench, 60000);
    bench_stop(&bench, HELIO_STOP_MODE_GRACE);
    bench_pass(&bench, 10000);
    bench_reopen(&bench);
    bench_adopt(&bench);
    bench_stop(&bench, HELIO_STOP_MODE_GRACE);
    bench_pass(&bench, 10000);
    assert_int_equal(bench.heard_count, 0);
    bench_put(&bench, "on-cancel", NULL);
    bench_pass(&bench, 30000);
    expect_last(&bench, WORD(ENDED), HELIO_CAUSE_DOUBTED, "its status file shows no run");
    assert_in_range(last(&bench)->run_ms, 45000, 90000);
    bench_close(&bench);
}

static void a_stop_goes_on_when_the_engine_lists_again_what_it_had_lost(void **state)
{
    (void)state;
    bench_t bench;
    open_unclaimed(&bench);
    bench_pass(&bench, 4000);
    bench_put(&bench, "on-cancel", "exit 1\n");
    bench_stop(&bench, HELIO_STOP_MODE_KILL);
    bench_pass(&bench, 4000);
    bench_engine(&bench, NULL);
    bench_pass(&bench, 2500);
    bench_engine(&bench, "running");
    bench_pass(&bench, 30000);
    assert_int_equal(bench.heard_count, 0);
    assert_true(bench_asked(&bench, "\"mode\":\"kill\"") >= 3);
    bench_put(&bench, "on-cancel", NULL);
    bench_pass(&bench, 20000);
    expect_last(&bench, WORD(ENDED), last(&bench)->cause, "");
    assert_true(last(&bench)->stopped);
    bench_close(&bench);
}

/*  An agent without its journal: the broker is told that it is not here only when nothing of it runs. */
static void an_unclaimed_job_that_runs_and_that_no_journal_knows_is_ended_first(void **state)
{
    (void)state;
    bench_t bench;
    open_unclaimed(&bench);
    bench_pass(&bench, 4000);
    bench_reopen(&bench);
    bench_put(&bench, "on-cancel", "exit 1\n");
    bench.backend->class->survey(bench.backend);
    bench_pass(&bench, 60000);
    assert_int_equal(bench.heard_count, 0);
    bench_put(&bench, "on-cancel", NULL);
    bench_pass(&bench, 30000);
    expect_last(&bench, WORD(VANISHED), HELIO_CAUSE_DOUBTED, "its status file shows no run");
    bench_close(&bench);
}

/*  The engine obeys at once: nothing shows for how long it ran, but it did not end by itself. */
static void the_agent_says_that_it_had_an_unordered_job_ended(void **state)
{
    (void)state;
    bench_t bench;
    open_unclaimed(&bench);
    bench_pass(&bench, 4000);
    bench_reopen(&bench);
    bench.backend->class->survey(bench.backend);
    bench_pass(&bench, 30000);
    expect_last(&bench, WORD(FAILED_TO_START), HELIO_CAUSE_WITHDRAWN,
                "the agent lost its journal, and had the engine end it; no status file shows a run");
    bench_close(&bench);
}

/* ---- signs of life ------------------------------------------------------------------------------------- */

static void whatever_the_engine_says_of_a_shim_that_lives_ends_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *job_state, *job_cause;
        bool stopped;
        uint32_t word, cause;
    } cases[] = {
        {"ended", "cancelled", false, WORD(VANISHED), HELIO_CAUSE_SITE_CANCELLED},
        {"ended", "preempted", false, WORD(VANISHED), HELIO_CAUSE_PREEMPTED},
        {"ended", "node", false, WORD(VANISHED), HELIO_CAUSE_NODE_FAILED},
        {"ended", "memory", true, WORD(VANISHED), HELIO_CAUSE_OUT_OF_MEMORY},
        {"waiting", "", false, WORD(STARTED), HELIO_CAUSE_NONE}, /* it is listed: it waits for the engine's word */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_t bench;
        bench_open_running(&bench);
        bench_put(&bench, "on-cancel", "exit 1\n");
        if (cases[i].stopped)
            bench_stop(&bench, HELIO_STOP_MODE_GRACE);
        engine_says(&bench, cases[i].job_state, cases[i].job_cause, 0, 0);
        for (int times = 0; times < 7; times++) {
            show_life(&bench, times);
            bench_pass(&bench, 10000);
        }
        assert_int_equal(bench.heard_count, 1);
        bench_pass(&bench, 60000);
        expect_last(&bench, cases[i].word, cases[i].cause, "");
        bench_close(&bench);
    }
}

/*  Somebody touches the claim for as long as it helps. Returns how long after `from_ms` its end was reported. */
static int64_t touch_until_it_ends(bench_t *bench, int64_t from_ms)
{
    uint32_t heard = bench->heard_count;
    for (int times = 0; bench->heard_count == heard; times++) {
        if (times > 100)
            fail_msg("it does not end");
        show_life(bench, times);
        bench_pass(bench, 10000);
    }
    return bench->boot_ms - from_ms;
}

static void a_claim_that_is_touched_for_ever_counts_only_as_long_as_a_shim_can_live(void **state)
{
    (void)state;
    static const struct {
        bool stopped, restarted;
        uint32_t mode;
        int64_t least_ms, most_ms; /* 300 s and a fiftieth, after 100 s and a grace of 30 s, or after the stop */
    } cases[] = {{false, false, 0, 420000, 460000},
                 {false, true, 0, 420000, 460000},
                 {true, false, HELIO_STOP_MODE_GRACE, 320000, 360000},
                 {true, false, HELIO_STOP_MODE_KILL, 290000, 330000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_t bench;
        open_slow(&bench);
        bench.order.time_limit_ms = cases[i].stopped ? 36000000 : 100000;
        bench_start(&bench);
        bench_settle(&bench);
        bench_claim(&bench);
        bench_began(&bench);
        bench_engine(&bench, "running");
        bench_pass(&bench, 20000);
        int64_t from_ms = bench.boot_ms - (cases[i].stopped ? 0 : 20000);
        if (cases[i].restarted)
            bench_restart(&bench);
        bench_put(&bench, "on-cancel", "exit 1\n");
        if (cases[i].stopped)
            bench_stop(&bench, cases[i].mode);
        engine_says(&bench, "ended", "cancelled", 0, 0);
        if (cases[i].restarted)
            bench_pass(&bench, 4000); /* STARTED is said again */
        assert_int_equal(bench.heard_count, 1);
        int64_t after_ms = touch_until_it_ends(&bench, from_ms);
        expect_last(&bench, WORD(VANISHED), HELIO_CAUSE_SITE_CANCELLED, "");
        if (after_ms < cases[i].least_ms || after_ms > cases[i].most_ms)
            fail_msg("case %zu: after %lld ms", i, (long long)after_ms);
        bench_close(&bench);
    }
}

/*  Without a limit, as after a loss of the journal, the touch may be a shim's: only a stop bounds it. */
static void without_a_limit_a_touched_claim_keeps_it_open_until_it_is_stopped(void **state)
{
    (void)state;
    bench_t bench;
    open_slow(&bench);
    bench_start(&bench);
    bench_settle(&bench);
    bench_claim(&bench);
    bench_began(&bench);
    bench_engine(&bench, "running");
    bench_pass(&bench, 20000);
    engine_says(&bench, "ended", "node", 0, 0);
    for (int times = 0; times < 30; times++) {
        show_life(&bench, times);
        bench_pass(&bench, 20000);
    }
    assert_int_equal(bench.heard_count, 1);
    bench_put(&bench, "on-cancel", "exit 1\n");
    bench_stop(&bench, HELIO_STOP_MODE_KILL);
    assert_in_range(touch_until_it_ends(&bench, bench.boot_ms), 290000, 330000);
    bench_close(&bench);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_that_removes_its_claim_is_charged_what_the_inventories_showed),
        cmocka_unit_test(a_job_that_closes_its_own_folder_is_ended_and_charged),
        cmocka_unit_test(a_short_launch_is_no_run),
        cmocka_unit_test(false_times_are_replaced_by_the_nearest_plausible_ones),
        cmocka_unit_test(a_new_agent_charges_by_the_engines_begin),
        cmocka_unit_test(a_stop_of_an_unclaimed_job_that_runs_is_over_when_the_engine_has_ended_it),
        cmocka_unit_test(a_stop_of_a_job_whose_folder_cannot_be_read_is_the_engines),
        cmocka_unit_test(a_stop_survives_a_restart_of_the_agent),
        cmocka_unit_test(a_stop_goes_on_when_the_engine_lists_again_what_it_had_lost),
        cmocka_unit_test(an_unclaimed_job_that_runs_and_that_no_journal_knows_is_ended_first),
        cmocka_unit_test(the_agent_says_that_it_had_an_unordered_job_ended),
        cmocka_unit_test(what_an_earlier_agent_saw_claimed_has_begun_though_its_folder_is_empty),
        cmocka_unit_test(the_journal_has_the_claim_before_the_start),
        cmocka_unit_test(whatever_the_engine_says_of_a_shim_that_lives_ends_nothing),
        cmocka_unit_test(a_run_that_hides_is_charged_also_for_the_time_before_a_restart),
        cmocka_unit_test(the_engines_begin_is_bounded_by_the_submission_also_after_a_restart),
        cmocka_unit_test(a_claim_that_is_touched_for_ever_counts_only_as_long_as_a_shim_can_live),
        cmocka_unit_test(without_a_limit_a_touched_claim_keeps_it_open_until_it_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
