/*  test_run.c -- what becomes of jobs in a rehearsal. */
#include "tests/unit/simulator/rehearsal/rehearsal_testing.h"

static void run__as_it_is_ends_each_job_when_its_like_do(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    helio_job_key_t runs = add_job("acme", (job_ask_t){.gpus = 8, .hours = 2, .runs_at = "north", .ran_min = 30});
    helio_job_key_t waits = add_job("acme", (job_ask_t){.gpus = 4, .hours = 1});
    reh_result_t result;
    assert_int_equal(reh_run(snapshot(), NULL, 0, DAY, &result, &err), HELIO_OK);
    const reh_life_t *first = reh_lives_find(&result.lives, runs), *second = reh_lives_find(&result.lives, waits);
    assert_int_equal(first->ended_ms, NOON + 90 * MINUTE);
    assert_int_equal(first->gpu_ms, 8 * 2 * HOUR); /* the ledger has what it used before, too */
    assert_in_range(second->started_ms, NOON + 90 * MINUTE, NOON + 91 * MINUTE);
    assert_int_equal(second->ended_ms - second->started_ms, HOUR);
    assert_int_equal(second->cost_micro_usd, 4000000);
    assert_int_equal(result.lives.open, 0);
    reh_result_clear(&result);
}

static void down__moves_what_may_go_and_keeps_what_must_stay(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    add_site("south", 2, 0);
    helio_job_key_t goes =
        add_job("acme", (job_ask_t){.gpus = 4, .hours = 2, .runs_at = "north", .on_site_loss = HELIO_SITE_LOSS_LEASE});
    helio_job_key_t stays = add_job("acme", (job_ask_t){.gpus = 4, .hours = 2, .runs_at = "north"});
    helio_job_key_t waits = add_job("globex", (job_ask_t){.gpus = 8, .hours = 1, .only_site = "north"});
    helio_job_key_t other = add_job("globex", (job_ask_t){.gpus = 4, .hours = 3, .runs_at = "south"});
    rehearsed_t *r = REHEARSE(snapshot(), "down=north");
    assert_int_equal(effects_on(r, goes), EFFECT(INTERRUPTED) | EFFECT(MOVES) | EFFECT(WAITS) | EFFECT(DEARER));
    const reh_life_t *life = reh_lives_find(&r->after.lives, goes);
    assert_string_equal(life->site, "south");
    assert_in_range(life->waited_ms, 14 * MINUTE, 16 * MINUTE); /* its lease has to be over */
    assert_int_equal(effects_on(r, stays), EFFECT(INTERRUPTED) | EFFECT(WAITS));
    assert_int_equal(reh_lives_find(&r->after.lives, stays)->state, HELIO_JOB_SUSPECT);
    assert_int_equal(effects_on(r, waits), EFFECT(NEVER) | EFFECT(WAITS));
    assert_int_equal(effects_on(r, other), 0);
    assert_int_equal(r->difference.open_before, 0);
    assert_int_equal(r->difference.open_after, 2);
    forget(r);
}

static void down__for_a_while_lets_strict_jobs_begin_anew(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    helio_job_key_t anew = add_job("acme", (job_ask_t){.gpus = 4, .hours = 2, .runs_at = "north", .ran_min = 90});
    helio_job_key_t resumes =
        add_job("acme", (job_ask_t){.gpus = 4, .hours = 2, .runs_at = "north", .ran_min = 90, .checkpoint_min = 60});
    rehearsed_t *r = REHEARSE(snapshot(), "down=north:4h");
    const reh_life_t *whole = reh_lives_find(&r->after.lives, anew), *rest = reh_lives_find(&r->after.lives, resumes);
    assert_in_range(whole->ended_ms, NOON + 6 * HOUR, NOON + 6 * HOUR + 2 * MINUTE);
    assert_in_range(rest->ended_ms, NOON + 5 * HOUR + MINUTE,
                    NOON + 5 * HOUR + 3 * MINUTE); /* 60 of 90 min are saved */
    assert_int_equal(effects_on(r, anew), effects_on(r, resumes));
    forget(r);
}

