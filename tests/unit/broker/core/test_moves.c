/*  Running jobs that are moved to a better site: who, when, what is held for them, and what becomes of it
 * when something comes in between. */
#include <stdio.h>
#include <string.h>

#include "federation/policy/move.h"
#include "tests/support/core_harness.h"

enum { NORTH = 1, SOUTH = 2, MINUTE = 60000, HOUR = 3600000 };

static harness_t *h;
static helio_site_profile_t *north, *south;
static int64_t midnight;

/*  Two owned pools of 2 nodes x 8 GPUs of 1 kW; nothing costs money; silence means nothing. North burns 100
 * g/kWh, and so it is where jobs begin; south 450. */
static void make_sites(void)
{
    north = harness_site(h, "north");
    south = harness_site(h, "south");
    harness_pool(h, north, "a", "H100", 2, 8, 0)->base_w = 1000;
    harness_pool(h, south, "a", "H100", 2, 8, 0)->base_w = 1000;
    north->carbon_g_per_kwh = 100;
    south->carbon_g_per_kwh = 450;
}

static int begin(void **state)
{
    (void)state;
    helio_broker_options_t options = helio_broker_options_default();
    options.silent_after_ms = INT64_C(1000) * HOUR;
    h = harness_begin(&options);
    midnight = harness_wall_ms(h);
    make_sites();
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static void join(void)
{
    harness_join(h, NORTH, north);
    harness_join(h, SOUTH, south);
}

/*  Of its intensity from now on; and the others are heard of, too. */
static void tell(uint64_t peer, double grams)
{
    harness_renew(h, NORTH);
    harness_renew(h, SOUTH);
    static uint64_t seq = 1000;
    double *copy = helio_arena_alloc(harness_arena(h), 1, sizeof *copy);
    *copy = grams;
    helio_series_t series = {.signal = HELIO_SIGNAL_CARBON,
                             .issued_wall_ms = harness_wall_ms(h),
                             .start_wall_ms = harness_wall_ms(h) / HOUR * HOUR,
                             .step_s = 3600,
                             .values = {copy, 1}};
    helio_ev_site_summary_t event = {
        .peer = peer,
        .summary = {.seq = ++seq, .dispatch_seen = 1000, .series = {&series, 1}, .power_w = -1}};
    harness_step(h, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

static helio_job_spec_t movable(uint32_t nodes, uint32_t gpus)
{
    helio_job_spec_t spec = harness_spec(h, "H100", gpus);
    spec.nodes = nodes;
    spec.goal = HELIO_GOAL_GREEN;
    spec.time_limit_ms = 10 * HOUR;
    spec.checkpoint_signal = HELIO_TEXT("USR1");
    spec.checkpoint_grace_ms = MINUTE;
    spec.on_better_site = HELIO_BETTER_SITE_CHECKPOINT;
    return spec;
}

static helio_job_key_t run(const helio_job_spec_t *spec)
{
    helio_job_key_t key = harness_job(h, spec);
    harness_tick(h);
    harness_run_up_to(h, NORTH, key, 1, HELIO_JOB_RUNNING);
    return key;
}

/*  Past the time for which nobody is moved who has just begun, and past the pass before. */
static void settle(void)
{
    harness_wait(h, 2 * MINUTE);
}

static void assert_state(helio_job_key_t key, uint32_t state)
{
    assert_string_equal(helio_job_state_word(harness_state(h, key)), helio_job_state_word(state));
}

static void assert_reason(helio_job_key_t key, const char *expected)
{
    char said[300];
    (void)snprintf(said, sizeof said, "%.*s", HELIO_TEXT_ARGS(harness_row(h, key)->reason));
    assert_string_equal(said, expected);
}

static uint64_t moves(void)
{
    return harness_figures(h).preemptions_total[HELIO_EVICT_WHY_MOVE];
}

/*  North gets dirty: 1 kWh x 8 GPUs x 10 h, at 2000 USD/t. */
static helio_job_key_t told_to_move(void)
{
    join();
    helio_job_spec_t spec = movable(1, 8);
    helio_job_key_t key = run(&spec);
    settle();
    tell(NORTH, 900);
    tell(SOUTH, 300);
    harness_wait(h, 20000);
    assert_state(key, HELIO_JOB_STOPPING);
    return key;
}

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

static void moves__a_running_job_saves_and_goes_on_where_the_rest_does_better(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_move();
    const helio_fx_stop_t *stop = harness_take(h, HELIO_BROKER_FX_STOP);
    assert_non_null(stop);
    assert_int_equal(stop->stop.mode, HELIO_STOP_MODE_GRACE);
    assert_reason(key, "moved from north to south: saves 47.7 kg CO2e of what is left");
    assert_int_equal(moves(), 1);
    harness_wait(h, 30000);
    harness_clear(h);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    assert_reason(key, "placed at south, moved from north");
    const helio_fx_order_t *order = last_order();
    assert_true(order && order->order.resume);
    assert_int_equal(order->order.epoch, 2);
    const helio_row_state_t *row = harness_row(h, key);
    assert_int_equal(row->moves, 1);
    assert_int_equal(row->evictions, 0);
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

static void moves__only_who_asks_and_tells_how_it_saves_is_moved(void **state)
{
    (void)state;
    static const char *const here[] = {"north", NULL};
    join();
    helio_job_spec_t stays = movable(1, 4), silent = movable(1, 4), bound = movable(1, 4),
                     every = movable(1, 4);
    stays.on_better_site = HELIO_BETTER_SITE_STAY;
    silent.checkpoint_signal = (helio_text_t){0};
    harness_words(h, &bound.sites, here);
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

static void moves__critical_work_moves_by_its_own_wish(void **state)
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

static void moves__best_effort_work_may_save_before_it_leaves(void **state)
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

static void moves__a_gang_moves_whole(void **state)
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

/*  Of what is left, a tenth; once it was moved, an hour and a fifth. */
static void moves__little_gain_moves_nobody_and_one_that_was_moved_needs_more(void **state)
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
    assert_int_equal(harness_row(h, key)->moves, 2);
}

static void moves__an_hour_after_a_move_the_next_is_looked_at_without_any_news(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_move();
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

static void moves__nobody_is_moved_more_than_four_times_whoever_leads(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(1, 8);
    spec.time_limit_ms = 100 * HOUR;
    helio_job_key_t key = run(&spec);
    uint64_t at = NORTH;
    for (uint32_t i = 1; i <= HELIO_MOVE_TIMES_MAX + 2; i++) {
        harness_wait(h, HOUR + 5 * MINUTE);
        tell(at, 900);
        tell(at == NORTH ? SOUTH : NORTH, 50);
        harness_wait(h, MINUTE);
        assert_state(key, i <= HELIO_MOVE_TIMES_MAX ? HELIO_JOB_STOPPING : HELIO_JOB_RUNNING);
        if (i > HELIO_MOVE_TIMES_MAX)
            continue;
        arrive(key, at, at == NORTH ? SOUTH : NORTH, i);
        at = at == NORTH ? SOUTH : NORTH;
    }
    assert_int_equal(harness_row(h, key)->moves, HELIO_MOVE_TIMES_MAX);
    harness_t *old = h;
    h = harness_rebuild(old);
    harness_end(&old);
    make_sites();
    join();
    harness_wait(h, 2 * HOUR);
    assert_int_equal(harness_row(h, key)->moves, HELIO_MOVE_TIMES_MAX);
    assert_int_equal(moves(), 0);
}

static void moves__a_deadline_is_not_endangered(void **state)
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

/*  South has 16 GPUs, and 8 of them are held from the moment at which the job is told to leave. */
static void moves__the_room_is_held_and_counted_once(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_move();
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    static const char *const there[] = {"south", NULL};
    harness_words(h, &spec.sites, there);
    helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec);
    harness_tick(h);
    assert_state(first, HELIO_JOB_OFFERED);
    assert_state(second, HELIO_JOB_QUEUED);
    harness_run_up_to(h, SOUTH, first, 1, HELIO_JOB_RUNNING);
    harness_summary(h, SOUTH, south, 1, 1); /* one node is taken, by the first */
    harness_tick(h);
    assert_state(second, HELIO_JOB_QUEUED);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, key)->site, "south"));
    assert_state(second, HELIO_JOB_QUEUED);
    harness_say(h, SOUTH, first, 1, HELIO_REPORT_KIND_ENDED);
    harness_tick(h);
    assert_state(second, HELIO_JOB_OFFERED);
}

typedef void meddle_fn(helio_job_key_t key);

static void cancels(helio_job_key_t key)
{
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key);
}

