/*  test_rebuild.c -- a new leader knows only what the old one stored, and must see and do the same. */
#include <string.h>

#include "federation/base/rng.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2 };

static harness_t *h;
static helio_site_profile_t *north, *south;

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    harness_pool(h, north, "b", "A100", 4, 4, 1.0);
    harness_pool(h, south, "a", "H100", 4, 8, 3.0);
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

/*  Sites come back to the new leader with exactly what it believes them to hold. */
static void come_back(harness_t *to, uint64_t peer, const helio_site_profile_t *site, helio_job_key_t *keys,
                      uint32_t count)
{
    helio_holding_t holdings[64];
    uint32_t held = 0;
    for (uint32_t i = 0; i < count; i++) {
        const helio_row_state_t *row = harness_row(to, keys[i]);
        if (row && helio_job_state_is_live(row->state) && helio_text_equal(row->site, site->name))
            holdings[held++] = (helio_holding_t){keys[i], row->epoch, row->state, 0};
    }
    harness_hello(to, peer, site);
    harness_inventory(to, peer, holdings, held);
}

static void assert_same_figures(const harness_t *a, const harness_t *b)
{
    helio_broker_figures_t x = harness_figures(a), y = harness_figures(b);
    for (uint32_t s = 0; s < HELIO_JOB_STATE_COUNT; s++)
        if (!helio_job_state_is_terminal(s))
            assert_int_equal(x.jobs[s], y.jobs[s]);
    assert_int_equal(x.classes, y.classes);
    assert_int_equal(x.sites, y.sites);
}

/* ---- the mark ------------------------------------------------------------------------------------------ */

static void assert_ascend(helio_uuid_t a, helio_uuid_t b)
{
    assert_true(helio_uuid_compare(a, b) < 0);
}

static void end_job(harness_t *self, helio_job_key_t key)
{
    assert_int_equal(harness_command(self, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    assert_false(harness_is_open(self, key));
}

static void mark__is_the_oldest_open_job_in_any_order_of_ends(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.tasks = (helio_u32s_t){(uint32_t[]){0, 1}, 2};
    helio_job_key_t array = harness_job(h, &spec);
    spec.tasks.count = 0;
    helio_job_key_t second = harness_job(h, &spec), third = harness_job(h, &spec);
    assert_true(helio_uuid_equal(harness_mark(h), array.job));
    end_job(h, second);
    end_job(h, harness_task(array, 0));
    assert_true(helio_uuid_equal(harness_mark(h), array.job)); /* a task of it is open */
    end_job(h, harness_task(array, 1));
    assert_true(helio_uuid_equal(harness_mark(h), third.job));
    end_job(h, third);
    helio_uuid_t none = harness_mark(h); /* of those to come */
    assert_true(helio_uuid_compare(none, third.job) >= 0);
    assert_ascend(none, harness_job(h, &spec).job);
}

static void mark__no_later_id_falls_below_it_when_the_clock_is_set_back(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_uuid_t first = harness_job(h, &spec).job;
    harness_set_wall(h, -3600000);
    helio_uuid_t second = harness_job(h, &spec).job, third = harness_job(h, &spec).job;
    assert_ascend(first, second);
    assert_ascend(second, third);
    harness_set_wall(h, 2 * 3600000); /* and time is followed again once it is later */
    helio_uuid_t fourth = harness_job(h, &spec).job;
    assert_ascend(third, fourth);
    assert_true(memcmp(third.bytes, fourth.bytes, 6) != 0);
}

static void mark__no_id_of_the_next_leader_falls_below_it_though_its_clock_is_behind(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t old = harness_job(h, &spec), over = harness_job(h, &spec);
    end_job(h, over); /* the largest id is of a job that the next one does not load */
    harness_set_wall(h, -60000);
    harness_t *next = harness_rebuild(h);
    assert_true(helio_uuid_equal(harness_mark(next), old.job));
    assert_ascend(over.job, harness_job(next, &spec).job);
    end_job(next, old);
    assert_ascend(over.job, harness_mark(next));
    harness_end(&next);
}

static void mark__a_millisecond_whose_ids_are_used_up_gives_way_to_the_next(void **state)
{
    (void)state;
    uint8_t last[10];
    memset(last, 0xff, sizeof last);
    helio_uuid_t used_up = helio_uuid_v7(harness_wall_ms(h), last);
    harness_newest(h, used_up);
    harness_t *next = harness_rebuild(h);
    helio_job_spec_t spec = harness_spec(next, "H100", 1);
    helio_uuid_t first = harness_job(next, &spec).job;
    assert_ascend(used_up, first);
    assert_ascend(first, harness_job(next, &spec).job);
    harness_end(&next);
}

static void rebuild__an_empty_federation_is_empty(void **state)
{
    (void)state;
    harness_t *next = harness_rebuild(h);
    assert_same_figures(h, next);
    assert_int_equal(harness_figures(next).sites_ready, 0); /* until they say HELLO to it */
    harness_end(&next);
}

static void rebuild__a_job_in_every_state_has_the_same_figures(void **state)
{
    (void)state;
    helio_job_key_t keys[12];
    uint32_t n = 0;
    helio_job_spec_t spec = harness_spec(h, "H100", 1), array = spec, never = spec;
    for (uint32_t s = HELIO_JOB_OFFERED; s <= HELIO_JOB_SUSPENDED; s++) {
        keys[n] = harness_job(h, &spec);
        harness_tick(h);
        if (s != HELIO_JOB_OFFERED)
            harness_run_up_to(h, NORTH, keys[n], 1, s);
        n++;
    }
    keys[n] = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, keys[n], 1, HELIO_JOB_RUNNING);
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, keys[n++]); /* stopping */
    keys[n] = harness_job(h, &spec);
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        harness_tick(h);
        helio_report_t report = harness_report_of(h, keys[n], epoch, HELIO_REPORT_KIND_LOST);
        report.run_ms = 0;
        report.started_wall_ms = 0; /* it never started */
        harness_report(h, epoch == 1 ? NORTH : SOUTH, &report);
    }
    assert_int_equal(harness_state(h, keys[n++]), HELIO_JOB_HELD);
    uint32_t tasks[] = {0, 1, 2, 3};
    array.tasks = (helio_u32s_t){tasks, 4};
    array.tasks_at_once = 2;
    helio_job_key_t sweep = harness_job(h, &array);
    harness_tick(h);
    harness_run_up_to(h, NORTH, harness_task(sweep, 0), 1, HELIO_JOB_RUNNING);
    harness_say(h, NORTH, harness_task(sweep, 0), 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    never.max_cost_micro_usd = 1;
    keys[n++] = harness_job(h, &never);
    harness_t *next = harness_rebuild(h);
    assert_same_figures(h, next);
    assert_false(harness_is_open(next, harness_task(sweep, 0)));
    for (uint32_t i = 0; i < n; i++)
        assert_true(harness_is_open(next, keys[i]));
    harness_end(&next);
}

