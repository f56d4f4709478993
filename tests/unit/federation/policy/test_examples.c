/*  The worked examples of docs/policy.md are what this program computes: the blocks of that page are compared
 * with it.
 *
 *      unit_federation_policy_examples --print        prints them, to be put into the page
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/policy/choice.h"

enum { HOUR = HELIO_HOUR_MS, SITES = 3 };
static const int64_t NOON = INT64_C(1772366400000);

/*  Hours from noon UTC on: the sun rises over Oregon and sets in Frankfurt; it is night in Tokyo. Of the 32
 * GPUs those are free that inference does not keep by day. */
static const struct {
    const char *name;
    double price; /* USD per GPU-hour */
    double carbon[12], free[12];
} places[SITES] = {
    {"frankfurt",
     2.10,
     {300, 320, 350, 390, 420, 430, 430, 420, 400, 380, 370, 360},
     {8, 8, 8, 8, 8, 8, 8, 8, 28, 28, 28, 28}},
    {"oregon",
     2.20,
     {410, 400, 380, 320, 240, 160, 110, 90, 90, 100, 140, 230},
     {28, 28, 28, 28, 8, 8, 8, 8, 8, 8, 8, 8}},
    {"tokyo",
     2.00,
     {520, 520, 510, 510, 500, 500, 490, 490, 480, 470, 450, 420},
     {28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 8}},
};

static helio_pool_forecast_t pool_forecasts[SITES];
static helio_site_profile_t sites[SITES];
static helio_pool_t pools[SITES];

static void make_places(void)
{
    for (uint32_t i = 0; i < SITES; i++) {
        sites[i] = (helio_site_profile_t){.name = helio_text_of(places[i].name), .pue = 1.2, .carbon_g_per_kwh = 400};
        pools[i] = (helio_pool_t){.name = HELIO_TEXT("h100"),
                                  .gpu = HELIO_TEXT("H100"),
                                  .nodes = 4,
                                  .gpus_per_node = 8,
                                  .price_usd_per_gpu_h = places[i].price,
                                  .base_w = 86,
                                  .slope_w = 514,
                                  .host_w = 100};
        double carbon[12], left[12];
        memcpy(carbon, places[i].carbon, sizeof carbon);
        memcpy(left, places[i].free, sizeof left);
        helio_series_t series[] = {
            {.signal = HELIO_SIGNAL_CARBON, .start_wall_ms = NOON, .step_s = 3600, .values = {carbon, 12}},
            {.signal = HELIO_SIGNAL_FREE_GPUS, .start_wall_ms = NOON, .step_s = 3600, .values = {left, 12}}};
        helio_pool_forecast_make(&pool_forecasts[i], &sites[i], &pools[i], series, 2, NOON);
    }
}

static helio_gpu_ask_t ask = {.model = {"H100", 4}, .count = 8};

/*  8 H100 for four hours. */
static helio_requirement_t job_of(helio_prices_t prices, int64_t flexible_h)
{
    return (helio_requirement_t){.gpus = {&ask, 1},
                                 .nodes = 1,
                                 .time_limit_ms = 4 * HOUR,
                                 .carbon_price_micro_usd_per_t = prices.carbon_micro_usd_per_t,
                                 .wait_price_micro_usd_per_gpu_h = prices.wait_micro_usd_per_gpu_h,
                                 .scarcity_price_micro_usd_per_gpu_h = prices.scarcity_micro_usd_per_gpu_h,
                                 .free_until_ms = flexible_h ? NOON + flexible_h * HOUR : 0};
}

static helio_candidate_t judge(const helio_requirement_t *want, uint32_t place)
{
    helio_site_now_t now = {.ready = true, .wall_ms = NOON, .pool_forecast = &pool_forecasts[place]};
    return helio_choice_judge(want, &sites[place], &pools[place], &now);
}

/*  As the core chooses where every pool has room: the best start now, and a later one that is worth the wait.
 */
static helio_plan_t choose(const helio_requirement_t *want, uint32_t *ret_place)
{
    helio_candidate_t c[SITES];
    uint32_t now = SITES, later = SITES;
    for (uint32_t i = 0; i < SITES; i++) {
        c[i] = judge(want, i);
        if (c[i].rejection == HELIO_REJECTION_NONE &&
            (now == SITES || c[i].now.score_micro_usd < c[now].now.score_micro_usd))
            now = i;
    }
    assert_true(now < SITES);
    int64_t best = c[now].now.score_micro_usd;
    for (uint32_t i = 0; i < SITES; i++) {
        int64_t worth = c[i].later.start_ms ? helio_choice_worth(&c[i].later, &c[now].now, NOON, false) : INT64_MAX;
        if (worth < best) {
            best = worth;
            later = i;
        }
    }
    *ret_place = later < SITES ? later : now;
    return later < SITES ? c[later].later : c[now].now;
}

static void clock_text(int64_t wall_ms, char ret_text[8])
{
    char text[HELIO_RFC3339_SIZE];
    helio_rfc3339(wall_ms, text);
    (void)snprintf(ret_text, 8, "%.5sZ", text + 11);
}

static void plan_row(helio_buffer_t *out, const char *title, const char *place, const helio_plan_t *plan)
{
    char start[8];
    clock_text(plan->start_ms, start);
    helio_buffer_printf(out, "%-14s %-10s %s %8.2f %7.1f %6.2f %8.2f %8.2f\n", title, place, start,
                        (double)plan->cost_micro_usd / 1e6, (double)plan->energy_j / 3.6e6,
                        (double)plan->carbon_mg / 1e6, (double)plan->terms[HELIO_TERM_CARBON] / 1e6,
                        (double)plan->score_micro_usd / 1e6);
}

