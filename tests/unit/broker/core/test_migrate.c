/*  test_migrate.c -- which jobs migrate, when, and how that is explained. */
#include "tests/unit/broker/core/migrate_testing.h"

static const helio_row_placement_t *last_placement(void)
{
    const helio_row_placement_t *row, *last = NULL;
    while ((row = harness_take(h, HELIO_BROKER_FX_ROW_PLACEMENT)))
        last = row;
    return last;
}

static const helio_fx_order_t *last_order(void)
{
    const helio_fx_order_t *fx, *last = NULL;
    while ((fx = harness_take(h, HELIO_BROKER_FX_ORDER)))
        last = fx;
    return last;
}

static void migrate__a_running_job_saves_and_continues_where_the_rest_costs_less(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_migrate();
    const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
    assert_non_null(stop);
    assert_int_equal(stop->stop.mode, HELIO_STOP_MODE_GRACE);
    const helio_details_t why = harness_row(h, key)->why;
    const helio_detail_t *migrated = harness_detail(why, HELIO_DETAIL_MIGRATED);
    harness_assert_value(migrated, "from", "north");
    harness_assert_value(migrated, "to", "south");
    harness_assert_value(harness_detail(why, HELIO_DETAIL_MIGRATION_SAVES_CARBON), "saved_carbon_g", "14.2 kg");
    assert_int_equal(migrations(), 1);
    harness_wait(h, 30000);
    harness_clear(h);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    const helio_detail_t *placed = harness_detail(harness_row(h, key)->why, HELIO_DETAIL_PLACED_AT);
    harness_assert_value(placed, "site", "south");
    harness_assert_value(placed, "from_site", "north");
    const helio_fx_order_t *order = last_order();
    assert_true(order && order->order.resume);
    assert_int_equal(order->order.epoch, 2);
    const helio_row_state_t *row = harness_row(h, key);
    assert_int_equal(row->migrations, 1);
    assert_int_equal(row->preemptions, 0);
    assert_int_equal(row->failures, 0);
    assert_int_equal(row->site_failures, 0);
}

/*  It leaves north, is placed at south, and runs there. */
static void arrive(helio_job_key_t key, uint64_t from, uint64_t to, uint32_t epoch)
{
    harness_say(h, from, key, epoch, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    harness_run_up_to(h, to, key, epoch + 1, HELIO_JOB_RUNNING);
}

static void migrate__only_jobs_that_ask_and_state_how_they_save_migrate(void **state)
{
    (void)state;
    static const char *const here[] = {"north", NULL};
    join();
    helio_job_spec_t stays = movable(1, 4), silent = movable(1, 4), bound = movable(1, 4), every = movable(1, 4);
    stays.on_better_site = HELIO_BETTER_SITE_STAY;
    silent.checkpoint_signal = (helio_text_t){0};
    harness_strings(h, &bound.sites, here);
    every.checkpoint_signal = (helio_text_t){0};
    every.checkpoint_every_ms = 5 * MINUTE;
    helio_job_key_t keys[] = {run(&stays), run(&silent), run(&bound), run(&every)};
    settle();
    tell(NORTH, 900);
    harness_wait(h, 20000);
    assert_state(keys[0], HELIO_JOB_RUNNING);
    assert_state(keys[1], HELIO_JOB_RUNNING);
    assert_state(keys[2], HELIO_JOB_RUNNING);
    assert_state(keys[3], HELIO_JOB_STOPPING);
}

static void migrate__critical_jobs_migrate_if_they_ask(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(1, 8);
    spec.queue = HELIO_TEXT("express");
    helio_job_key_t key = run(&spec);
    settle();
    tell(NORTH, 900);
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_STOPPING);
}

static void migrate__best_effort_jobs_can_save_before_they_leave(void **state)
{
    (void)state;
    for (int again = 0; again < 2; again++) {
        if (again) {
            harness_end(&h);
            begin(NULL);
        }
        join();
        helio_job_spec_t spec = movable(1, 8);
        spec.queue = HELIO_TEXT("batch");
        spec.checkpoint_every_ms = MINUTE;
        if (again)
            spec.checkpoint_signal = (helio_text_t){0};
        helio_job_key_t key = run(&spec);
        settle();
        tell(NORTH, 900);
        harness_wait(h, 20000);
        assert_state(key, HELIO_JOB_STOPPING);
        const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
        assert_int_equal(stop->stop.mode, again ? HELIO_STOP_MODE_KILL : HELIO_STOP_MODE_GRACE);
    }
}

