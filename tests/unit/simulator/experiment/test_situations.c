/*  test_situations.c -- what is particular to single policies, and to fleets with links, tenants, outages and users of their
 *  own. */
#include "tests/unit/simulator/experiment/world_testing.h"

#include "simulator/experiment/capacity.h"

enum { NORTH, SOUTH, WEST };

static uint32_t starts_at(uint32_t site)
{
    uint32_t sum = 0;
    for (uint32_t hour = 0; hour < EXP_DAY_HOURS; hour++)
        sum += result.detail.starts[site][hour];
    return sum;
}

/*  Of all jobs, within the seconds that the core takes to look again. */
static void assert_near(double seconds, double expected)
{
    if (fabs(seconds - expected) > 30)
        fail_msg("%.1f s instead of %.1f s", seconds, expected);
}

static void use_fleet(const char *rest)
{
    fleet = fleet_of(helio_arena_string(arena, helio_arena_printf(arena, "%s%s", three_sites, rest)));
}

/*  ---- policies ---- */

/*  West is home and full; the others are as far away as the links say. */
static void nearest__is_home_then_the_shortest_round_trip(void **state)
{
    (void)state;
    static const struct {
        const char *links;
        uint32_t site;
    } rows[] = {
        {"links:\n- {from: '*', to: north, gbps: 1, rtt_ms: 50}\n- {from: '*', to: '*', gbps: 1, rtt_ms: 10}\n", SOUTH},
        {"links:\n- {from: west, to: north, gbps: 1, rtt_ms: 5}\n- {from: '*', to: '*', gbps: 1, rtt_ms: 6}\n", NORTH}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        use_fleet(rows[i].links);
        load(HEAD "1696176000,7200,32,west,standard,,,\n1696176060,3600,8,west,standard,,,\n");
        run("nearest");
        assert_int_equal(result.finished, 2);
        assert_int_equal(starts_at(WEST), 1);
        assert_int_equal(starts_at(rows[i].site), 1);
        assert_true(result.wait_sum_s == 0 && result.moves == 0);
    }
}

/*  Two sites that are alike; at home a long job has half of the GPUs. */
static void follow_the_sun__leaves_scarce_gpus_to_others(void **state)
{
    (void)state;
    fleet = fleet_of("sites:\n" A_SITE("north", "WE", "1.2", "2") A_SITE("south", "WE", "1.2", "2"));
    load(HEAD "1696176000,36000,8,north,standard,,,1\n1696183200,3600,4,north,standard,,,\n");
    run("balanced");
    assert_int_equal(starts_at(NORTH), 2);
    run("follow-the-sun");
    assert_true(starts_at(NORTH) == 1 && starts_at(SOUTH) == 1);
}

/*  An hour without any carbon, which nothing in the past announces; by the past, the best hour is before it. */
static void clairvoyant__knows_the_hours_ahead(void **state)
{
    (void)state;
    exp_series_t *series = (exp_series_t *)(uintptr_t)exp_series_find(world.carbon, HELIO_TEXT("WE"));
    for (uint32_t i = 0; i < series->count; i++) {
        if (series->first_hour + i == T0 / 3600 + 18)
            series->values[i] = 0;
        series->sums[i + 1] = series->sums[i] + series->values[i];
    }
    load(HEAD "1696176000,3600,4,west,standard,,86400,1\n");
    run("greenest");
    assert_true(result.finished == 1 && result.grams > 0);
    run("clairvoyant-greenest");
    assert_true(result.finished == 1 && fabs(result.grams) < 1e-6);
    assert_near(result.wait_sum_s, 18 * 3600);
}

/*  By its limit the job cannot meet its deadline, by its duration it can. */
static void clairvoyant__knows_durations(void **state)
{
    (void)state;
    load("submit_unix,duration_s,gpus,home_site,time_limit_s,deadline_unix\n1696176000,3600,8,west,86400,1696183200\n");
    run("balanced");
    assert_int_equal(result.refused, 1);
    static const char *const all[] = {"clairvoyant", "clairvoyant-cheapest", "clairvoyant-greenest"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        run(all[i]);
        assert_true(result.finished == 1 && result.deadline_misses == 0);
    }
}

