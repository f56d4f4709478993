/*  test_run.c -- policies over small traces, by the broker's real core: what holds whatever the figures are. */
#include "tests/unit/simulator/experiment/world_testing.h"

#include "federation/base/rng.h"

/*  kWh of the jobs if all ran at home: nothing else has an exact value under every packing. */
static double kwh_at_home(void)
{
    double kwh = 0;
    for (uint32_t i = 0; i < trace.count; i++)
        kwh += 0.429 * fleet.items[trace.jobs[i].home].profile.pue * trace.jobs[i].nodes * trace.jobs[i].gpus_per_node *
               (double)trace.jobs[i].duration_ms / HOUR;
    return kwh;
}

static void one_job__goes_where_its_policy_says(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        int site;
    } rows[] = {{"isolated", 2},    {"least-wait", 2}, {"cheapest", 1}, {"greenest", 0},
                {"static-rank", 0}, {"cheap", 1},      {"green", 0}};
    load(HEAD "1696176000,7200,4,west,standard,,,\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        run(rows[i].policy);
        const exp_fleet_site_t *site = &fleet.items[rows[i].site];
        double kw = 0.429 * site->profile.pue * 4;
        const exp_series_t *carbon = exp_series_find(world.carbon, site->profile.region),
                           *price = exp_series_find(world.price, site->price_region);
        assert_int_equal(result.finished, 1);
        assert_true(fabs(result.kwh - 2 * kw) < 1e-9);
        assert_true(fabs(result.grams - kw * exp_series_integral(carbon, T0 * 1000, T0 * 1000 + 2 * HOUR)) < 1e-6);
        assert_true(fabs(result.usd - kw * exp_series_integral(price, T0 * 1000, T0 * 1000 + 2 * HOUR)) < 1e-9);
        assert_true(result.wait_sum_s == 0 && result.jct_sum_s == 7200 && result.moves == 0);
    }
}

static void many_jobs__all_end_and_the_sums_agree(void **state)
{
    (void)state;
    load_many(7, 150);
    double carbon = 0, money = 0;
    for (uint32_t i = 0; i < exp_policy_count; i++) {
        run(exp_policies[i].name);
        assert_int_equal(result.finished, 150);
        assert_int_equal(result.placements, 150);
        double at_home = kwh_at_home();
        if (exp_policies[i].admit == EXP_ADMIT_HOME)
            assert_true(fabs(result.kwh / at_home - 1) < 1e-9);
        assert_true(result.kwh > at_home * 1.1 / 1.5 && result.kwh < at_home * 1.5 / 1.1);
        assert_true(result.slowdown_sum >= 150 && result.idle_kwh > 0);
        assert_true(result.jct_sum_s > result.wait_sum_s);
        if (strcmp(exp_policies[i].name, "least-wait") == 0) {
            carbon = result.grams;
            money = result.usd;
        }
        if (strcmp(exp_policies[i].name, "greenest") == 0)
            assert_true(carbon > 0 && result.grams < carbon);
        if (strcmp(exp_policies[i].name, "cheapest") == 0)
            assert_true(money > 0 && result.usd < money);
    }
}

static const char *row_of(const char *policy)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    run(policy);
    exp_results_json(&result, 1, &world, &text);
    return helio_arena_string(arena, helio_buffer_view(&text));
}

static void seed__decides_everything(void **state)
{
    (void)state;
    load_many(11, 200);
    for (uint32_t i = 0; i < exp_policy_count; i++)
        assert_string_equal(row_of(exp_policies[i].name), row_of(exp_policies[i].name));
}

/*  40 jobs of one GPU within one hour: all find room at once, somewhere. */
static void load_within_an_hour(void)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, HEAD);
    for (int i = 0; i < 40; i++)
        helio_buffer_printf(&text, "%lld,%d,1,west,standard,,,\n", (long long)T0 + 60 * i, 7200 + 180 * i);
    helio_buffer_append(&text, "", 1);
    load(text.data);
}

/*  Two worlds that differ after the hour of all submissions decide alike: clean grids are dirty from then on, and the
 *  reverse. Each site has another PUE, so the energy says where the jobs went, whatever they emitted. */