/*  The agent of a site that is back reports what it lost: nobody has to wait for a lease, or for an operator. */
static void down__shorter_than_a_lease_ends_what_ran_there_at_the_return(void **state)
{
    (void)state;
    static const struct {
        const char *change;
        int64_t back_ms;
    } rows[] = {{"down=north:20s", 20000}, {"down=north:2m", 2 * MINUTE}};
    add_site("north", 1, 0);
    helio_job_key_t keys[] = {
        add_job("acme", (job_ask_t){.gpus = 2, .hours = 2, .runs_at = "north", .ran_min = 50}),
        add_job("acme",
                (job_ask_t){
                    .gpus = 2, .hours = 2, .runs_at = "north", .ran_min = 50, .on_site_loss = HELIO_SITE_LOSS_LEASE}),
        add_job("acme",
                (job_ask_t){
                    .gpus = 2, .hours = 2, .runs_at = "north", .ran_min = 50, .on_site_loss = HELIO_SITE_LOSS_EAGER}),
    };
    helio_text_t taken = snapshot();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rehearsed_t *r = REHEARSE(taken, rows[i].change);
        for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
            const reh_life_t *life = reh_lives_find(&r->after.lives, keys[k]);
            int64_t again_ms = NOON + rows[i].back_ms + 2 * HOUR;
            assert_true(effects_on(r, keys[k]) & EFFECT(INTERRUPTED));
            assert_in_range(life->ended_ms, again_ms, again_ms + 1000);
            assert_in_range(life->waited_ms, 0, rows[i].back_ms);
            assert_int_equal(life->gpu_ms, 2 * (2 * HOUR + 50 * MINUTE)); /* what is lost is charged, too */
        }
        forget(r);
    }
}

static void down__makes_jobs_late_and_others_give_way(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    add_site("south", 1, 0);
    helio_job_key_t late = add_job("acme", (job_ask_t){.gpus = 4,
                                                       .hours = 1,
                                                       .runs_at = "north",
                                                       .ran_min = 50,
                                                       .on_site_loss = HELIO_SITE_LOSS_EAGER,
                                                       .deadline_ms = NOON + 20 * MINUTE});
    helio_job_key_t critical = add_job(
        "acme",
        (job_ask_t){
            .queue = "express", .gpus = 4, .hours = 1, .runs_at = "north", .on_site_loss = HELIO_SITE_LOSS_EAGER});
    helio_job_key_t victim =
        add_job("globex", (job_ask_t){.queue = "batch", .gpus = 8, .hours = 9, .runs_at = "south"});
    rehearsed_t *r = REHEARSE(snapshot(), "down=north");
    assert_true(effects_on(r, late) & EFFECT(LATE));
    assert_true(effects_on(r, critical) & EFFECT(MOVES));
    assert_true(effects_on(r, victim) & EFFECT(PREEMPTED));
    assert_int_equal(r->difference.tenants[0].after.late - r->difference.tenants[0].before.late, 1); /* acme */
    assert_ptr_equal(r->difference.jobs[0].after, reh_lives_find(&r->after.lives, late)); /* the worst is first */
    forget(r);
}

static void drain__stops_nothing_and_lets_nothing_in(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    helio_job_key_t runs = add_job("acme", (job_ask_t){.gpus = 8, .hours = 1, .runs_at = "north"});
    helio_job_key_t waits = add_job("acme", (job_ask_t){.gpus = 8, .hours = 1});
    rehearsed_t *r = REHEARSE(snapshot(), "drain=north");
    assert_int_equal(effects_on(r, runs), 0);
    assert_int_equal(effects_on(r, waits), EFFECT(NEVER) | EFFECT(WAITS));
    forget(r);
}