/*  North is clean and dear, south dirty and cheap. */
static void prices__decide_between_money_and_carbon(void **state)
{
    (void)state;
    static const struct {
        bool given;
        int64_t usd_per_t;
        uint32_t site;
    } rows[] = {{true, 0, SOUTH}, {true, 100000, NORTH}, {false, 100000, SOUTH}};
    load(HEAD "1696176000,7200,4,west,standard,,,\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world.carbon_price_given = rows[i].given;
        world.carbon_price_micro_usd_per_t = rows[i].usd_per_t * 1000000;
        run("balanced");
        assert_int_equal(starts_at(rows[i].site), 1);
        run("clairvoyant");
        assert_int_equal(starts_at(rows[i].site), 1);
        run("cheap"); /* a goal keeps its own prices */
        assert_int_equal(starts_at(SOUTH), 1);
    }
}

/*  ---- teams ---- */

/*  Twenty jobs of one team and one of another a minute later, all of the whole site. */
static void load_two_teams(void)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, "submit_unix,duration_s,gpus,home_site,team,pin,queue\n");
    for (int i = 0; i < 20; i++)
        helio_buffer_printf(&text, "%lld,3600,16,north,many,1,standard\n", (long long)T0 + i);
    helio_buffer_printf(&text, "%lld,3600,16,north,one,1,standard\n", (long long)T0 + 60);
    helio_buffer_append(&text, "", 1);
    load(text.data);
}

static void arrival__takes_one_after_the_other(void **state)
{
    (void)state;
    load_two_teams();
    run("least-wait");
    assert_near(result.detail.teams[1].wait_s, 3600 - 60);
    run("arrival");
    assert_int_equal(result.finished, 21);
    assert_near(result.detail.teams[1].wait_s, 20 * 3600 - 60);
}

/*  Each team may have 8 GPUs in the queue `express`: that is no limit of all teams together. */
static void arrival__has_no_quota_of_a_team(void **state)
{
    (void)state;
    load("submit_unix,duration_s,gpus,home_site,team,pin,queue\n1696176000,3600,8,west,a,1,express\n"
         "1696176000,3600,8,west,b,1,express\n1696176000,3600,8,west,b,1,express\n");
    run("least-wait");
    assert_near(result.wait_sum_s, 3600);
    run("arrival");
    assert_true(result.wait_sum_s == 0);
}

static void quota__bounds_what_a_team_has_at_once(void **state)
{
    (void)state;
    static const struct {
        const char *tenants;
        double wait_h;
    } rows[] = {{"", 0 + 0 + 1 + 1},
                {"tenants: [{name: a, burst_gpus: 8}]\n", 0 + 1 + 2 + 3},
                {"tenants: [{name: a, queues: [{queue: standard, burst_gpus: 8}]}]\n", 0 + 1 + 2 + 3},
                {"tenants: [{name: '*', queues: [{queue: standard, burst_gpus: 8}]}]\n", 0 + 1 + 2 + 3},
                {"tenants: [{name: b, burst_gpus: 8}]\n", 0 + 0 + 1 + 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        use_fleet(rows[i].tenants);
        load(
            "submit_unix,duration_s,gpus,home_site,team,pin\n1696176000,3600,8,north,a,1\n1696176000,3600,8,north,a,1\n"
            "1696176000,3600,8,north,a,1\n1696176000,3600,8,north,a,1\n");
        run("least-wait");
        assert_int_equal(result.finished, 4);
        assert_near(result.wait_sum_s, rows[i].wait_h * 3600);
    }
}

/*  Two teams that ask for the same, twelve jobs each of a quarter of the site: who weighs more waits less, and who has a guarantee
 *  is first. */
static void shares__decide_who_waits(void **state)
{
    (void)state;
    static const char *const tenants[] = {"tenants: [{name: b, weight: 3}]\n",
                                          "tenants: [{name: b, guaranteed_gpus: 16}]\n"};
    double equal = 0;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, "submit_unix,duration_s,gpus,home_site,team,pin\n");
    for (int i = 0; i < 24; i++)
        helio_buffer_printf(&text, "%lld,3600,4,north,%s,1\n", (long long)T0, i % 2 ? "b" : "a");
    helio_buffer_append(&text, "", 1);
    load(text.data);
    run("least-wait");
    equal = result.detail.teams[1].wait_s;
    assert_true(fabs(equal - result.detail.teams[0].wait_s) <= 2 * 3600);
    for (size_t i = 0; i < sizeof tenants / sizeof tenants[0]; i++) {
        use_fleet(tenants[i]);
        load(text.data);
        run("least-wait");
        assert_int_equal(result.finished, 24);
        assert_true(result.detail.teams[1].wait_s < 0.8 * equal);
        assert_true(result.detail.teams[0].wait_s > 1.1 * equal);
    }
}