static void future__is_known_to_no_policy_that_is_not_clairvoyant(void **state)
{
    (void)state;
    load_within_an_hour();
    double kwh[32], carbon[32];
    assert_true(exp_policy_count <= 32);
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t i = 0; i < exp_policy_count; i++) {
            if (exp_policies[i].knows == EXP_KNOWS_TRUTH)
                continue;
            run(exp_policies[i].name);
            assert_true(exp_policies[i].admit == EXP_ADMIT_HOME || result.wait_sum_s == 0);
            assert_true(turn == 0 || (result.kwh == kwh[i] && result.grams != carbon[i]));
            kwh[i] = result.kwh;
            carbon[i] = result.grams;
        }
        for (exp_series_t *series = world.carbon; series; series = series->hh.next) {
            for (uint32_t h = 0; h < series->count; h++) {
                series->values[h] = series->first_hour + h > T0 / 3600 ? 600 - series->values[h] : series->values[h];
                series->sums[h + 1] = series->sums[h] + series->values[h];
            }
            series->last = series->values[series->count - 1];
        }
    }
}

static void flexible__waits_for_a_cleaner_hour(void **state)
{
    (void)state;
    load(HEAD "1696176000,3600,4,west,standard,,,1\n");
    run("greenest");
    double at_once = result.grams;
    assert_true(result.wait_sum_s == 0);
    load(HEAD "1696176000,3600,4,west,standard,,86400,1\n");
    run("greenest");
    assert_true(result.wait_sum_s > 0 && result.wait_sum_s <= 86400);
    assert_true(result.grams < at_once);
}

/*  The second job needs the whole fleet of its site for itself. */
static void preempted__goes_on_from_its_last_checkpoint(void **state)
{
    (void)state;
    load(HEAD "1696176000,36000,16,north,preemptible,3600,,1\n1696181400,600,16,north,standard,,,1\n");
    run("least-wait");
    assert_int_equal(result.finished, 2);
    assert_int_equal(result.placements, 3);
    assert_int_equal(result.moves, 0);
    /* 1.5 h, of which one hour counts; 10 minutes of the other job; 9 h and the restart */
    double hours = 1.5 + 1.0 / 6 + 9 + 1.0 / 60;
    assert_true(fabs(result.kwh - 0.429 * 1.1 * 16 * hours) < 0.429 * 1.1 * 16 * 0.01);
}

/*  While the clean site is full, a long job begins at the next best one; it goes on at the clean site when there is room,
 *  and its checkpoints and its restart cost what they cost. */
static void moved__goes_on_at_a_better_site(void **state)
{
    (void)state;
    static const struct {
        const char *policy, *checkpoint;
        bool moves;
    } rows[] = {{"greenest", "3600", true},  {"greenest", "", false},     {"least-wait", "3600", false},
                {"cheapest", "3600", false}, {"isolated", "3600", false}, {"static-rank", "3600", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "submit_unix,duration_s,gpus,home_site,sites,checkpoint_s\n1696176000,5400,16,north,north,\n"
                       "1696176060,72000,16,west,north;west,%s\n",
                       rows[i].checkpoint);
        load(text);
        run(rows[i].policy);
        assert_int_equal(result.finished, 2);
        assert_int_equal(result.moves, rows[i].moves);
        if (!rows[i].moves)
            continue;
        /* 1.5 h of the first job; 5,340 s at west, of which an hour counts; the rest and the restart at north */
        double north_h = 1.5 + (72000 - 3600 + 60) / 3600.0, west_h = 5340 / 3600.0;
        assert_true(fabs(result.kwh - 0.429 * 16 * (1.1 * north_h + 1.2 * west_h)) < 0.429 * 16 * 0.02);
        assert_true(result.jct_sum_s > 5400 + 72000 + 5340 - 3600);
    }
}

/*  Where a job may run is the job's, whatever the policy wants. */
static void sites__of_a_job_bind_every_policy(void **state)
{
    (void)state;
    static const struct {
        const char *sites, *pin;
        int site;
    } rows[] = {{"south", "", 1}, {"!north;!south", "", 2}, {"", "1", 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "submit_unix,duration_s,gpus,home_site,sites,pin\n1696176000,3600,4,west,%s,%s\n", rows[i].sites,
                       rows[i].pin);
        load(text);
        for (uint32_t k = 1; k < exp_policy_count; k++) {
            run(exp_policies[k].name);
            assert_true(fabs(result.kwh - 0.429 * fleet.items[rows[i].site].profile.pue * 4) < 1e-9);
        }
    }
}