/*  Of 8 GPUs five may be used: what starts at once leaves, by its checkpoint, and comes back when it is over. */
static void curtailment__stops_what_is_above_it_for_its_time(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    helio_job_key_t stays = add_job("acme", (job_ask_t){.gpus = 4, .hours = 6, .runs_at = "north", .ran_min = 30});
    helio_job_key_t leaves = add_job(
        "acme",
        (job_ask_t){.queue = "batch", .gpus = 4, .hours = 6, .runs_at = "north", .ran_min = 60, .checkpoint_min = 30});
    rehearsed_t *r = REHEARSE(snapshot(), "curtail=north:63%:2h");
    assert_int_equal(effects_on(r, stays), 0);
    assert_true(effects_on(r, leaves) & EFFECT(STOPPED));
    assert_true(effects_on(r, leaves) & EFFECT(WAITS));
    const reh_life_t *life = reh_lives_find(&r->after.lives, leaves);
    assert_int_equal(life->curtailed, 1);
    assert_in_range(life->waited_ms, 2 * HOUR - MINUTE, 2 * HOUR + 2 * MINUTE);
    assert_string_equal(life->site, "north");
    forget(r);
}

static void price__decides_where_a_job_starts_and_what_it_costs(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    add_site("south", 2, 0);
    helio_job_key_t runs = add_job("acme", (job_ask_t){.gpus = 4, .hours = 1, .runs_at = "north"});
    helio_job_key_t starts = add_job("acme", (job_ask_t){.gpus = 4, .hours = 1});
    rehearsed_t *r = REHEARSE(snapshot(), "price=north:3");
    assert_int_equal(effects_on(r, runs), EFFECT(DEARER));
    assert_int_equal(effects_on(r, starts), EFFECT(ELSEWHERE) | EFFECT(DEARER));
    const reh_changed_tenant_t *all = &r->difference.tenants[r->difference.tenant_count - 1];
    double more_usd = all->after.cost_usd - all->before.cost_usd;
    assert_true(more_usd > 11.99 && more_usd < 12.01); /* 4 × 2 USD, and 4 × 1 USD */
    forget(r);
}

static void goal__of_a_tenant_is_that_of_all_its_jobs(void **state)
{
    (void)state;
    add_site("dear", 1.05, 0);
    add_site("dirty", 1, 0);
    double clean[] = {1, 1, 1, 1}, dirt[] = {900, 900, 900, 900};
    helio_row_series_t series = {.site = HELIO_TEXT("dear"),
                                 .signal = HELIO_SIGNAL_CARBON,
                                 .kind = HELIO_TEXT("average"),
                                 .issued_ms = NOON,
                                 .start_ms = NOON,
                                 .step_s = 3600,
                                 .values = {clean, 4}};
    put_part(&parts.capacities, HELIO_SNAPSHOT_SERIES, &series);
    series.site = HELIO_TEXT("dirty");
    series.values.items = dirt;
    put_part(&parts.capacities, HELIO_SNAPSHOT_SERIES, &series);
    helio_job_key_t of_acme = add_job("acme", (job_ask_t){.gpus = 1, .hours = 1, .goal = HELIO_GOAL_GREEN});
    helio_job_key_t of_globex = add_job("globex", (job_ask_t){.gpus = 1, .hours = 1, .goal = HELIO_GOAL_CHEAP});
    rehearsed_t *r = REHEARSE(snapshot(), "goal=acme:cheap");
    assert_string_equal(reh_lives_find(&r->after.lives, of_globex)->site, "dirty");
    assert_string_equal(reh_lives_find(&r->before.lives, of_acme)->site, "dear");
    assert_int_equal(effects_on(r, of_acme), EFFECT(ELSEWHERE) | EFFECT(CHEAPER));
    assert_int_equal(effects_on(r, of_globex), 0);
    forget(r);
}