/*  ---- outages ---- */

#define OUTAGES(list) \
    "sites:\n" A_SITE("north", "NO", "1.1", "2") "    outages: [" list "]\n" A_SITE("south", "SO", "1.5", "2")
#define ONE_TO_THREE "{from: 2023-10-01T17:00:00Z, to: 2023-10-01T19:00:00Z}"

static void outage__work_goes_on_from_the_last_checkpoint(void **state)
{
    (void)state;
    static const struct {
        const char *checkpoint;
        double left_s;
    } rows[] = {{"1800", 3600}, {"2400", 7200 - 2400}, {"", 7200}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, HEAD "1696176000,7200,16,north,standard,%s,,1\n", rows[i].checkpoint);
        fleet = fleet_of(OUTAGES(ONE_TO_THREE));
        load(text);
        run("least-wait");
        assert_int_equal(result.finished, 1);
        assert_near(result.jct_sum_s, 3 * 3600 + 60 + rows[i].left_s);
        double hours = 1 + (60 + rows[i].left_s) / 3600; /* it draws nothing while there is no power */
        assert_true(fabs(result.kwh - 0.429 * 1.1 * 16 * hours) < 0.429 * 1.1 * 16 * 0.02);
        assert_int_equal(result.placements, 2);
    }
}

/*  The restart takes a minute in which no work is done: the second time there is no checkpoint yet. */
static void outage__a_restart_is_no_work(void **state)
{
    (void)state;
    fleet = fleet_of(OUTAGES("{from: 2023-10-01T17:00:00Z, to: 2023-10-01T18:00:00Z}, "
                             "{from: 2023-10-01T19:00:30Z, to: 2023-10-01T20:00:00Z}"));
    load(HEAD "1696176000,36000,16,north,standard,3600,,1\n");
    run("least-wait");
    assert_int_equal(result.placements, 3);
    assert_near(result.jct_sum_s, 4 * 3600 + 60 + 9 * 3600);
}

/*  A strict job waits for proof; one with a lease goes elsewhere when it is over; an eager one at suspicion. */
static void outage__is_survived_as_the_job_asks(void **state)
{
    (void)state;
    static const struct {
        helio_site_loss_t loss;
        double jct_s, most_s;
    } rows[] = {{HELIO_SITE_LOSS_STRICT, 3 * 3600 + 60 + 3600, 30},
                {HELIO_SITE_LOSS_LEASE, 3600 + 928 + 60 + 3600, 60},
                {HELIO_SITE_LOSS_EAGER, 3600 + 60 + 60 + 3600, 60}};
    fleet = fleet_of(OUTAGES(ONE_TO_THREE));
    load(HEAD "1696176000,7200,16,north,standard,3600,,\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world.site_loss = rows[i].loss;
        run("least-wait");
        assert_int_equal(result.finished, 1);
        if (fabs(result.jct_sum_s - rows[i].jct_s) > rows[i].most_s)
            fail_msg("row %zu: %.0f s", i, result.jct_sum_s);
        assert_int_equal(result.moves, rows[i].loss != HELIO_SITE_LOSS_STRICT);
    }
}

static void outage__nothing_starts_at_a_site_that_is_gone(void **state)
{
    (void)state;
    fleet = fleet_of(OUTAGES(ONE_TO_THREE));
    load(HEAD "1696181400,600,8,north,standard,,,\n1696181400,600,8,north,standard,,,1\n");
    run("greenest");
    assert_int_equal(result.finished, 2);
    assert_true(starts_at(NORTH) == 1 && starts_at(SOUTH) == 1);
    assert_near(result.wait_sum_s, 1.5 * 3600);
}

static void outage__every_policy_finishes_all(void **state)
{
    (void)state;
    fleet = fleet_of(OUTAGES(ONE_TO_THREE ", {from: 2023-10-02T01:00:00Z, to: 2023-10-02T02:00:00Z}"));
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, HEAD);
    for (int i = 0; i < 60; i++)
        helio_buffer_printf(&text, "%lld,%d,%d,%s,%s,%s,,\n", (long long)T0 + 600 * i, 900 + 400 * (i % 9), 1 << i % 5,
                            i % 3 ? "north" : "south", i % 4 ? "standard" : "preemptible", i % 2 ? "1200" : "");
    helio_buffer_append(&text, "", 1);
    load(text.data);
    for (uint32_t i = 0; i < exp_policy_count; i++) {
        run(exp_policies[i].name);
        if (result.finished != 60)
            fail_msg("%s: %u of 60", exp_policies[i].name, result.finished);
    }
}