static void rebuild__an_offer_that_never_arrived_is_sent_again_unchanged(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "B200", 2);
    harness_or(h, &spec, "A100", 4);
    spec.nodes = 2;
    spec.cpus = 3;
    spec.on_site_loss = HELIO_SITE_LOSS_LEASE;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    helio_fx_order_t first = *(const helio_fx_order_t *)harness_take(h, HELIO_BROKER_FX_ORDER);
    assert_int_equal(first.order.gpus_per_node, 4);
    harness_t *next = harness_rebuild(h);
    harness_hello(next, 20, north);
    harness_inventory(next, 20, NULL, 0);
    const helio_fx_order_t *again = harness_take(next, HELIO_BROKER_FX_ORDER);
    assert_non_null(again);
    first.peer = again->peer;
    first.order.dispatch_seq = again->order.dispatch_seq;
    assert_true(helio_record_equal(&helio_fx_order_type, &first, again));
    assert_int_equal(harness_state(next, key), HELIO_JOB_OFFERED);
    harness_end(&next);
}

static void rebuild__used_capacity_is_not_given_away_again(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "A100", 4);
    helio_job_key_t keys[5];
    for (int i = 0; i < 5; i++)
        keys[i] = harness_job(h, &spec);
    harness_tick(h); /* four nodes: the fifth waits */
    harness_t *next = harness_rebuild(h);
    come_back(next, 20, north, NULL, 0); /* none of the offers arrived: all are sent again */
    assert_int_equal(harness_count(next, HELIO_BROKER_FX_ORDER), 4);
    harness_summary(next, 20, north, 0, 0); /* and these figures know nothing of them */
    harness_wait(next, 5000);
    assert_int_equal(harness_state(next, keys[4]), HELIO_JOB_QUEUED);
    harness_end(&next);
}

