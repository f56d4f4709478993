/*  test_trace.c -- jobs of a trace: shapes, defaults, order, and what is said of wrong ones. */
#include "simulator/experiment/trace.h"
#include "tests/unit/simulator/experiment/fleet_testing.h"

static const exp_trace_defaults_t everything = {.from_ms = INT64_MIN, .to_ms = INT64_MAX};

static helio_rc load(const char *text, const exp_trace_defaults_t *defaults, exp_trace_t *ret_trace)
{
    exp_fleet_t *fleet = helio_arena_alloc(arena, 1, sizeof *fleet);
    *fleet = fleet_of(three_sites);
    return exp_trace_load(put("jobs.csv", text), fleet, defaults, arena, ret_trace, &err);
}

static exp_trace_t trace_of(const char *text, const exp_trace_defaults_t *defaults)
{
    exp_trace_t trace;
    if (load(text, defaults, &trace) != HELIO_OK)
        fail_msg("%s", err.text);
    return trace;
}

static void shape__gpus_are_spread_evenly_over_enough_nodes(void **state)
{
    (void)state;
    static const struct {
        const char *gpus, *nodes;
        uint32_t count, each;
    } rows[] = {{"1", "", 1, 1},  {"0.5", "1", 1, 1}, {"8", "1", 1, 8},  {"9", "1", 2, 5},
                {"16", "", 2, 8}, {"16", "4", 4, 4},  {"17", "2", 3, 6}, {"3", "2", 2, 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "submit_unix,duration_s,gpus,nodes\n1696176000,60,%s,%s\n", rows[i].gpus,
                       rows[i].nodes);
        exp_trace_t trace = trace_of(text, &everything);
        assert_int_equal(trace.jobs[0].nodes, rows[i].count);
        assert_int_equal(trace.jobs[0].gpus_per_node, rows[i].each);
        exp_trace_free(&trace);
    }
}

static void defaults__fill_what_the_columns_leave_out(void **state)
{
    (void)state;
    const char *text = "submit_unix,duration_s,gpus,time_limit_s,flexible_s\n100,60,1,,\n100,60,1,7200,3600\n";
    exp_trace_defaults_t given = everything;
    exp_trace_t trace = trace_of(text, &given);
    assert_int_equal(trace.jobs[0].limit_ms, 60000); /* the duration itself */
    assert_int_equal(trace.jobs[0].flexible_ms, 0);
    assert_true(trace.jobs[0].util == 1 && trace.jobs[0].home == 0 && !trace.jobs[0].pinned);
    assert_true(helio_text_is(trace.jobs[0].queue, "standard") && helio_text_is(trace.jobs[0].team, "default"));
    exp_trace_free(&trace);
    given.limit_ms = 86400000;
    given.flexible_ms = 5000;
    given.checkpoint_ms = 7000;
    trace = trace_of(text, &given);
    assert_int_equal(trace.jobs[0].limit_ms, 86400000);
    assert_int_equal(trace.jobs[0].flexible_ms, 5000);
    assert_int_equal(trace.jobs[0].checkpoint_ms, 7000);
    assert_int_equal(trace.jobs[1].limit_ms, 7200000);
    assert_int_equal(trace.jobs[1].flexible_ms, 3600000);
    exp_trace_free(&trace);
}

static void columns__are_all_read(void **state)
{
    (void)state;
    exp_trace_t trace = trace_of(
        "util,checkpoint_s,deadline_unix,queue,sites,pin,home_site,kind,team,user,gpu_type,gpus,duration_s,submit_unix,data_gb\n"
        "0.5,900,5000,batch,north;!west,1,south,eval,red,ann,A100,2,60,1000,0\n",
        &everything);
    const exp_job_t *job = &trace.jobs[0];
    assert_true(job->util == 0.5 && job->checkpoint_ms == 900000 && job->deadline_ms == 5000000 && job->pinned);
    assert_true(helio_text_is(job->queue, "batch") && helio_text_is(job->team, "red") &&
                helio_text_is(job->user, "ann"));
    assert_true(job->home == 1 && job->kind == HELIO_JOB_KIND_EVAL && helio_text_is(job->model, "A100"));
    assert_int_equal(job->site_count, 2);
    assert_true(helio_text_is(job->sites[0].text, "north") && helio_text_is(job->sites[1].text, "!west"));
    assert_int_equal(trace.team_count, 1);
    exp_trace_free(&trace);
}