static void migrate__a_gang_migrates_as_a_whole(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(2, 8);
    helio_job_key_t key = run(&spec);
    settle();
    tell(NORTH, 900);
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_STOPPING);
    harness_clear(h);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    const helio_row_placement_t *placement = last_placement();
    assert_true(placement && helio_text_is(placement->site, "south"));
    assert_int_equal(placement->nodes, 2);
    assert_int_equal(placement->gpus, 16);
}

/*  The first migration must save a tenth of the rest; a later one a fifth, after an hour. */
static void migrate__a_small_gain_migrates_no_job_and_a_second_migration_needs_more(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(1, 8);
    helio_job_key_t key = run(&spec);
    settle();
    tell(NORTH, 480); /* 6 % */
    harness_wait(h, MINUTE);
    assert_state(key, HELIO_JOB_RUNNING);
    tell(NORTH, 520); /* 13 % */
    harness_wait(h, MINUTE);
    assert_state(key, HELIO_JOB_STOPPING);
    arrive(key, NORTH, SOUTH, 1);
    tell(NORTH, 20); /* nearly all of it, but it stays for an hour */
    harness_wait(h, 59 * MINUTE);
    assert_state(key, HELIO_JOB_RUNNING);
    tell(NORTH, 380); /* 15 % */
    harness_wait(h, 10 * MINUTE);
    assert_state(key, HELIO_JOB_RUNNING);
    tell(NORTH, 320); /* 29 % */
    harness_wait(h, MINUTE);
    assert_state(key, HELIO_JOB_STOPPING);
    assert_int_equal(harness_row(h, key)->migrations, 2);
}

static void migrate__an_hour_after_a_migration_the_job_is_judged_again_without_any_change(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_migrate();
    arrive(key, NORTH, SOUTH, 1);
    tell(NORTH, 20);
    harness_wait(h, HOUR - 10000);
    harness_renew(h, NORTH);
    harness_wait(h, 9000);
    assert_state(key, HELIO_JOB_RUNNING);
    harness_renew(h, NORTH);
    harness_wait(h, 2000);
    assert_state(key, HELIO_JOB_STOPPING);
}

static void migrate__no_job_migrates_more_often_than_the_limit_across_leaders(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(1, 8);
    spec.time_limit_ms = 100 * HOUR;
    helio_job_key_t key = run(&spec);
    uint64_t at = NORTH;
    for (uint32_t i = 1; i <= HELIO_MIGRATION_TIMES_MAX + 2; i++) {
        harness_wait(h, HOUR + 5 * MINUTE);
        tell(at, 900);
        tell(at == NORTH ? SOUTH : NORTH, 50);
        harness_wait(h, MINUTE);
        assert_state(key, i <= HELIO_MIGRATION_TIMES_MAX ? HELIO_JOB_STOPPING : HELIO_JOB_RUNNING);
        if (i > HELIO_MIGRATION_TIMES_MAX)
            continue;
        arrive(key, at, at == NORTH ? SOUTH : NORTH, i);
        at = at == NORTH ? SOUTH : NORTH;
    }
    assert_int_equal(harness_row(h, key)->migrations, HELIO_MIGRATION_TIMES_MAX);
    harness_t *old = h;
    h = harness_rebuild(old);
    harness_end(&old);
    make_sites();
    join();
    harness_wait(h, 2 * HOUR);
    assert_int_equal(harness_row(h, key)->migrations, HELIO_MIGRATION_TIMES_MAX);
    assert_int_equal(migrations(), 0);
}

static void migrate__a_deadline_is_not_endangered(void **state)
{
    (void)state;
    static const int64_t minutes[] = {10 * 60 + 1, 10 * 60 + 30};
    for (size_t i = 0; i < 2; i++) {
        if (i) {
            harness_end(&h);
            begin(NULL);
        }
        join();
        helio_job_spec_t spec = movable(1, 8);
        spec.deadline_wall_ms = midnight + minutes[i] * MINUTE;
        helio_job_key_t key = run(&spec);
        harness_wait(h, MINUTE);
        tell(NORTH, 900);
        harness_wait(h, MINUTE);
        assert_state(key, i ? HELIO_JOB_STOPPING : HELIO_JOB_RUNNING);
    }
}