static void rebuild__keys_of_open_and_finished_jobs_are_known(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t open = harness_submission(h, &spec, "open", "open");
    helio_submission_t over = harness_submission(h, &spec, "over", "over");
    helio_uuid_t open_id = harness_submit_all(h, "acme", &open, 1)->jobs.items[0].job;
    helio_job_key_t over_key = {harness_submit_all(h, "acme", &over, 1)->jobs.items[0].job, HELIO_NO_TASK};
    harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, over_key);
    harness_t *next = harness_rebuild(h);
    const helio_fx_reply_t *reply = harness_submit_all(next, "acme", &open, 1);
    assert_true(reply->jobs.items[0].existed && helio_uuid_equal(reply->jobs.items[0].job, open_id));
    reply = harness_submit_all(next, "acme", &over, 1);
    assert_true(reply->jobs.items[0].existed && helio_uuid_equal(reply->jobs.items[0].job, over_key.job));
    assert_int_equal(harness_count(next, HELIO_BROKER_FX_ROW_JOB), 0);
    harness_end(&next);
}

/*  People name jobs by the last characters of their ids. */
static void rebuild__a_new_leader_gives_ids_with_other_tails(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t first = harness_job(h, &spec);
    harness_t *next = harness_rebuild(h);
    helio_job_key_t second = harness_job(next, &spec);
    harness_t *third = harness_rebuild(next);
    helio_job_key_t last = harness_job(third, &spec);
    assert_memory_not_equal(first.job.bytes + 9, second.job.bytes + 9, 7);
    assert_memory_not_equal(second.job.bytes + 9, last.job.bytes + 9, 7);
    assert_memory_not_equal(first.job.bytes + 9, last.job.bytes + 9, 7);
    harness_end(&third);
    harness_end(&next);
}

static void rebuild__a_new_leader_gives_every_site_its_full_grace_and_lease(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.on_site_loss = HELIO_SITE_LOSS_LEASE;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_advance(h, 3600000); /* an hour without a leader */
    harness_t *next = harness_rebuild(h);
    harness_wait(next, 59000);
    assert_int_equal(harness_state(next, key), HELIO_JOB_RUNNING);
    harness_wait(next, 2000);
    assert_int_equal(harness_state(next, key), HELIO_JOB_SUSPECT);
    harness_wait(next, 860000);
    assert_int_equal(harness_state(next, key), HELIO_JOB_SUSPECT);
    harness_wait(next, 20000);
    assert_int_equal(harness_state(next, key), HELIO_JOB_QUEUED);
    harness_end(&next);
}

/*  The first leader grants for a quarter of an hour, those after it for a minute. */
static void rebuild__a_long_lease_of_any_former_leader_is_waited_for(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.on_site_loss = HELIO_SITE_LOSS_LEASE;
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_renew(h, NORTH);
    helio_broker_options_t options = helio_broker_options_default();
    options.lease_ms = 60000;
    harness_t *second = harness_rebuild_with(h, &options);
    come_back(second, 20, north, &key, 1);
    harness_renew(second, 20); /* a shorter one shortens nothing: the site keeps what ends last */
    harness_wait(second, 500000);
    assert_int_equal(harness_state(second, key), HELIO_JOB_SUSPECT);
    harness_t *third = harness_rebuild_with(second, &options);
    harness_wait(third, 400000); /* 900 s since it was granted; the margins are still to come */
    assert_int_equal(harness_state(third, key), HELIO_JOB_SUSPECT);
    harness_wait(third, 30000);
    assert_int_equal(harness_state(third, key), HELIO_JOB_QUEUED);
    harness_end(&second);
    harness_end(&third);
}

static void rebuild__an_attempt_that_ended_without_a_leader_still_ends_the_job(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t key = harness_job(h, &spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    harness_t *next = harness_rebuild(h);
    come_back(next, 20, north, &key, 1);
    harness_say(next, 20, key, 1, HELIO_REPORT_KIND_ENDED);
    assert_int_equal(harness_state(next, key), HELIO_JOB_SUCCEEDED);
    assert_int_equal(harness_row(next, key)->gpu_ms, 60000);
    harness_end(&next);
}

static void rebuild__a_drain_survives_a_new_leader(void **state)
{
    (void)state;
    harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_ADMIN, "north");
    helio_job_spec_t spec = harness_spec(h, "A100", 1);
    helio_job_key_t key = harness_job(h, &spec);
    harness_t *next = harness_rebuild(h);
    harness_join(next, 20, north);
    harness_tick(next);
    assert_int_equal(harness_state(next, key), HELIO_JOB_QUEUED);
    harness_end(&next);
}

/* ---- a run, then the same question to both ------------------------------------------------------------- */

enum { JOBS = 40 };

