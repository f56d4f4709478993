/*  test_withheld.c -- why a site that is ready offers nothing of a pool: what its summary says. */
#include "tests/unit/site-agent/core/orders_testing.h"

#include "federation/reason/detail.h"

enum { GPUS = 8, NODES = 2 };

/*  A site whose scheduler allocates, with one pool of two nodes of eight GPUs. */
static int begin_cluster(void **state)
{
    (void)state;
    site_begin_with(&site, (helio_agent_options_t){.attempts_max = 10, .kill_margin_ms = 60000});
    open_session(&site);
    return 0;
}

static int begin_one_node(void **state)
{
    (void)begin(state);
    site.pools[0].nodes = 1;
    site.profile.pools.count = 1;
    restart(&site);
    open_session(&site);
    return 0;
}

/*  Of the first pool in a full summary. */
static uint32_t withheld(void)
{
    step(&site, HELIO_AGENT_EV_RESYNC, NULL);
    const helio_site_summary_t *summary = last_of(&site, HELIO_AGENT_FX_SEND_SUMMARY);
    assert_true(summary && summary->pools.count > 0);
    assert_true(helio_text_is(summary->pools.items[0].pool, "gpu"));
    return summary->pools.items[0].withheld;
}

/*  free_of_last: GPUs that are free on one node; the other has none free. */
static void report_capacity(uint32_t nodes_up, uint32_t allocated, uint32_t reserved, uint32_t free_of_last)
{
    uint32_t free_nodes[GPUS + 1] = {0};
    if (nodes_up)
        free_nodes[0] = nodes_up - 1;
    if (nodes_up)
        free_nodes[free_of_last]++;
    helio_pool_capacity_t pool = {.pool = HELIO_TEXT("gpu"),
                                  .nodes_up = nodes_up,
                                  .gpus_total = nodes_up * GPUS,
                                  .gpus_allocated = allocated,
                                  .gpus_reserved = reserved,
                                  .free_nodes = {free_nodes, GPUS + 1},
                                  .cpus_free = free_of_last ? 8 : 0};
    helio_aev_capacity_t capacity = {.pools = {&pool, 1}};
    step(&site, HELIO_AGENT_EV_CAPACITY, &capacity);
}

static uint64_t summaries(void)
{
    const helio_site_summary_t *summary = last_of(&site, HELIO_AGENT_FX_SEND_SUMMARY);
    return summary ? summary->seq : 0;
}

/*  GPUs that become free are offered before the next summary is due, and no more than five times as often. */
static void summary__of_more_free_gpus_comes_at_once(void **state)
{
    (void)state;
    report_capacity(NODES, 16, 0, 0);
    later(&site, 1000);
    const uint64_t first = summaries();
    later(&site, 100);
    report_capacity(NODES, 12, 0, 4);
    assert_int_equal(summaries(), first);
    later(&site, 100);
    assert_int_equal(summaries(), first + 1);
    report_capacity(NODES, 8, 0, 8);
    later(&site, 199);
    assert_int_equal(summaries(), first + 1);
    later(&site, 1);
    assert_int_equal(summaries(), first + 2);
    report_capacity(NODES, 15, 0, 1); /* less waits for its turn */
    later(&site, 999);
    assert_int_equal(summaries(), first + 2);
    later(&site, 1);
    assert_int_equal(summaries(), first + 3);
}

static void withheld__is_nothing_while_something_is_offered_or_the_federation_uses_it(void **state)
{
    (void)state;
    report_capacity(NODES, 0, 0, GPUS);
    assert_int_equal(withheld(), HELIO_DETAIL_NONE);
    report_capacity(NODES, 15, 0, 1); /* others have the rest */
    assert_int_equal(withheld(), HELIO_DETAIL_NONE);
    give_one(1, 1, NODES, GPUS);
    commit(&site);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    report_capacity(NODES, NODES * GPUS, 0, 0);
    assert_int_equal(withheld(), HELIO_DETAIL_NONE);
}

static void withheld__by_the_cluster_names_what_it_is(void **state)
{
    (void)state;
    report_capacity(0, 0, 0, 0);
    assert_int_equal(withheld(), HELIO_DETAIL_WITHHELD_NODES);
    report_capacity(NODES, 0, NODES * GPUS, 0);
    assert_int_equal(withheld(), HELIO_DETAIL_WITHHELD_RESERVED);
    report_capacity(NODES, NODES * GPUS, 0, 0);
    assert_int_equal(withheld(), HELIO_DETAIL_WITHHELD_OTHERS);
    give_one(1, 1, 1, GPUS); /* and with one of ours among them */
    commit(&site);
    backend_says(&site, 1, 1, HELIO_BACKEND_REPORT_STARTED);
    report_capacity(NODES, NODES * GPUS, 0, 0);
    assert_int_equal(withheld(), HELIO_DETAIL_WITHHELD_OTHERS);
    report_capacity(NODES, GPUS, 0, GPUS);
    assert_int_equal(withheld(), HELIO_DETAIL_NONE);
}

