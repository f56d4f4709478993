/*  test_fleet.c -- fleet files, and what is said of wrong ones. */
#include "simulator/experiment/scales.h"
#include "tests/unit/simulator/experiment/fleet_testing.h"

static void fleet__is_a_list_of_site_files(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(three_sites);
    assert_int_equal(fleet.count, 3);
    assert_int_equal(exp_fleet_gpus(&fleet), 64);
    assert_int_equal(exp_fleet_find(&fleet, HELIO_TEXT("west")), 2);
    assert_int_equal(exp_fleet_find(&fleet, HELIO_TEXT("east")), 3);
    const exp_fleet_site_t *south = &fleet.items[1];
    assert_true(south->profile.pue == 1.5 && south->profile.pools.items[0].owned);
    assert_true(helio_text_is(south->price_region, "SO")); /* the site's own unless it names another */
    assert_true(helio_text_is(south->forecast_region, "SO"));
}

static void fleet__a_pool_without_power_gets_that_of_its_model(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of("sites: [{name: a, region: R, price_region: P, forecast_region: F, pools: "
                                 "[{name: p, gpu: H100, nodes: 1, gpus_per_node: 8}]}]");
    assert_true(fleet.items[0].profile.pools.items[0].slope_w > 0);
    assert_true(helio_text_is(fleet.items[0].price_region, "P"));
    assert_true(helio_text_is(fleet.items[0].forecast_region, "F"));
}

static void scale__is_by_nodes_and_leaves_none_without(void **state)
{
    (void)state;
    static const struct {
        double factor;
        uint32_t nodes[3];
    } rows[] = {{1, {2, 2, 4}}, {1.3, {3, 3, 5}}, {0.01, {1, 1, 1}}, {100, {200, 200, 400}}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        exp_fleet_t fleet = fleet_of(three_sites);
        assert_int_equal(exp_fleet_scale(&fleet, rows[i].factor), HELIO_OK);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(fleet.items[k].profile.pools.items[0].nodes, rows[i].nodes[k]);
    }
    exp_fleet_t fleet = fleet_of(three_sites);
    assert_int_equal(exp_fleet_scale(&fleet, 1e6), HELIO_TOO_BIG);
}

/*  Every key that a fleet file may have is read, or refused by errors__name_line_and_column below. */
static void fleet__all_keys_that_are_simulated_are_read(void **state)
{
    (void)state;
    exp_fleet_t fleet =
        fleet_of("sites:\n- name: oregon\n  region: US-NW\n  price_region: US-P\n  forecast_region: US-F\n  lat: 45.6\n"
                 "  lon: -121.2\n  timezone: America/Los_Angeles\n  pue: 1.15\n  pools:\n"
                 "  - {name: h100, gpu: H100, memory: 80GB, nodes: 16, max_nodes: 16, gpus_per_node: 8, owned: true,\n"
                 "     power: {idle_w: 60, base_w: 86, slope_w: 243, host_w: 101}}\n"
                 "  - {name: cloud, gpu: A100, nodes: 2, gpus_per_node: 4, owned: false, price_usd_per_gpu_h: 2.74}\n"
                 "  agent: {anything: 1}\n");
    const exp_fleet_site_t *site = &fleet.items[0];
    const helio_site_profile_t *profile = &site->profile;
    const helio_pool_t *h100 = &profile->pools.items[0], *cloud = &profile->pools.items[1];
    assert_true(helio_text_is(profile->name, "oregon") && helio_text_is(profile->region, "US-NW"));
    assert_true(helio_text_is(site->price_region, "US-P") && helio_text_is(site->forecast_region, "US-F"));
    assert_true(profile->latitude == 45.6 && profile->longitude == -121.2 && profile->pue == 1.15);
    assert_true(helio_text_is(profile->timezone, "America/Los_Angeles"));
    assert_true(helio_text_is(h100->name, "h100") && helio_text_is(h100->gpu, "H100") && h100->owned);
    assert_true(h100->gpu_memory_bytes > UINT64_C(70000000000) && h100->nodes == 16 && h100->gpus_per_node == 8);
    assert_true(h100->idle_w == 60 && h100->base_w == 86 && h100->slope_w == 243 && h100->host_w == 101);
    assert_true(!cloud->owned && cloud->price_usd_per_gpu_h == 2.74 && cloud->nodes == 2 && cloud->gpus_per_node == 4);
}