static void nodes_and_quota__give_and_take_room(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    helio_job_key_t runs =
        add_job("acme", (job_ask_t){.gpus = 8, .hours = 2, .runs_at = "north", .on_site_loss = HELIO_SITE_LOSS_EAGER});
    helio_job_key_t waits = add_job("acme", (job_ask_t){.gpus = 8, .hours = 1});
    helio_text_t taken = snapshot();
    rehearsed_t *more = REHEARSE(taken, "nodes=north/h100:2");
    assert_int_equal(effects_on(more, runs), 0);
    assert_int_equal(effects_on(more, waits), EFFECT(SOONER));
    forget(more);
    rehearsed_t *none = REHEARSE(taken, "nodes=north/h100:0");
    assert_true(effects_on(none, runs) & EFFECT(INTERRUPTED));
    assert_true(effects_on(none, waits) & EFFECT(NEVER));
    forget(none);
    rehearsed_t *both = REHEARSE(taken, "nodes=north/h100:2", "quota=acme:8"); /* there is room, and no right to it */
    assert_int_equal(effects_on(both, waits), 0);
    forget(both);
}

static void run__leaves_others_what_they_hold(void **state)
{
    (void)state;
    add_site("north", 1, 5);
    helio_job_key_t small = add_job("acme", (job_ask_t){.gpus = 3, .hours = 1});
    helio_job_key_t large = add_job("acme", (job_ask_t){.gpus = 4, .hours = 1});
    reh_result_t result;
    assert_int_equal(reh_run(snapshot(), NULL, 0, DAY, &result, &err), HELIO_OK);
    assert_int_equal(reh_lives_find(&result.lives, small)->state, HELIO_JOB_SUCCEEDED);
    assert_int_equal(reh_lives_find(&result.lives, large)->state, HELIO_JOB_QUEUED);
    reh_result_clear(&result);
}

static void past__jobs_are_submitted_again_and_work_as_long_as_then(void **state)
{
    (void)state;
    const helio_snapshot_past_t past = {NOON - 2 * HOUR, NOON + HOUR};
    add_site("north", 1, 0);
    helio_job_key_t first = add_past_job("acme", 8, NOON - HOUR, 30 * MINUTE);
    helio_job_key_t second = add_past_job("globex", 8, NOON - HOUR + MINUTE, 90 * MINUTE);
    helio_job_key_t before = add_past_job("globex", 1, NOON - 9 * HOUR, 0); /* how long is not known: its limit */
    put_part(&parts.expected, HELIO_SNAPSHOT_PAST, &past);
    rehearsed_t *r = REHEARSE(snapshot(), "quota=globex:4");
    const reh_life_t *a = reh_lives_find_origin(&r->before.lives, first);
    const reh_life_t *b = reh_lives_find_origin(&r->before.lives, second);
    assert_in_range(a->started_ms, NOON - HOUR, NOON - HOUR + 1000);
    assert_int_equal(a->ended_ms - a->started_ms, 30 * MINUTE);
    assert_in_range(b->started_ms, NOON - 30 * MINUTE, NOON - 29 * MINUTE);
    assert_int_equal(b->ended_ms - b->started_ms, 90 * MINUTE);
    assert_int_equal(reh_lives_find_origin(&r->before.lives, before)->ended_ms, NOON - HOUR);
    assert_int_equal(r->difference.job_count, 1);
    assert_true(helio_job_key_equal(r->difference.jobs[0].after->origin, second));
    assert_int_equal(r->difference.jobs[0].effects, EFFECT(NEVER) | EFFECT(WAITS));
    assert_true(r->difference.tenants[1].before.gpu_h > 12.99 && r->difference.tenants[1].after.gpu_h < 1.01);
    forget(r);
}

