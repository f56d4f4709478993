/*  test_links.c -- which link counts between two sites, what data costs by it, and how far sites are apart. */
#include "tests/unit/simulator/experiment/fleet_testing.h"

#include "simulator/experiment/links.h"

#define SITE(name, lat, lon)                                \
    "- {name: " name ", region: R, lat: " lat ", lon: " lon \
    ", pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]}\n"
#define CITIES                                                                                              \
    "sites:\n" SITE("oregon", "45.6", "-121.2") SITE("london", "51.5", "-0.1") SITE("paris", "48.9", "2.4") \
        SITE("nowhere", "0", "0")

enum { OREGON, LONDON, PARIS, NOWHERE };

static void link__the_most_specific_one_counts(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(CITIES "links:\n- {from: '*', to: '*', gbps: 1}\n- {from: '*', to: paris, gbps: 2}\n"
                                        "- {from: london, to: '*', gbps: 3}\n- {from: london, to: paris, gbps: 4}\n");
    static const struct {
        uint32_t from, to;
        double gbps;
    } rows[] = {{OREGON, LONDON, 1}, {OREGON, PARIS, 2}, {LONDON, OREGON, 3}, {LONDON, PARIS, 4}, {PARIS, LONDON, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_true(exp_link_of(&fleet, rows[i].from, rows[i].to)->gbps == rows[i].gbps);
    exp_fleet_t without = fleet_of(CITIES);
    assert_null(exp_link_of(&without, OREGON, LONDON));
}

static void transfer__takes_time_and_money_between_sites_alone(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(CITIES "links: [{from: london, to: '*', gbps: 4, egress_usd_per_gb: 0.05}]\n");
    const uint64_t size = UINT64_C(500000000000);
    helio_transfer_t there = exp_transfer(&fleet, LONDON, PARIS, size);
    assert_true(there.ms == 1000000 && there.egress_micro_usd == 25000000); /* 4,000 Gbit at 4 Gbit/s; 500 GB */
    static const struct {
        uint32_t from, to;
        uint64_t bytes;
    } free_of_charge[] = {{LONDON, LONDON, 1000}, {PARIS, LONDON, 1000}, {LONDON, PARIS, 0}};
    for (size_t i = 0; i < sizeof free_of_charge / sizeof free_of_charge[0]; i++) {
        helio_transfer_t none =
            exp_transfer(&fleet, free_of_charge[i].from, free_of_charge[i].to, free_of_charge[i].bytes);
        assert_true(none.ms == 0 && none.egress_micro_usd == 0);
    }
}

static void round_trip__is_that_of_the_link_or_follows_from_the_distance(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(CITIES "links:\n- {from: london, to: paris, gbps: 4, rtt_ms: 9}\n"
                                        "- {from: '*', to: nowhere, gbps: 4, rtt_ms: 70}\n"
                                        "- {from: paris, to: london, gbps: 4}\n");
    uint32_t us;
    assert_int_equal(exp_round_trip_us(&fleet, LONDON, PARIS, &us, &err), HELIO_OK);
    assert_int_equal(us, 9000);
    assert_int_equal(exp_round_trip_us(&fleet, LONDON, NOWHERE, &us, &err), HELIO_OK);
    assert_int_equal(us, 70000);
    assert_int_equal(exp_round_trip_us(&fleet, PARIS, LONDON, &us, &err), HELIO_OK);
    assert_true(us > 4800 && us < 5600); /* some 340 km */
    assert_int_equal(exp_round_trip_us(&fleet, OREGON, LONDON, &us, &err), HELIO_OK);
    assert_true(us > 110000 && us < 130000); /* some 8,000 km */
    assert_int_equal(exp_round_trip_us(&fleet, PARIS, PARIS, &us, &err), HELIO_OK);
    assert_int_equal(us, 0);
    assert_int_equal(exp_round_trip_us(&fleet, NOWHERE, PARIS, &us, &err), HELIO_INVALID);
    assert_string_equal(err.text, "--policy nearest: site 'nowhere' has no position: give its lat and lon, or links "
                                  "with rtt_ms");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(link__the_most_specific_one_counts),
        CASE(transfer__takes_time_and_money_between_sites_alone),
        CASE(round_trip__is_that_of_the_link_or_follows_from_the_distance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