/*  max_nodes alone is enough; with a rule, the rule's max counts. */
static void fleet__elastic_and_spot_pools_are_read(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(
        "sites:\n- name: cloud\n  pools:\n"
        "  - {name: plain, gpu: A100, nodes: 2, gpus_per_node: 8}\n"
        "  - {name: more, gpu: A100, nodes: 1, max_nodes: 5, gpus_per_node: 8, provision: 5m}\n"
        "  - {name: spot, gpu: A100, nodes: 0, gpus_per_node: 8, owned: false, spot: true, spot_usd_per_gpu_h: 1.1,\n"
        "     interruptions_per_h: 0.02}\n"
        "  scale: [{pool: spot, max: 3, min: 1, down_for: 20m}]\n");
    const exp_fleet_site_t *site = &fleet.items[0];
    const helio_pool_t *pools = site->profile.pools.items;
    assert_true(!pools[0].elastic && pools[1].elastic && pools[2].elastic && pools[2].spot);
    assert_true(pools[1].max_nodes == 5 && pools[2].max_nodes == 3 && pools[2].interruptions_per_h == 0.02);
    assert_null(exp_scales_rule(site, 0));
    assert_true(exp_scales_rule(site, 1)->max == 4 && exp_scales_rule(site, 1)->down_for_ms == 600000);
    assert_true(exp_scales_rule(site, 2)->min == 1 && exp_scales_rule(site, 2)->down_for_ms == 1200000);
    assert_true(exp_fleet_has_instances(&fleet) && exp_fleet_gpus(&fleet) == (2 + 5 + 3) * 8);
    assert_int_equal(exp_fleet_scale(&fleet, 2), HELIO_OK);
    assert_true(pools[0].nodes == 4 && pools[1].nodes == 2 && pools[1].max_nodes == 10);
    assert_true(pools[2].nodes == 0 && pools[2].max_nodes == 6);
}

#define ONE_SITE "sites:\n- {name: a, pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]}\n"

static void fleet__links_tenants_and_outages_are_read(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(
        "sites:\n- name: a\n  outages: [{from: 2023-10-03T10:00:00Z, to: 2023-10-03T14:00:00Z}]\n"
        "  pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]\n"
        "links: [{from: a, to: '*', gbps: 5, egress_usd_per_gb: 0.02, rtt_ms: 90}, {from: '*', to: a, gbps: 1}]\n"
        "tenants:\n- {name: vision, weight: 2.5, guaranteed_gpus: 16, burst_gpus: 64,\n"
        "   queues: [{queue: express, guaranteed_gpus: 1, burst_gpus: 2}, {queue: batch}]}\n- {name: speech}\n");
    assert_int_equal(fleet.items[0].outages.count, 1);
    assert_true(fleet.items[0].outages.items[0].from_ms == 1696327200000 &&
                fleet.items[0].outages.items[0].to_ms == 1696341600000);
    assert_true(exp_fleet_has_outages(&fleet));
    assert_int_equal(fleet.links.count, 2);
    const exp_link_t *link = &fleet.links.items[0], *back = &fleet.links.items[1];
    assert_true(helio_text_is(link->from, "a") && helio_text_is(link->to, "*") && link->gbps == 5);
    assert_true(link->egress_usd_per_gb == 0.02 && link->rtt_known && link->rtt_ms == 90);
    assert_true(!back->rtt_known && back->egress_usd_per_gb == 0);
    assert_int_equal(fleet.tenants.count, 2);
    const exp_tenant_t *vision = &fleet.tenants.items[0], *speech = &fleet.tenants.items[1];
    assert_true(helio_text_is(vision->name, "vision") && vision->weight == 2.5 && vision->limited);
    assert_true(vision->guaranteed_gpus == 16 && vision->burst_gpus == 64 && vision->queues.count == 2);
    assert_true(vision->queues.items[0].guaranteed_gpus == 1 && vision->queues.items[0].burst_gpus == 2 &&
                vision->queues.items[0].limited && !vision->queues.items[1].limited);
    assert_true(speech->weight == 1 && !speech->limited && !speech->guaranteed_gpus && !speech->queues.count);
    exp_fleet_t plain = fleet_of(three_sites);
    assert_true(!exp_fleet_has_outages(&plain) && !plain.links.count && !plain.tenants.count);
}

/*  A copy can be scaled, and the fleet stays as it is. */
static void copy__has_its_own_nodes(void **state)
{
    (void)state;
    exp_fleet_t fleet = fleet_of(three_sites), copy = exp_fleet_copy(&fleet, arena);
    assert_int_equal(exp_fleet_scale(&copy, 2), HELIO_OK);
    assert_true(exp_fleet_gpus(&fleet) == 64 && exp_fleet_gpus(&copy) == 128);
}