static void past__sites_publish_what_was_issued_by_then(void **state)
{
    (void)state;
    double morning[] = {100, 100, 100, 100}, noon[] = {500, 500, 500, 500};
    helio_row_series_t series = {.site = HELIO_TEXT("north"),
                                 .signal = HELIO_SIGNAL_CARBON,
                                 .kind = HELIO_TEXT("average"),
                                 .issued_ms = NOON - 2 * HOUR,
                                 .start_ms = NOON - 2 * HOUR,
                                 .step_s = 3600,
                                 .values = {morning, 4}};
    const helio_snapshot_past_t past = {NOON - 2 * HOUR, NOON + HOUR};
    add_site("north", 1, 0);
    helio_job_key_t first = add_past_job("acme", 8, NOON - 2 * HOUR, HOUR);
    helio_job_key_t second = add_past_job("acme", 8, NOON, HOUR);
    put_part(&parts.expected, HELIO_SNAPSHOT_PAST, &past);
    put_part(&parts.capacities, HELIO_SNAPSHOT_SERIES, &series);
    series.issued_ms = series.start_ms = NOON;
    series.values.items = noon;
    put_part(&parts.capacities, HELIO_SNAPSHOT_SERIES, &series);
    reh_result_t result;
    assert_int_equal(reh_run(snapshot(), NULL, 0, DAY, &result, &err), HELIO_OK);
    const reh_life_t *a = reh_lives_find_origin(&result.lives, first);
    const reh_life_t *b = reh_lives_find_origin(&result.lives, second);
    assert_int_equal(a->energy_j, b->energy_j);
    assert_in_range(b->carbon_mg, 5 * a->carbon_mg - 10, 5 * a->carbon_mg + 10);
    reh_result_clear(&result);
}

static void run__refuses_what_the_broker_would(void **state)
{
    (void)state;
    static const struct {
        const char *change, *says;
    } rows[] = {{"down=nowhere", "no site 'nowhere'"},
                {"nodes=north/a100:3", "no pool 'a100'"},
                {"quota=nobody:3", "nobody"},
                {"goal=nobody:green", "no tenant 'nobody'"},
                {"quota=acme/nothing:3", "nothing"}};
    add_site("north", 1, 0);
    helio_text_t taken = snapshot();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reh_change_t change;
        reh_result_t result;
        assert_int_equal(reh_change_parse(rows[i].change, &change, &err), HELIO_OK);
        assert_int_not_equal(reh_run(taken, &change, 1, DAY, &result, &err), HELIO_OK);
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s: %s", rows[i].change, err.text);
    }
}

static void run__of_one_snapshot_is_always_the_same(void **state)
{
    (void)state;
    add_site("north", 1, 0);
    add_site("south", 2, 3);
    for (uint32_t i = 0; i < 12; i++)
        (void)add_job(i % 2 ? "acme" : "globex", (job_ask_t){.gpus = 1 + i % 4, .hours = 1 + i % 3});
    helio_text_t taken = snapshot();
    helio_buffer_t texts[2] = {0};
    for (uint32_t i = 0; i < 2; i++) {
        reh_change_t change;
        assert_int_equal(reh_change_parse("down=north:2h", &change, &err), HELIO_OK);
        rehearsed_t *r = REHEARSE(taken, "down=north:2h");
        reh_difference_json(&r->difference, &change, 1, &texts[i]);
        forget(r);
    }
    assert_int_equal(texts[0].size, texts[1].size);
    assert_memory_equal(texts[0].data, texts[1].data, texts[0].size);
    helio_buffer_clear(&texts[0]);
    helio_buffer_clear(&texts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(run__as_it_is_ends_each_job_when_its_like_do),
        CASE(down__moves_what_may_go_and_keeps_what_must_stay),
        CASE(down__for_a_while_lets_strict_jobs_begin_anew),
        CASE(down__shorter_than_a_lease_ends_what_ran_there_at_the_return),
        CASE(down__makes_jobs_late_and_others_give_way),
        CASE(drain__stops_nothing_and_lets_nothing_in),
        CASE(curtailment__stops_what_is_above_it_for_its_time),
        CASE(price__decides_where_a_job_starts_and_what_it_costs),
        CASE(goal__of_a_tenant_is_that_of_all_its_jobs),
        CASE(nodes_and_quota__give_and_take_room),
        CASE(run__leaves_others_what_they_hold),
        CASE(past__jobs_are_submitted_again_and_work_as_long_as_then),
        CASE(past__sites_publish_what_was_issued_by_then),
        CASE(run__refuses_what_the_broker_would),
        CASE(run__of_one_snapshot_is_always_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