/*  One for this, with the candidates as they were weighed: what is left of it here and there. */
static void migrate__the_decision_has_the_cost_of_the_migration(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(1, 8);
    helio_job_key_t key = run(&spec);
    settle();
    harness_clear(h);
    tell(NORTH, 900);
    harness_wait(h, 20000);
    const helio_row_decision_t *decision = harness_take(h, HELIO_BROKER_FX_ROW_DECISION);
    assert_non_null(decision);
    assert_true(helio_text_is(decision->reason, ""));
    assert_true(helio_text_is(decision->chosen_site, "south"));
    assert_true(helio_record_equal(&helio_details_type, &decision->details, &harness_row(h, key)->why));
    const helio_row_candidate_t *to = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE),
                                *from = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE);
    assert_true(helio_text_is(to->site, "south") && helio_text_is(from->site, "north"));
    (void)harness_detail(from->details, HELIO_DETAIL_RAN_HERE);
    assert_int_equal(from->disruption_micro_usd, 0);
    /* a minute at south and one at north of 8 kW, and of both minutes the wait of 8 GPUs at 0.05 USD */
    int64_t minute_kwh_micro = 8000000 / 60, both = minute_kwh_micro * (900 + 450) * 2 / 1000;
    assert_int_equal(to->disruption_micro_usd / 1000, (both + 8 * 50000 * 2 / 60) / 1000);
    assert_int_equal(to->score_micro_usd,
                     to->cost_micro_usd + to->carbon_micro_usd + to->risk_micro_usd + to->disruption_micro_usd);
    assert_true(to->score_micro_usd < from->score_micro_usd);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    const helio_row_placement_t *placement = last_placement();
    assert_true(placement && placement->decision_id == decision->decision_id);
    assert_int_equal(placement->score_micro_usd, to->score_micro_usd);
    assert_int_equal(placement->expected_ms, to->run_ms);
}

/*  What `explain` says of it while it runs; "" = nothing. */
static const char *better_site(helio_job_key_t key)
{
    const helio_fx_reply_t *reply = harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    return reply->rc == HELIO_OK ? harness_facts(h, reply->start_estimate.better_site) : "";
}

static void migrate__explain_tells_whether_another_site_is_better_and_why_the_job_stays(void **state)
{
    (void)state;
    static const char *const here[] = {"north", NULL}, *const there[] = {"south", NULL};
    join();
    helio_job_spec_t plain = movable(1, 1), silent = movable(1, 1), bound = movable(1, 1), spec = movable(1, 8);
    plain.on_better_site = HELIO_BETTER_SITE_STAY;
    silent.checkpoint_signal = (helio_text_t){0};
    harness_strings(h, &bound.sites, here);
    helio_job_key_t stays = run(&plain), tells_nothing = run(&silent), may_not = run(&bound), key = run(&spec);
    assert_string_equal(better_site(stays), "");
    assert_string_equal(better_site(tells_nothing), "StaysNoCheckpoint");
    assert_string_equal(better_site(may_not), "StaysNoTarget");
    assert_string_equal(better_site(key), "StaysNoneBetter");
    tell(NORTH, 900);
    assert_string_equal(
        better_site(key),
        "BetterByShare site=south pool=a saves_percent=49 %; StaysJustBegun until=2026-03-01T00:00:20Z");
    tell(NORTH, 480);
    assert_string_equal(better_site(key),
                        "BetterByShare site=south pool=a saves_percent=5 %; MigrationNeedsShare least_percent=10 %");
    helio_job_spec_t big = harness_spec(h, "H100", 8);
    big.nodes = 2;
    harness_strings(h, &big.sites, there);
    helio_job_key_t fills = harness_job(h, &big);
    settle();
    tell(NORTH, 900);
    assert_string_equal(better_site(key),
                        "BetterByShare site=south pool=a saves_percent=49 %; MigrationRejected rejection=NoCapacity; "
                        "NoGPUFree");
    helio_job_key_t waits = harness_job(h, &big);
    harness_run_up_to(h, SOUTH, fills, 1, HELIO_JOB_RUNNING);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, waits);
    harness_say(h, SOUTH, fills, 1, HELIO_REPORT_KIND_ENDED);
    harness_renew(h, NORTH);
    harness_wait(h, 11000);
    assert_state(key, HELIO_JOB_STOPPING);
    assert_string_equal(better_site(key), "");
    arrive(key, NORTH, SOUTH, 1);
    tell(NORTH, 20);
    assert_non_null(strstr(better_site(key), "StaysJustMigrated until=2026-03-01T01:"));
}