static void ends_by_itself(helio_job_key_t key)
{
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_ENDED);
}

static void never_leaves(helio_job_key_t key)
{
    (void)key;
    harness_wait(h, 3 * MINUTE);
}

static void loses_its_site(helio_job_key_t key)
{
    (void)key;
    harness_gone(h, NORTH);
    harness_wait(h, 3 * MINUTE);
}

/*  Whatever comes in between, others find the room. */
static void moves__what_is_held_is_there_for_others_when_the_move_comes_to_nothing(void **state)
{
    (void)state;
    meddle_fn *const rows[] = {cancels, ends_by_itself, never_leaves, loses_its_site};
    static const char *const there[] = {"south", NULL};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (i) {
            harness_end(&h);
            begin(NULL);
        }
        helio_job_key_t key = told_to_move();
        helio_job_spec_t spec = harness_spec(h, "H100", 8);
        spec.nodes = 2;
        harness_words(h, &spec.sites, there);
        helio_job_key_t whole = harness_job(h, &spec);
        harness_tick(h);
        assert_state(whole, HELIO_JOB_QUEUED);
        rows[i](key);
        harness_tick(h);
        assert_state(whole, HELIO_JOB_OFFERED);
    }
}

static void moves__when_the_place_is_gone_it_goes_the_usual_way(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_move();
    (void)harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_OPERATOR, "south");
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    assert_true(helio_text_is(harness_row(h, key)->site, "north"));
    assert_reason(key, "placed at north");
    assert_int_equal(harness_row(h, key)->epoch, 2);
}