static void order__is_that_of_submission_then_of_the_file(void **state)
{
    (void)state;
    exp_trace_defaults_t given = {.from_ms = 200000, .to_ms = 400000};
    const char *text =
        "submit_unix,duration_s,gpus,team\n300,1,1,a\n199,1,1,b\n300,2,1,c\n200,3,1,a\n400,4,1,d\n300,5,1,c\n";
    exp_trace_t trace = trace_of(text, &given);
    static const int64_t expected[] = {3000, 1000, 2000, 5000};
    assert_int_equal(trace.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(trace.jobs[i].duration_ms, expected[i]);
    assert_int_equal(trace.team_count, 2);
    assert_true(trace.from_ms == 200000 && trace.to_ms == 400000);
    exp_trace_free(&trace);
    trace = trace_of(text, &everything);
    assert_true(trace.from_ms == 199000 && trace.to_ms == 400000 && trace.count == 6);
    exp_trace_free(&trace);
    given.from_ms = 500000;
    given.to_ms = INT64_MAX;
    assert_int_equal(load(text, &given, &trace), HELIO_INVALID);
    assert_error("jobs.csv", ": no job is submitted in this time");
}

/*  As many teams as jobs: that must not take the square of their number. */
static void teams__are_listed_once_however_many(void **state)
{
    (void)state;
    enum { TEAMS = 200000 };
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, "submit_unix,duration_s,gpus,team\n");
    for (int i = 0; i < TEAMS + 1000; i++)
        helio_buffer_printf(&text, "1000,1,1,t%d\n", i % TEAMS);
    helio_buffer_append(&text, "", 1);
    exp_trace_t trace = trace_of(text.data, &everything);
    assert_int_equal(trace.count, TEAMS + 1000);
    assert_int_equal(trace.team_count, TEAMS);
    assert_true(helio_text_is(trace.teams[TEAMS - 1], "t199999"));
    exp_trace_free(&trace);
}

/*  In any order; what is not selected does not count. */
static void errors__a_trace_spans_ten_years_at_most(void **state)
{
    (void)state;
    exp_trace_t trace;
    const char *text = "submit_unix,duration_s,gpus\n1696176000,1,1\n253402300799,1,1\n1696175000,1,1\n";
    assert_int_equal(load(text, &everything, &trace), HELIO_INVALID);
    assert_error("jobs.csv", ":3: column 'submit_unix': more than ten years between two submissions: --from and --to "
                             "select a part");
    exp_trace_defaults_t given = {.from_ms = INT64_MIN, .to_ms = INT64_C(1800000000000)};
    trace = trace_of(text, &given);
    assert_int_equal(trace.count, 2);
    exp_trace_free(&trace);
}

static void errors__name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *columns, *cells, *error;
    } rows[] = {
        {"gpus,submit_unix", "1,1", ":1: the column 'duration_s' is missing"},
        {"gpus,submit_unix,duration_s", "x,1,1", ":2: column 'gpus': 'x' is not a number"},
        {"gpus,submit_unix,duration_s", "0,1,1", ":2: column 'gpus': a job needs GPUs"},
        {"gpus,submit_unix,duration_s", "-1,1,1", ":2: column 'gpus': -1 is not within 0..640000"},
        {"gpus,submit_unix,duration_s", "1,,1", ":2: column 'submit_unix': a job needs the time of its submission"},
        {"gpus,submit_unix,duration_s", "1,1,0",
         ":2: column 'duration_s': a job needs a duration of at least a second"},
        {"gpus,submit_unix,duration_s,home_site", "1,1,1,mars", ":2: column 'home_site': the fleet has no site 'mars'"},
        {"gpus,submit_unix,duration_s,kind", "1,1,1,mine", ":2: column 'kind': 'mine' is no kind of job"},
        {"gpus,submit_unix,duration_s,queue", "1,1,1,slow",
         ":2: column 'queue': there is no queue 'slow': express, reserved, standard, batch and preemptible exist"},
        {"gpus,submit_unix,duration_s,data_gb", "1,1,1,-7", ":2: column 'data_gb': -7 is not within 0..1e+06"},
        {"gpus,submit_unix,duration_s,data_gb,data_site", "1,1,1,7,east",
         ":2: column 'data_site': the fleet has no site 'east'"},
        {"gpus,submit_unix,duration_s,util", "1,1,1,2", ":2: column 'util': 2 is not within 0..1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        exp_trace_t trace;
        (void)snprintf(text, sizeof text, "%s\n%s\n", rows[i].columns, rows[i].cells);
        assert_int_equal(load(text, &everything, &trace), HELIO_INVALID);
        assert_error("jobs.csv", rows[i].error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(shape__gpus_are_spread_evenly_over_enough_nodes),
        CASE(defaults__fill_what_the_columns_leave_out),
        CASE(columns__are_all_read),
        CASE(order__is_that_of_submission_then_of_the_file),
        CASE(teams__are_listed_once_however_many),
        CASE(errors__a_trace_spans_ten_years_at_most),
        CASE(errors__name_line_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