/*  A team that comes later does not wait for all that another team has in the queue. */
static void teams__share_a_site(void **state)
{
    (void)state;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, "submit_unix,duration_s,gpus,home_site,team,pin,deadline_unix\n");
    for (int i = 0; i < 20; i++)
        helio_buffer_printf(&text, "%lld,3600,16,north,many,1,\n", (long long)T0 + i);
    helio_buffer_printf(&text, "%lld,3600,16,north,one,1,%lld\n", (long long)T0 + 60, (long long)T0 + 3 * 3600);
    helio_buffer_append(&text, "", 1);
    load(text.data);
    run("least-wait");
    assert_int_equal(result.finished, 21);
    assert_int_equal(result.deadline_misses, 0);
    assert_true(result.wait_sum_s > 20 * 9 * 3600);
}

static void deadline__that_cannot_be_met_is_refused(void **state)
{
    (void)state;
    load("submit_unix,duration_s,gpus,home_site,pin,deadline_unix\n1696176000,3600,16,north,1,1696179700\n"
         "1696176001,3600,16,north,1,1696176002\n");
    run("least-wait");
    assert_true(result.finished == 1 && result.refused == 1 && result.deadline_misses == 0);
    assert_non_null(strstr(result.refusal, "deadline"));
}

/*  What is assumed of durations is all that a policy knows of them: behind a gang that waits, a short job starts only
 *  if its limit says that it is short. */
static void limit__is_what_backfill_knows(void **state)
{
    (void)state;
    static const char *const limits[] = {"3600", "86400"};
    double waits[2];
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "submit_unix,duration_s,gpus,home_site,pin,time_limit_s\n1696176000,7200,8,north,1,7200\n"
                       "1696176060,3600,16,north,1,3600\n1696176120,3600,8,north,1,%s\n",
                       limits[i]);
        load(text);
        run("least-wait");
        assert_int_equal(result.finished, 3);
        waits[i] = result.wait_sum_s;
    }
    assert_true(waits[0] == 7140 && waits[1] > 2 * 7140);
}

/*  Jobs of parts of nodes come and go, so that no node is ever whole by itself. What begins after the gang was submitted
 *  must not keep it waiting: it starts when the jobs are over that are ahead of it, none of which takes more than four
 *  hours. With that deadline it would not start later. */
static void gang__does_not_wait_for_parts_of_nodes_to_meet(void **state)
{
    (void)state;
    enum { JOBS = 300, GANG_AT = 100, LONGEST_S = 4 * 3600 };
    for (uint64_t seed = 1; seed <= 100; seed++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_rng_t rng = {seed};
        int64_t at = T0;
        helio_buffer_text(&text, "submit_unix,duration_s,gpus,nodes,home_site,pin,queue,deadline_unix\n");
        for (int i = 0; i < JOBS; i++) {
            at += (int64_t)helio_rng_below(&rng, 1700);
            if (i == GANG_AT)
                helio_buffer_printf(&text, "%lld,600,16,2,west,1,standard,%lld\n", (long long)at,
                                    (long long)at + LONGEST_S + 600);
            helio_buffer_printf(&text, "%lld,%llu,%llu,1,west,1,batch,\n", (long long)at,
                                (unsigned long long)(60 + helio_rng_below(&rng, LONGEST_S - 59)),
                                (unsigned long long)(1 + helio_rng_below(&rng, 5)));
        }
        helio_buffer_append(&text, "", 1);
        load(text.data);
        run("least-wait");
        if (result.finished != JOBS + 1)
            fail_msg("seed %llu: the gang did not start in time", (unsigned long long)seed);
    }
}

static void never__fits_or_ends_counts_as_unfinished(void **state)
{
    (void)state;
    load(HEAD "1696176000,60,640,west,standard,,,\n1696176000,60,1,west,standard,,,\n");
    run("least-wait");
    assert_int_equal(result.jobs, 2);
    assert_int_equal(result.finished, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(one_job__goes_where_its_policy_says),
        IN_WORLD(many_jobs__all_end_and_the_sums_agree),
        IN_WORLD(seed__decides_everything),
        IN_WORLD(future__is_known_to_no_policy_that_is_not_clairvoyant),
        IN_WORLD(flexible__waits_for_a_cleaner_hour),
        IN_WORLD(preempted__goes_on_from_its_last_checkpoint),
        IN_WORLD(moved__goes_on_at_a_better_site),
        IN_WORLD(sites__of_a_job_bind_every_policy),
        IN_WORLD(teams__share_a_site),
        IN_WORLD(deadline__that_cannot_be_met_is_refused),
        IN_WORLD(limit__is_what_backfill_knows),
        IN_WORLD(gang__does_not_wait_for_parts_of_nodes_to_meet),
        IN_WORLD(never__fits_or_ends_counts_as_unfinished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