static void moves__work_of_the_site_itself_takes_the_room_and_nothing_is_counted_twice(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_move();
    harness_summary(h, SOUTH, south, 0, 2); /* both nodes, by others */
    harness_wait(h, 1000);
    harness_say(h, NORTH, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_true(helio_text_is(harness_row(h, key)->site, "north"));
    harness_summary(h, SOUTH, south, 0, 0);
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    spec.nodes = 2;
    static const char *const there[] = {"south", NULL};
    harness_words(h, &spec.sites, there);
    helio_job_key_t whole = harness_job(h, &spec);
    harness_tick(h);
    assert_state(whole, HELIO_JOB_OFFERED);
}

static void moves__a_new_leader_lets_it_go_the_usual_way_and_places_it_once(void **state)
{
    (void)state;
    helio_job_key_t key = told_to_move();
    harness_t *old = h;
    h = harness_rebuild(old);
    harness_end(&old);
    make_sites();
    join();
    helio_holding_t holding = {.key = key, .epoch = 1, .state = HELIO_JOB_STOPPING};
    harness_hello(h, NORTH + 10, north);
    harness_inventory(h, NORTH + 10, &holding, 1);
    harness_summary(h, NORTH + 10, north, 0, 1);
    harness_tick(h);
    assert_state(key, HELIO_JOB_STOPPING);
    harness_clear(h);
    harness_say(h, NORTH + 10, key, 1, HELIO_REPORT_KIND_STOPPED);
    harness_tick(h);
    assert_state(key, HELIO_JOB_OFFERED);
    assert_int_equal(harness_row(h, key)->epoch, 2);
    assert_int_equal(harness_row(h, key)->moves, 1);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_PLACEMENT), 1);
}

/*  Who waits for such GPUs goes first: a gang that cannot start yet, though half of what it needs is free. */
static void moves__nothing_is_taken_that_somebody_waits_for(void **state)
{
    (void)state;
    join();
    static const char *const there[] = {"south", NULL};
    helio_job_spec_t small = harness_spec(h, "H100", 8);
    harness_words(h, &small.sites, there);
    helio_job_key_t runs = harness_job(h, &small);
    harness_tick(h);
    harness_run_up_to(h, SOUTH, runs, 1, HELIO_JOB_RUNNING);
    helio_job_spec_t gang = harness_spec(h, "H100", 8), spec = movable(1, 8);
    gang.nodes = 2;
    harness_words(h, &gang.sites, there);
    helio_job_key_t key = run(&spec), waits = harness_job(h, &gang);
    settle();
    tell(NORTH, 900);
    harness_wait(h, MINUTE);
    assert_state(waits, HELIO_JOB_QUEUED);
    assert_state(key, HELIO_JOB_RUNNING);
    (void)harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, waits);
    harness_wait(h, MINUTE);
    assert_state(key, HELIO_JOB_RUNNING); /* nothing was given back: it is looked at when the hour begins */
    harness_wait(h, HOUR);
    tell(NORTH, 900);
    harness_wait(h, MINUTE);
    assert_state(key, HELIO_JOB_STOPPING);
}