/*  It is part of the figures of a pool, so a change of it alone is told. */
static void withheld__is_told_when_it_alone_changes(void **state)
{
    (void)state;
    helio_pool_capacity_t pool = {.pool = HELIO_TEXT("gpu")};
    helio_aev_capacity_t capacity = {.pools = {&pool, 1}};
    step(&site, HELIO_AGENT_EV_CAPACITY, &capacity);
    assert_int_equal(withheld(), HELIO_DETAIL_WITHHELD_NODES);
    pool.withheld = HELIO_DETAIL_WITHHELD_SCHEDULER; /* the backend knows better than the figures show */
    step(&site, HELIO_AGENT_EV_CAPACITY, &capacity);
    later(&site, 1000);
    const helio_site_summary_t *summary = last_of(&site, HELIO_AGENT_FX_SEND_SUMMARY);
    assert_true(summary->base_seq && summary->pools.count == 1);
    assert_int_equal(summary->pools.items[0].withheld, HELIO_DETAIL_WITHHELD_SCHEDULER);
}

static void withheld__until_all_is_known_that_runs_there(void **state)
{
    (void)state;
    for (int allocates = 0; allocates < 2; allocates++) {
        if (allocates) {
            (void)end(NULL);
            (void)begin(NULL);
        }
        reload_as(&site, false);
        open_session(&site);
        assert_int_equal(withheld(), HELIO_DETAIL_WITHHELD_SURVEY);
        step(&site, HELIO_AGENT_EV_SURVEYED, NULL);
        if (!allocates)
            report_capacity(NODES, 0, 0, GPUS);
        assert_int_equal(withheld(), HELIO_DETAIL_NONE);
    }
}

static void withheld__while_a_run_of_unknown_size_is_there(void **state)
{
    (void)state;
    open_session(&site);
    backend_says(&site, 1, 5, HELIO_BACKEND_REPORT_STARTED);
    assert_int_equal(withheld(), HELIO_DETAIL_WITHHELD_UNKNOWN_RUN);
    backend_says(&site, 1, 5, HELIO_BACKEND_REPORT_VANISHED);
    assert_int_equal(withheld(), HELIO_DETAIL_NONE);
}

static void withheld__while_others_use_all_gpus_of_the_machine(void **state)
{
    (void)state;
    uint32_t indexes[GPUS] = {0, 1, 2, 3, 4, 5, 6, 7};
    helio_aev_gpus_t busy = {.busy = {indexes, GPUS - 1}};
    step(&site, HELIO_AGENT_EV_GPUS, &busy);
    assert_int_equal(withheld(), HELIO_DETAIL_NONE); /* one is left */
    give_one(1, 1, 1, 1);
    assert_int_equal(withheld(), HELIO_DETAIL_WITHHELD_OTHERS);
    busy.gone = GPUS - 1; /* they do not answer */
    step(&site, HELIO_AGENT_EV_GPUS, &busy);
    assert_int_equal(withheld(), HELIO_DETAIL_WITHHELD_GONE);
    busy.gone = 0;
    busy.busy.count = 0;
    step(&site, HELIO_AGENT_EV_GPUS, &busy);
    assert_int_equal(withheld(), HELIO_DETAIL_NONE);
    give_one(2, 1, 1, GPUS - 1);
    assert_int_equal(withheld(), HELIO_DETAIL_NONE); /* all are in use by the federation */
}

/*  It is said at once, whoever allocates, and whatever starts now would be forgotten. */
static void withheld__when_the_agent_loses_its_state_and_must_end(void **state)
{
    for (int cluster = 0; cluster < 2; cluster++) {
        if (cluster) {
            (void)end(state);
            (void)begin_cluster(state);
            report_capacity(NODES, 0, 0, GPUS);
        } else {
            open_session(&site);
            assert_int_equal(withheld(), HELIO_DETAIL_NONE);
        }
        step(&site, HELIO_AGENT_EV_STATE_GONE, NULL);
        const helio_site_summary_t *summary = last_of(&site, HELIO_AGENT_FX_SEND_SUMMARY);
        assert_true(summary && summary->pools.count > 0);
        for (uint32_t i = 0; i < summary->pools.count; i++) {
            const helio_pool_capacity_t *pool = &summary->pools.items[i];
            assert_int_equal(pool->withheld, HELIO_DETAIL_WITHHELD_STATE_GONE);
            for (uint32_t k = 1; k < pool->free_nodes.count; k++)
                assert_int_equal(pool->free_nodes.items[k], 0);
        }
        give_one(1, 1, 1, 1);
        assert_refused(HELIO_CAUSE_NOT_READY, "the site's state folder is gone");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(summary__of_more_free_gpus_comes_at_once, begin_cluster, end),
        cmocka_unit_test_setup_teardown(withheld__is_nothing_while_something_is_offered_or_the_federation_uses_it,
                                        begin_cluster, end),
        cmocka_unit_test_setup_teardown(withheld__by_the_cluster_names_what_it_is, begin_cluster, end),
        cmocka_unit_test_setup_teardown(withheld__is_told_when_it_alone_changes, begin_cluster, end),
        cmocka_unit_test_setup_teardown(withheld__until_all_is_known_that_runs_there, begin_cluster, end),
        cmocka_unit_test_setup_teardown(withheld__while_a_run_of_unknown_size_is_there, begin, end),
        cmocka_unit_test_setup_teardown(withheld__while_others_use_all_gpus_of_the_machine, begin_one_node, end),
        cmocka_unit_test_setup_teardown(withheld__when_the_agent_loses_its_state_and_must_end, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