static void errors__name_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *text, *first;
    } rows[] = {
        {"{}", "fleet.yaml:1:1: error: "},
        {"sites: []", "fleet.yaml:1:8: error: sites: the fleet has no GPU"},
        {"sites:\n- {name: a, pools: []}\n", "fleet.yaml:2:1: error: sites: the fleet has no GPU"},
        {"sites:\n- {name: a, nodse: 1}\n", "fleet.yaml:2:13: error: unknown key 'nodse'"},
        {"sites:\n- {name: a, pue: 0.5}\n", "fleet.yaml:2:18: error: "},
        {"sites:\n- {name: a, pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]}\n"
         "- {name: a, pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]}\n",
         "fleet.yaml:3:10: error: two sites are named 'a'"},
        {"sites:\n- name: a\n  pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]\n  scale: [{pool: q, max: 2}]\n",
         "fleet.yaml:4:18: error: site 'a' has no pool 'q' with GPUs"},
        {"sites:\n- name: a\n  pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]\n"
         "  scale: [{pool: p, max: 2}, {pool: p, max: 2}]\n",
         "fleet.yaml:4:37: error: two entries are of the pool 'p'"},
        {"sites:\n- name: a\n  pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]\n"
         "  scale: [{pool: p, max: 2, min: 3}]\n",
         "fleet.yaml:4:34: error: min 3 is more than max 2"},
        {"sites:\n- name: a\n  pools: [{name: p, gpu: T4, nodes: 1, max_nodes: 9999, gpus_per_node: 1}]\n",
         "fleet.yaml:2:3: error: site 'a', pool 'p': max_nodes is more than 4096 above nodes"},
        {"sites:\n- name: a\n  pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]\n  agent: {scale: [{pool: p, max: 2}]}\n",
         "fleet.yaml:4:18: error: the settings of the agent are not read here"},
        {"sites:\n- name: a\n  pools: [{name: p, gpu: T4, nodes: 1, max_nodes: 2, gpus_per_node: 1}]\n"
         "  windows: [{pool: p, reserve_gpus: 1}]\n",
         "fleet.yaml:4:20: error: windows of elastic and spot pools are not simulated"},
        {"sites:\n- {name: a, windows: [{pool: p, reserve_gpus: 1}]}\n",
         "fleet.yaml:2:30: error: site 'a' has no pool 'p' with GPUs"},
        {"sites:\n- {name: a, pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}], windows: [{pool: p}]}\n",
         "fleet.yaml:2:80: error: "},
        {"sites:\n- name: a\n  pools: [{name: p, gpu: T4, nodes: 1, gpus_per_node: 1}]\n"
         "  windows: [{pool: p, reserve_gpus: 1, when: dawn}]\n",
         "fleet.yaml:4:46: error: at character 1: "},
        {ONE_SITE "links:\n- {from: a, to: b, gbps: 1}\n", "fleet.yaml:4:17: error: the fleet has no site 'b'"},
        {ONE_SITE "links:\n- {from: b, to: a, gbps: 1}\n", "fleet.yaml:4:10: error: the fleet has no site 'b'"},
        {ONE_SITE "links:\n- {from: a, to: a}\n", "fleet.yaml:4:3: error: "},
        {ONE_SITE "links:\n- {from: a, to: a, gbps: 0}\n", "fleet.yaml:4:26: error: "},
        {ONE_SITE "links:\n- {from: a, to: '*', gbps: 1}\n- {from: a, to: '*', gbps: 2}\n",
         "fleet.yaml:5:3: error: a second link from 'a' to '*'"},
        {ONE_SITE "tenants: [{name: x}, {name: x}]\n", "fleet.yaml:3:29: error: two tenants are named 'x'"},
        {ONE_SITE "tenants: [{name: x, guaranteed_gpus: 9, burst_gpus: 8}]\n",
         "fleet.yaml:3:38: error: more than burst_gpus"},
        {ONE_SITE "tenants: [{name: x, queues: [{queue: epxress}]}]\n",
         "fleet.yaml:3:38: error: there is no queue 'epxress': express, reserved, "},
        {ONE_SITE "tenants: [{name: x, queues: [{queue: batch, guaranteed_gpus: 2, burst_gpus: 1}]}]\n",
         "fleet.yaml:3:62: error: more than burst_gpus"},
        {ONE_SITE "tenants: [{name: x, weight: 0}]\n", "fleet.yaml:3:29: error: "},
        {ONE_SITE "tenants: [{name: '*', weight: 2}]\n", "fleet.yaml:3:18: error: '*' is each team in single queues"},
        {"sites:\n- {name: a, outages: [{from: 2023-10-03T10:00:00Z, to: 2023-10-03T10:00:00Z}]}\n",
         "fleet.yaml:2:56: error: an outage ends after it has begun"},
        {"sites:\n- {name: a, outages: [{from: 2023-10-03T10:00:00Z}]}\n", "fleet.yaml:2:23: error: "},
        {"sites:\n- name: a\n  outages:\n  - {from: 2023-10-03T10:00:00Z, to: 2023-10-03T12:00:00Z}\n"
         "  - {from: 2023-10-03T11:00:00Z, to: 2023-10-03T13:00:00Z}\n",
         "fleet.yaml:5:12: error: the outage begins before the one above it has ended"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        exp_fleet_t fleet;
        helio_diagnostics_t wrong;
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_spec_source_t source = {helio_text_of(rows[i].text), "fleet.yaml", 1};
        assert_int_equal(exp_fleet_parse(source, arena, &fleet, &wrong), HELIO_INVALID);
        helio_diagnostic_brief(&wrong.items[0], &text);
        helio_buffer_append(&text, "", 1);
        if (strncmp(text.data, rows[i].first, strlen(rows[i].first)) != 0)
            fail_msg("row %zu: %s", i, text.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(fleet__is_a_list_of_site_files),
        CASE(fleet__a_pool_without_power_gets_that_of_its_model),
        CASE(scale__is_by_nodes_and_leaves_none_without),
        CASE(fleet__all_keys_that_are_simulated_are_read),
        CASE(fleet__elastic_and_spot_pools_are_read),
        CASE(fleet__links_tenants_and_outages_are_read),
        CASE(copy__has_its_own_nodes),
        CASE(errors__name_line_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