static void wander(helio_rng_t *rng, helio_job_key_t *keys, uint32_t *count)
{
    static const char *const queues[] = {"express", "standard", "batch"};
    uint32_t draw = (uint32_t)helio_rng_below(rng, 10);
    if (draw < 4 && *count < JOBS) {
        helio_job_spec_t spec =
            harness_spec(h, helio_rng_below(rng, 2) ? "H100" : "A100", 1 + (uint32_t)helio_rng_below(rng, 4));
        spec.queue = helio_text_of(queues[helio_rng_below(rng, 3)]);
        spec.retries = 3;
        keys[(*count)++] = harness_job(h, &spec);
    } else if (*count) {
        helio_job_key_t key = keys[helio_rng_below(rng, *count)];
        const helio_row_state_t *row = harness_row(h, key);
        if (!row || !harness_is_open(h, key))
            return;
        uint64_t peer = helio_text_is(row->site, "north") ? NORTH : SOUTH;
        harness_advance(h, 60000); /* no end is a quick one: only the leader that saw it doubts the pool */
        harness_renew(h, NORTH);
        harness_renew(h, SOUTH);
        if (draw < 8 && row->site.size)
            harness_say(h, peer, key, row->epoch, (uint32_t)helio_rng_below(rng, HELIO_REPORT_KIND_COUNT));
        else if (draw == 8)
            harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
        else
            harness_command(h, HELIO_BROKER_EV_RELEASE, "acme", HELIO_ROLE_OPERATOR, key);
    }
}

/*  Both leaders are told the same by sites that come back empty-handed save for what is believed of them; the
 * placements that follow must be the same, job by job, site by site. */
static void assert_same_future(harness_t *a, harness_t *b, helio_job_key_t *keys, uint32_t count)
{
    harness_t *both[] = {a, b};
    for (int i = 0; i < 2; i++) {
        come_back(both[i], 31, north, keys, count);
        come_back(both[i], 32, south, keys, count);
        harness_clear(both[i]);
        harness_summary(both[i], 31, north, UINT64_MAX, 2);
        harness_summary(both[i], 32, south, UINT64_MAX, 2);
        harness_tick(both[i]);
    }
    const helio_row_placement_t *x, *y;
    do {
        x = harness_take(a, HELIO_BROKER_FX_ROW_PLACEMENT);
        y = harness_take(b, HELIO_BROKER_FX_ROW_PLACEMENT);
        assert_true(!x == !y);
        if (x) {
            assert_true(helio_job_key_equal(x->key, y->key));
            assert_int_equal(x->epoch, y->epoch);
            assert_true(helio_text_equal(x->site, y->site) && helio_text_equal(x->pool, y->pool));
            assert_int_equal(x->gpus, y->gpus);
        }
    } while (x);
    assert_same_figures(a, b);
}

static void rebuild__after_any_run_gives_the_same_figures_and_the_same_next_placements(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        end(NULL);
        begin(NULL);
        helio_rng_t rng = {seed};
        helio_job_key_t keys[JOBS];
        uint32_t count = 0;
        for (int i = 0; i < 150; i++) {
            wander(&rng, keys, &count);
            harness_advance(h, 10);
            if (helio_rng_below(&rng, 4) == 0)
                harness_tick(h);
        }
        harness_advance(h, 1000);
        harness_gone(h, NORTH); /* so that neither has anything in flight */
        harness_gone(h, SOUTH);
        harness_t *next = harness_rebuild(h);
        assert_same_figures(h, next);
        assert_same_future(h, next, keys, count);
        harness_end(&next);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(mark__is_the_oldest_open_job_in_any_order_of_ends),
        CASE(mark__no_later_id_falls_below_it_when_the_clock_is_set_back),
        CASE(mark__no_id_of_the_next_leader_falls_below_it_though_its_clock_is_behind),
        CASE(mark__a_millisecond_whose_ids_are_used_up_gives_way_to_the_next),
        CASE(rebuild__an_empty_federation_is_empty),
        CASE(rebuild__a_job_in_every_state_has_the_same_figures),
        CASE(rebuild__an_offer_that_never_arrived_is_sent_again_unchanged),
        CASE(rebuild__used_capacity_is_not_given_away_again),
        CASE(rebuild__keys_of_open_and_finished_jobs_are_known),
        CASE(rebuild__a_new_leader_gives_ids_with_other_tails),
        CASE(rebuild__a_new_leader_gives_every_site_its_full_grace_and_lease),
        CASE(rebuild__a_long_lease_of_any_former_leader_is_waited_for),
        CASE(rebuild__an_attempt_that_ended_without_a_leader_still_ends_the_job),
        CASE(rebuild__a_drain_survives_a_new_leader),
        CASE(rebuild__after_any_run_gives_the_same_figures_and_the_same_next_placements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
