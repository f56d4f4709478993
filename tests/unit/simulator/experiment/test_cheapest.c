/*  test_cheapest.c -- the least cost of hourly work: by hand, and against an exact flow of least cost on small problems. */
#include "tests/unit/simulator/experiment/experiment_testing.h"

#include <math.h>
#include <stdlib.h>

#include "federation/base/rng.h"
#include "simulator/experiment/cheapest.h"

enum { HOURS = 5, PLACES = 3, CLASSES_MOST = 3, SLOTS = HOURS * PLACES };

static uint32_t places_of[CLASSES_MOST][PLACES];
static exp_class_t items[CLASSES_MOST];
static exp_classes_t classes;
static double room[SLOTS], per_kwh[SLOTS], fixed[PLACES], kw_low[CLASSES_MOST * PLACES], kw_high[CLASSES_MOST * PLACES];
static double work[HOURS * CLASSES_MOST];
static exp_problem_t problem;
static exp_demand_t demand;

/*  All classes may run anywhere at 1 kW a GPU, nothing is there and nothing costs anything. */
static void open_problem(uint32_t count)
{
    memset(room, 0, sizeof room);
    memset(per_kwh, 0, sizeof per_kwh);
    memset(fixed, 0, sizeof fixed);
    memset(work, 0, sizeof work);
    for (uint32_t k = 0; k < count; k++) {
        items[k] = (exp_class_t){.places = places_of[k], .place_count = PLACES};
        for (uint32_t p = 0; p < PLACES; p++) {
            places_of[k][p] = p;
            kw_low[k * PLACES + p] = kw_high[k * PLACES + p] = 1;
        }
    }
    classes = (exp_classes_t){.place_count = PLACES, .items = items, .count = count};
    demand = (exp_demand_t){.hours = HOURS, .classes = count, .gpu_hours = work};
    problem = (exp_problem_t){.classes = &classes,
                              .hours = HOURS,
                              .room = room,
                              .per_kwh = per_kwh,
                              .fixed = fixed,
                              .kw_low = kw_low,
                              .kw_high = kw_high};
}

static void assert_near(double value, double expected)
{
    if (fabs(value - expected) > 1e-9 * (1 + fabs(expected)))
        fail_msg("%.12g, not %.12g", value, expected);
}

/*  Hour 0: rooms of 4 at costs 5, 7 and 9; hour 1: at 1, 8 and 20. */
static void work__goes_to_the_cheapest_room_of_its_hours(void **state)
{
    (void)state;
    static const double costs[] = {5, 7, 9, 1, 8, 20};
    open_problem(1);
    for (uint32_t i = 0; i < 6; i++) {
        room[i] = 4;
        per_kwh[i] = costs[i];
    }
    work[0] = 6;
    work[1] = 3;
    assert_near(exp_cheapest(&problem, &demand, false), 4 * 5 + 2 * 7 + 3 * 1);
    assert_near(exp_cheapest(&problem, &demand, true), 3 * 1 + 1 * 1 + 4 * 5 + 1 * 7);
    work[1] = 5; /* what is submitted later does not run earlier */
    assert_near(exp_cheapest(&problem, &demand, true), 4 * 1 + 1 * 8 + 4 * 5 + 2 * 7);
    fixed[0] = 4; /* rent beside the electricity */
    assert_near(exp_cheapest(&problem, &demand, false), 4 * 7 + 2 * 9 + 4 * 5 + 1 * 8);
}

static void negative__prices_are_taken_with_the_most_power(void **state)
{
    (void)state;
    open_problem(1);
    room[0] = 4;
    per_kwh[0] = -2;
    kw_high[0] = 3;
    work[0] = 1;
    assert_near(exp_cheapest(&problem, &demand, false), -6);
    per_kwh[0] = 2;
    assert_near(exp_cheapest(&problem, &demand, false), 2);
}

/* ---- against a flow of least cost ---------------------------------------------------------------------------- */

enum { WORKS = CLASSES_MOST * HOURS, NODES = 2 + WORKS + SLOTS, SOURCE = 0, SINK = 1 };

static double capacity[NODES][NODES], cost[NODES][NODES];

static double rate(uint32_t class, uint32_t slot)
{
    uint32_t at = class * PLACES + slot % PLACES;
    return fixed[slot % PLACES] + fmin(per_kwh[slot] * kw_low[at], per_kwh[slot] * kw_high[at]);
}