/*  ---- the sites' own users ---- */

static exp_local_trace_t local;

static void use_local(const char *rows)
{
    const char *text =
        helio_arena_string(arena, helio_arena_printf(arena, "site,submit_unix,duration_s,gpus\n%s", rows));
    exp_local_free(&local);
    if (exp_local_load(put("local.csv", text), &fleet, &local, &err) != HELIO_OK)
        fail_msg("%s", err.text);
    world.local = &local;
}

static int close_local(void **state)
{
    exp_local_free(&local);
    return close_world(state);
}

/*  They have the whole site for two hours. */
static void local__jobs_take_what_the_federation_then_lacks(void **state)
{
    (void)state;
    load(HEAD "1696176060,3600,16,north,standard,,,1\n");
    run("least-wait");
    assert_true(result.wait_sum_s == 0);
    use_local("north,1696176000,7200,16\n");
    run("least-wait");
    assert_int_equal(result.finished, 1);
    assert_near(result.wait_sum_s, 7200 - 60);
    assert_true(result.local_started == 1 && result.local_wait_sum_s == 0);
    assert_true(fabs(result.kwh - 0.429 * 1.1 * 16) < 1e-9); /* their energy is not the federation's */
}

/*  A job of the federation runs, another one waits at the broker, and then a user of the site submits: the site's own
 *  queue is served first. */
static void local__queue_is_served_before_the_federation(void **state)
{
    (void)state;
    use_local("north,1696177800,3600,16\n");
    load(HEAD "1696176000,3600,16,north,standard,,,1\n1696176600,3600,16,north,standard,,,1\n");
    run("least-wait");
    assert_int_equal(result.finished, 2);
    assert_near(result.local_wait_sum_s, 1800);
    assert_near(result.wait_sum_s, 7200 - 600);
}

/*  A user of the site waits for the whole of it, half of which is idle: a job of the federation must not take that. */
static void local__what_is_idle_is_for_those_who_wait_there(void **state)
{
    (void)state;
    use_local("north,1696176600,3600,16\n");
    load(HEAD "1696176000,7200,8,north,standard,,,1\n1696177200,600,8,north,standard,,,1\n");
    run("least-wait");
    assert_int_equal(result.finished, 2);
    assert_near(result.local_wait_sum_s, 7200 - 600);
    assert_near(result.wait_sum_s, 10800 - 1200);
}

/*  What began before the first job of the federation has only the rest of its time left, or none. */
static void local__jobs_of_before_have_begun(void **state)
{
    (void)state;
    use_local("north,1696168800,9000,16\nnorth,1696089600,3600,16\n");
    load(HEAD "1696176000,3600,16,north,standard,,,1\n");
    run("least-wait");
    assert_near(result.wait_sum_s, 1800);
    assert_int_equal(result.local_started, 1);
}

static void local__jobs_begin_anew_after_an_outage(void **state)
{
    (void)state;
    fleet = fleet_of(OUTAGES(ONE_TO_THREE));
    use_local("north,1696176000,7200,16\n");
    load(HEAD "1696176060,3600,16,north,standard,,,1\n");
    run("least-wait");
    assert_int_equal(result.finished, 1);
    assert_near(result.wait_sum_s, 5 * 3600 - 60);
    assert_int_equal(result.local_started, 2);
}

/*  ---- data ---- */

static void data__is_brought_before_the_work_and_paid_for(void **state)
{
    (void)state;
    use_fleet("links: [{from: '*', to: '*', gbps: 8, egress_usd_per_gb: 0.01}]\n");
    static const struct {
        const char *site;
        double hours, egress;
    } rows[] = {{"north", 1, 0}, {"south", 2, 36}}; /* 3,600 GB at 1 GB a second */
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        (void)snprintf(
            text, sizeof text,
            "submit_unix,duration_s,gpus,home_site,sites,data_gb,data_site\n1696176000,3600,8,west,%s,3600,north\n",
            rows[i].site);
        load(text);
        run("least-wait");
        assert_int_equal(result.finished, 1);
        assert_near(result.jct_sum_s, rows[i].hours * 3600);
        const exp_fleet_site_t *site = &fleet.items[i];
        double kw = 0.429 * site->profile.pue * 8;
        const exp_series_t *price = exp_series_find(world.price, site->price_region);
        double power = kw * exp_series_integral(price, T0 * 1000, T0 * 1000 + (int64_t)(rows[i].hours * HOUR));
        assert_true(fabs(result.usd - power - rows[i].egress) < 1e-6);
    }
    /* where the data is, is cheapest, unless electricity says otherwise by more */
    load("submit_unix,duration_s,gpus,home_site,data_gb\n1696176000,3600,8,north,3600\n");
    run("balanced");
    assert_int_equal(starts_at(NORTH), 1);
}