/*  Its checkpoint is 12 minutes away: 8 GPUs here for so long cost less than 20 minutes of work again. */
static void migrate__a_job_without_a_signal_leaves_after_its_next_checkpoint(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(1, 8);
    spec.checkpoint_signal = (helio_text_t){0};
    spec.checkpoint_every_ms = 30 * MINUTE;
    helio_job_key_t key = run(&spec);
    for (int i = 0; i < 20; i++) {
        tell(NORTH, 100);
        harness_wait(h, MINUTE);
    }
    tell(NORTH, 900);
    tell(SOUTH, 600);
    harness_wait(h, 11000);
    assert_state(key, HELIO_JOB_RUNNING);
    assert_non_null(strstr(better_site(key), "MigrationWhenSaved until=2026-03-01T00:32:"));
    for (int i = 0; i < 11; i++) {
        assert_state(key, HELIO_JOB_RUNNING);
        harness_wait(h, MINUTE);
        harness_renew(h, NORTH);
        harness_renew(h, SOUTH);
    }
    tell(SOUTH, 600);
    harness_wait(h, 2 * MINUTE);
    assert_state(key, HELIO_JOB_STOPPING);
}

static void migrate__a_job_that_does_not_state_how_it_saves_gets_a_note_at_once(void **state)
{
    (void)state;
    join();
    helio_job_spec_t silent = movable(1, 1), good = movable(1, 1);
    silent.checkpoint_signal = (helio_text_t){0};
    const helio_fx_reply_t *reply = harness_submit(h, "acme", &silent);
    assert_string_equal(harness_details(h, &reply->details),
                        "[{\"code\":\"NoCheckpoint\",\"params\":{\"jobs\":1,\"submitted\":1}}]");
    assert_int_equal(harness_submit(h, "acme", &good)->details.items.count, 0);
    helio_submission_t three[] = {harness_submission(h, &silent, "", "a"), harness_submission(h, &good, "", "b"),
                                  harness_submission(h, &silent, "", "c")};
    reply = harness_submit_all(h, "acme", three, 3);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_string_equal(harness_details(h, &reply->details),
                        "[{\"code\":\"NoCheckpoint\",\"params\":{\"jobs\":2,\"submitted\":3}}]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(migrate__a_running_job_saves_and_continues_where_the_rest_costs_less, begin,
                                        end),
        cmocka_unit_test_setup_teardown(migrate__only_jobs_that_ask_and_state_how_they_save_migrate, begin, end),
        cmocka_unit_test_setup_teardown(migrate__critical_jobs_migrate_if_they_ask, begin, end),
        cmocka_unit_test_setup_teardown(migrate__best_effort_jobs_can_save_before_they_leave, begin, end),
        cmocka_unit_test_setup_teardown(migrate__a_gang_migrates_as_a_whole, begin, end),
        cmocka_unit_test_setup_teardown(migrate__a_small_gain_migrates_no_job_and_a_second_migration_needs_more, begin,
                                        end),
        cmocka_unit_test_setup_teardown(migrate__an_hour_after_a_migration_the_job_is_judged_again_without_any_change,
                                        begin, end),
        cmocka_unit_test_setup_teardown(migrate__no_job_migrates_more_often_than_the_limit_across_leaders, begin, end),
        cmocka_unit_test_setup_teardown(migrate__a_deadline_is_not_endangered, begin, end),
        cmocka_unit_test_setup_teardown(migrate__the_decision_has_the_cost_of_the_migration, begin, end),
        cmocka_unit_test_setup_teardown(migrate__explain_tells_whether_another_site_is_better_and_why_the_job_stays,
                                        begin, end),
        cmocka_unit_test_setup_teardown(migrate__a_job_without_a_signal_leaves_after_its_next_checkpoint, begin_calmly,
                                        end),
        cmocka_unit_test_setup_teardown(migrate__a_job_that_does_not_state_how_it_saves_gets_a_note_at_once, begin,
                                        end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