static void link_class(uint32_t class, bool may_wait)
{
    for (uint32_t hour = 0; hour < HOURS; hour++) {
        uint32_t node = 2 + class * HOURS + hour;
        capacity[SOURCE][node] = work[hour * classes.count + class];
        for (uint32_t i = 0; i < SLOTS; i++) {
            bool able = false;
            for (uint32_t p = 0; p < items[class].place_count; p++)
                able = able || items[class].places[p] == i % PLACES;
            uint32_t slot = 2 + WORKS + i, at = i / PLACES;
            if (!able || (may_wait ? at < hour : at != hour))
                continue;
            capacity[node][slot] = 1e9;
            cost[node][slot] = rate(class, i);
            cost[slot][node] = -cost[node][slot];
        }
    }
}

/*  Bellman and Ford; false: no path is left. */
static bool find_path(uint32_t *ret_from)
{
    double least[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        least[i] = i == SOURCE ? 0 : INFINITY;
    for (uint32_t round = 0; round < NODES; round++)
        for (uint32_t a = 0; a < NODES; a++)
            for (uint32_t b = 0; b < NODES; b++)
                if (capacity[a][b] > 0 && least[a] + cost[a][b] < least[b] - 1e-9) {
                    least[b] = least[a] + cost[a][b];
                    ret_from[b] = a;
                }
    return isfinite(least[SINK]);
}

/*  Whole amounts, so that it ends. *ret_done: all work has room. */
static double exact(bool may_wait, bool *ret_done)
{
    uint32_t from[NODES];
    double sum = 0, left = 0;
    memset(capacity, 0, sizeof capacity);
    memset(cost, 0, sizeof cost);
    for (uint32_t k = 0; k < classes.count; k++)
        link_class(k, may_wait);
    for (uint32_t i = 0; i < SLOTS; i++)
        capacity[2 + WORKS + i][SINK] = room[i];
    while (find_path(from)) {
        double amount = INFINITY;
        for (uint32_t b = SINK; b != SOURCE; b = from[b])
            amount = fmin(amount, capacity[from[b]][b]);
        for (uint32_t b = SINK; b != SOURCE; b = from[b]) {
            capacity[from[b]][b] -= amount;
            capacity[b][from[b]] += amount;
            sum += amount * cost[from[b]][b];
        }
    }
    for (uint32_t i = 2; i < 2 + WORKS; i++)
        left += capacity[SOURCE][i];
    *ret_done = left == 0;
    return sum;
}

static void open_random(helio_rng_t *rng, uint32_t count)
{
    open_problem(count);
    for (uint32_t i = 0; i < SLOTS; i++) {
        room[i] = (double)helio_rng_below(rng, 9);
        per_kwh[i] = 10 + (double)helio_rng_below(rng, 90);
    }
    for (uint32_t p = 0; p < PLACES; p++)
        fixed[p] = (double)helio_rng_below(rng, 20);
    for (uint32_t k = 0; k < count; k++) {
        items[k].place_count = 0;
        for (uint32_t p = 0; p < PLACES; p++)
            if (count == 1 || helio_rng_below(rng, 3))
                places_of[k][items[k].place_count++] = p;
        for (uint32_t p = 0; p < PLACES; p++) {
            kw_low[k * PLACES + p] = 1 + (double)helio_rng_below(rng, 4) / 4;
            kw_high[k * PLACES + p] = kw_low[k * PLACES + p] + (double)helio_rng_below(rng, 2) / 4;
        }
        for (uint32_t hour = 0; hour < HOURS && items[k].place_count; hour++)
            work[hour * count + k] = (double)helio_rng_below(rng, count == 1 ? 9 : 4);
    }
}

/*  Never more than the least cost; the same with one class, and close to it with several. */
static void bound__is_the_least_cost_or_little_less(void **state)
{
    (void)state;
    helio_rng_t rng = {20};
    double share = 0;
    uint32_t compared[2] = {0}, several = 0;
    for (uint32_t i = 0; i < 600; i++) {
        bool may_wait = i % 2, done;
        open_random(&rng, 1 + i % CLASSES_MOST);
        double least = exact(may_wait, &done), found = exp_cheapest(&problem, &demand, may_wait);
        if (!done || least == 0)
            continue;
        if (found > least * (1 + 1e-9) || found < least * (classes.count == 1 ? 1 - 1e-9 : .93))
            fail_msg("problem %u with %u classes: %.9g, the least cost is %.9g", i, classes.count, found, least);
        compared[may_wait]++;
        several += classes.count > 1;
        share += classes.count > 1 ? found / least : 0;
    }
    assert_true(compared[0] > 50 && compared[1] > 100 && several > 100);
    if (share / several < .997)
        fail_msg("with several classes %.5f of the least cost on average", share / several);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work__goes_to_the_cheapest_room_of_its_hours),
        cmocka_unit_test(negative__prices_are_taken_with_the_most_power),
        cmocka_unit_test(bound__is_the_least_cost_or_little_less),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