static void data__needs_a_link_to_every_site(void **state)
{
    (void)state;
    const exp_trace_defaults_t defaults = {.from_ms = INT64_MIN, .to_ms = INT64_MAX};
    exp_trace_t none;
    use_fleet("links: [{from: north, to: west, gbps: 8}]\n");
    const char *path = put("jobs.csv", "submit_unix,duration_s,gpus,home_site,data_gb\n1,1,1,north,\n1,1,1,north,5\n");
    assert_int_equal(exp_trace_load(path, &fleet, &defaults, arena, &none, &err), HELIO_INVALID);
    assert_error("jobs.csv",
                 ":3: column 'data_gb': the fleet has no link from site 'north', which has the data, to site "
                 "'south': a link from \"*\" to \"*\" holds for all others");
}

/*  ---- the size of the fleet ---- */

/*  Two sites of four nodes. One has work for six nodes, and later the other one: apart they need eight nodes for what four
 *  do together. */
static void capacity__is_the_fleet_of_isolated_over_the_smallest_that_suffices(void **state)
{
    (void)state;
    fleet = fleet_of("sites:\n" A_SITE("north", "NO", "1.1", "4") A_SITE("south", "SO", "1.5", "4"));
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_buffer_text(&text, HEAD);
    for (int i = 0; i < 12; i++)
        helio_buffer_printf(&text, "%lld,3600,8,%s,standard,,,\n", (long long)T0 + i / 6 * 7200,
                            i / 6 ? "north" : "south");
    helio_buffer_append(&text, "", 1);
    load(text.data);
    exp_result_t isolated;
    exp_run(&world, exp_policy_find(HELIO_TEXT("isolated")), NULL, NULL, &isolated);
    run("least-wait");
    assert_near(exp_result_wait_s(&isolated, .95), 3600);
    assert_near(exp_result_wait_s(&result, .95), 0);
    double ratio = exp_capacity_ratio(&world, exp_policy_find(HELIO_TEXT("least-wait")), &result, &isolated);
    assert_true(ratio == 2); /* four nodes in place of eight */
    exp_result_clear(&isolated);
}

#define WITH_LOCAL(name) cmocka_unit_test_setup_teardown(name, open_world, close_local)
int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_WORLD(nearest__is_home_then_the_shortest_round_trip),
        IN_WORLD(follow_the_sun__leaves_scarce_gpus_to_others),
        IN_WORLD(clairvoyant__knows_the_hours_ahead),
        IN_WORLD(clairvoyant__knows_durations),
        IN_WORLD(prices__decide_between_money_and_carbon),
        IN_WORLD(arrival__takes_one_after_the_other),
        IN_WORLD(arrival__has_no_quota_of_a_team),
        IN_WORLD(quota__bounds_what_a_team_has_at_once),
        IN_WORLD(shares__decide_who_waits),
        IN_WORLD(outage__work_goes_on_from_the_last_checkpoint),
        IN_WORLD(outage__a_restart_is_no_work),
        IN_WORLD(outage__is_survived_as_the_job_asks),
        IN_WORLD(outage__nothing_starts_at_a_site_that_is_gone),
        IN_WORLD(outage__every_policy_finishes_all),
        WITH_LOCAL(local__jobs_take_what_the_federation_then_lacks),
        WITH_LOCAL(local__queue_is_served_before_the_federation),
        WITH_LOCAL(local__what_is_idle_is_for_those_who_wait_there),
        WITH_LOCAL(local__jobs_of_before_have_begun),
        WITH_LOCAL(local__jobs_begin_anew_after_an_outage),
        IN_WORLD(data__is_brought_before_the_work_and_paid_for),
        IN_WORLD(data__needs_a_link_to_every_site),
        IN_WORLD(capacity__is_the_fleet_of_isolated_over_the_smallest_that_suffices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