static void heading(helio_buffer_t *out, const char *title)
{
    helio_buffer_printf(out, "%-14s %-10s %-6s %8s %7s %6s %8s %8s\n", title, "site", "start", "money $", "kWh", "kg",
                        "carbon $", "score $");
}

static void goals(helio_buffer_t *out, int64_t flexible_h)
{
    heading(out, "goal");
    for (uint32_t goal = 0; goal < HELIO_GOAL_COUNT; goal++) {
        uint32_t place;
        helio_requirement_t want = job_of(helio_prices_of_goal(goal), flexible_h);
        helio_plan_t plan = choose(&want, &place);
        plan_row(out, helio_goal_name(goal), places[place].name, &plan);
    }
}

static void example_prices(helio_buffer_t *out)
{
    helio_buffer_printf(out, "%-14s %14s %18s %18s\n", "goal", "USD per tonne", "USD per GPU-hour", "USD per GPU-hour");
    helio_buffer_printf(out, "%-14s %14s %18s %18s\n", "", "of CO2e", "of waiting", "where all is taken");
    for (uint32_t goal = 0; goal < HELIO_GOAL_COUNT; goal++) {
        helio_prices_t prices = helio_prices_of_goal(goal);
        helio_buffer_printf(out, "%-14s %14.0f %18.2f %18.2f\n", helio_goal_name(goal),
                            (double)prices.carbon_micro_usd_per_t / 1e6, (double)prices.wait_micro_usd_per_gpu_h / 1e6,
                            (double)prices.scarcity_micro_usd_per_gpu_h / 1e6);
    }
}

static void example_now(helio_buffer_t *out)
{
    goals(out, 0);
}

static void example_flexible(helio_buffer_t *out)
{
    goals(out, 10);
}

static void example_starts(helio_buffer_t *out)
{
    helio_requirement_t want = job_of(helio_prices_of_goal(HELIO_GOAL_GREEN), 10);
    heading(out, "green");
    for (uint32_t i = 0; i < SITES; i++) {
        helio_candidate_t c = judge(&want, i);
        plan_row(out, "now", places[i].name, &c.now);
        plan_row(out, "best", places[i].name, &c.later);
    }
}

static void sun_row(helio_buffer_t *out, const char *title, const char *place, const helio_plan_t *plan)
{
    char start[8];
    clock_text(plan->start_ms, start);
    helio_buffer_printf(out, "%-5s %-10s %s %8.2f %8.2f %8.2f %8.2f\n", title, place, start,
                        (double)plan->terms[HELIO_TERM_MONEY] / 1e6, (double)plan->terms[HELIO_TERM_CARBON] / 1e6,
                        (double)plan->terms[HELIO_TERM_SHADOW] / 1e6, (double)plan->score_micro_usd / 1e6);
}

static void example_sun(helio_buffer_t *out)
{
    helio_requirement_t want = job_of(helio_prices_of_goal(HELIO_GOAL_FOLLOW_THE_SUN), 10);
    helio_buffer_printf(out, "%-5s %-10s %-6s %8s %8s %8s %8s\n", "", "site", "start", "money $", "carbon $",
                        "scarce $", "score $");
    for (uint32_t i = 0; i < SITES; i++) {
        helio_candidate_t c = judge(&want, i);
        sun_row(out, "now", places[i].name, &c.now);
        sun_row(out, "best", places[i].name, &c.later);
    }
}

static void example_cap(helio_buffer_t *out)
{
    helio_requirement_t want = job_of(helio_prices_of_goal(HELIO_GOAL_BALANCED), 0);
    want.max_carbon_mg_per_kwh = 250000;
    for (uint32_t i = 0; i < SITES; i++) {
        helio_candidate_t c = judge(&want, i);
        char start[16] = "not in sight";
        if (c.not_before_ms)
            clock_text(c.not_before_ms, start);
        helio_buffer_printf(out, "%-10s %-10s %3.0f g/kWh now; at most 250: %s\n", places[i].name,
                            helio_rejection_name(c.rejection), (double)helio_plan_mg_per_kwh(&c.now) / 1000, start);
    }
}

static const struct {
    const char *name;
    void (*make)(helio_buffer_t *out);
} examples[] = {
    {"prices", example_prices}, {"now", example_now}, {"flexible", example_flexible},
    {"starts", example_starts}, {"sun", example_sun}, {"cap", example_cap},
};

static void read_page(helio_buffer_t *out)
{
    FILE *file = fopen(HELIO_SOURCE_DIR "/docs/policy.md", "r");
    assert_non_null(file);
    char piece[4096];
    for (size_t size; (size = fread(piece, 1, sizeof piece, file)) > 0;)
        helio_buffer_append(out, piece, size);
    (void)fclose(file);
}

static void page__shows_what_the_policy_computes(void **state)
{
    (void)state;
    helio_buffer_t page = {0};
    read_page(&page);
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        helio_buffer_t text = {0}, block = {0};
        examples[i].make(&text);
        helio_buffer_printf(&block, "<!-- example: %s -->\n```\n%s```\n", examples[i].name, text.data);
        if (!strstr(page.data, block.data))
            fail_msg("docs/policy.md does not show this; put it in:\n%s", block.data);
        helio_buffer_clear(&text);
        helio_buffer_clear(&block);
    }
    helio_buffer_clear(&page);
}

int main(int argc, char **argv)
{
    make_places();
    for (size_t i = 0; argc > 1 && !strcmp(argv[1], "--print") && i < sizeof examples / sizeof examples[0]; i++) {
        helio_buffer_t text = {0};
        examples[i].make(&text);
        printf("<!-- example: %s -->\n```\n%s```\n", examples[i].name, text.data);
        helio_buffer_clear(&text);
    }
    if (argc > 1)
        return 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(page__shows_what_the_policy_computes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