static void moves__room_that_comes_free_at_a_better_site_is_taken(void **state)
{
    (void)state;
    join();
    static const char *const there[] = {"south", NULL};
    helio_job_spec_t big = harness_spec(h, "H100", 8), spec = movable(1, 8);
    harness_words(h, &big.sites, there);
    big.nodes = 2;
    helio_job_key_t runs = harness_job(h, &big), key = run(&spec);
    harness_run_up_to(h, SOUTH, runs, 1, HELIO_JOB_RUNNING);
    settle();
    tell(NORTH, 900);
    harness_wait(h, MINUTE);
    assert_state(key, HELIO_JOB_RUNNING);
    harness_say(h, SOUTH, runs, 1, HELIO_REPORT_KIND_ENDED);
    harness_wait(h, 11000);
    assert_state(key, HELIO_JOB_STOPPING);
}

static void moves__many_are_moved_in_pieces_and_only_as_many_as_find_room(void **state)
{
    (void)state;
    join();
    helio_job_spec_t spec = movable(1, 1);
    helio_job_key_t keys[16];
    for (uint32_t i = 0; i < 16; i++)
        keys[i] = run(&spec);
    helio_job_spec_t there = harness_spec(h, "H100", 6);
    static const char *const at[] = {"south", NULL};
    harness_words(h, &there.sites, at);
    helio_job_key_t runs = harness_job(h, &there);
    harness_tick(h);
    harness_run_up_to(h, SOUTH, runs, 1, HELIO_JOB_RUNNING);
    settle();
    tell(NORTH, 900);
    harness_tick(h);
    assert_int_equal(moves(), 8);
    harness_wait(h, 20000);
    assert_int_equal(moves(), 10);
    uint32_t stopping = 0;
    for (uint32_t i = 0; i < 16; i++)
        stopping += harness_state(h, keys[i]) == HELIO_JOB_STOPPING;
    assert_int_equal(stopping, 10);
}

/*  One for this, with the candidates as they were weighed: what is left of it here and there. */
static void moves__the_decision_says_what_the_move_costs(void **state)
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
    assert_true(helio_text_equal(decision->detail, harness_row(h, key)->reason));
    const helio_row_candidate_t *to = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE),
                                *from = harness_take(h, HELIO_BROKER_FX_ROW_CANDIDATE);
    assert_true(helio_text_is(to->site, "south") && helio_text_is(from->site, "north"));
    assert_true(helio_text_is(from->detail, "where it ran: what was left of it"));
    assert_int_equal(from->move_micro_usd, 0);
    /* a minute at south and one at north of 8 kW, and of both minutes the wait of 8 GPUs at 0.05 USD */
    int64_t minute_kwh_micro = 8000000 / 60, both = minute_kwh_micro * (900 + 450) * 2 / 1000;
    assert_int_equal(to->move_micro_usd / 1000, (both + 8 * 50000 * 2 / 60) / 1000);
    assert_int_equal(to->score_micro_usd,
                     to->cost_micro_usd + to->carbon_micro_usd + to->risk_micro_usd + to->move_micro_usd);
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
    static char text[300];
    const helio_fx_answer_t *answer =
        harness_command(h, HELIO_BROKER_EV_EXPLAIN, "acme", HELIO_ROLE_USER, key);
    helio_text_t said = answer->rc == HELIO_OK ? answer->prospect.better_site : (helio_text_t){0};
    (void)snprintf(text, sizeof text, "%.*s", HELIO_TEXT_ARGS(said));
    return text;
}

static void moves__explain_says_whether_another_site_is_better_and_why_it_stays(void **state)
{
    (void)state;
    static const char *const here[] = {"north", NULL}, *const there[] = {"south", NULL};
    join();
    helio_job_spec_t plain = movable(1, 1), silent = movable(1, 1), bound = movable(1, 1),
                     spec = movable(1, 8);
    plain.on_better_site = HELIO_BETTER_SITE_STAY;
    silent.checkpoint_signal = (helio_text_t){0};
    harness_words(h, &bound.sites, here);
    helio_job_key_t stays = run(&plain), tells_nothing = run(&silent), may_not = run(&bound),
                    key = run(&spec);
    assert_string_equal(better_site(stays), "");
    assert_string_equal(better_site(tells_nothing),
                        "it is not moved to a better site: it does not tell how it saves, "
                        "by checkpoint.signal or checkpoint.every");
    assert_string_equal(better_site(may_not), "it stays: no other pool is one that it may go to");
    assert_string_equal(better_site(key), "it stays: no other site would be better for what is left of it");
    tell(NORTH, 900);
    assert_string_equal(
        better_site(key),
        "south would save 50 % of what is left; it has just begun and stays until 2026-03-01T00:00:20Z");
    tell(NORTH, 480);
    assert_string_equal(better_site(key), "south would save 6 % of what is left; a move needs 10 %");
    helio_job_spec_t big = harness_spec(h, "H100", 8);
    big.nodes = 2;
    harness_words(h, &big.sites, there);
    helio_job_key_t fills = harness_job(h, &big);
    settle();
    tell(NORTH, 900);
    assert_string_equal(better_site(key), "south would save 50 % of what is left; NoCapacity: 0 GPUs free");
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
    assert_non_null(strstr(better_site(key), "it was moved lately and stays until 2026-03-01T01:"));
}

static void moves__who_does_not_tell_how_it_saves_is_told_so_at_once(void **state)
{
    (void)state;
    join();
    helio_job_spec_t silent = movable(1, 1), good = movable(1, 1);
    silent.checkpoint_signal = (helio_text_t){0};
    const helio_fx_answer_t *answer = harness_submit(h, "acme", &silent);
    assert_true(helio_text_is(
        answer->text, "on_better_site: the job will not be moved, since nothing tells how it saves; give "
                      "`checkpoint.signal` or `checkpoint.every`"));
    assert_int_equal(harness_submit(h, "acme", &good)->text.size, 0);
    helio_submission_t three[] = {harness_submission(h, &silent, "", "a"),
                                  harness_submission(h, &good, "", "b"),
                                  harness_submission(h, &silent, "", "c")};
    answer = harness_submit_all(h, "acme", three, 3);
    assert_int_equal(answer->rc, HELIO_OK);
    assert_true(helio_text_is(
        answer->text, "on_better_site: 2 of the 3 jobs will not be moved, since nothing tells how each "
                      "saves; give `checkpoint.signal` or `checkpoint.every`"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(moves__a_running_job_saves_and_goes_on_where_the_rest_does_better,
                                        begin, end),
        cmocka_unit_test_setup_teardown(moves__only_who_asks_and_tells_how_it_saves_is_moved, begin, end),
        cmocka_unit_test_setup_teardown(moves__critical_work_moves_by_its_own_wish, begin, end),
        cmocka_unit_test_setup_teardown(moves__best_effort_work_may_save_before_it_leaves, begin, end),
        cmocka_unit_test_setup_teardown(moves__a_gang_moves_whole, begin, end),
        cmocka_unit_test_setup_teardown(moves__little_gain_moves_nobody_and_one_that_was_moved_needs_more,
                                        begin, end),
        cmocka_unit_test_setup_teardown(moves__an_hour_after_a_move_the_next_is_looked_at_without_any_news,
                                        begin, end),
        cmocka_unit_test_setup_teardown(moves__nobody_is_moved_more_than_four_times_whoever_leads, begin,
                                        end),
        cmocka_unit_test_setup_teardown(moves__a_deadline_is_not_endangered, begin, end),
        cmocka_unit_test_setup_teardown(moves__the_room_is_held_and_counted_once, begin, end),
        cmocka_unit_test_setup_teardown(
            moves__what_is_held_is_there_for_others_when_the_move_comes_to_nothing, begin, end),
        cmocka_unit_test_setup_teardown(moves__when_the_place_is_gone_it_goes_the_usual_way, begin, end),
        cmocka_unit_test_setup_teardown(
            moves__work_of_the_site_itself_takes_the_room_and_nothing_is_counted_twice, begin, end),
        cmocka_unit_test_setup_teardown(moves__a_new_leader_lets_it_go_the_usual_way_and_places_it_once,
                                        begin, end),
        cmocka_unit_test_setup_teardown(moves__nothing_is_taken_that_somebody_waits_for, begin, end),
        cmocka_unit_test_setup_teardown(moves__room_that_comes_free_at_a_better_site_is_taken, begin, end),
        cmocka_unit_test_setup_teardown(moves__many_are_moved_in_pieces_and_only_as_many_as_find_room, begin,
                                        end),
        cmocka_unit_test_setup_teardown(moves__the_decision_says_what_the_move_costs, begin, end),
        cmocka_unit_test_setup_teardown(moves__explain_says_whether_another_site_is_better_and_why_it_stays,
                                        begin, end),
        cmocka_unit_test_setup_teardown(moves__who_does_not_tell_how_it_saves_is_told_so_at_once, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
