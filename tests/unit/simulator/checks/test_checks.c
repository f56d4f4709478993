/*  test_checks.c -- each promise of the fault campaign on placements, orders, limits, edits and ends is seen when it is
 *  broken, and only then. */
#include "tests/unit/simulator/checks/checks_testing.h"

/*  One plain job: no tasks, no dependency, nothing that ends it early or lets it wait. */
static bool is_plain(const sim_job_t *job)
{
    return job->tasks == 1 && !job->after_count && !job->cancel_ms && !job->deadline_ms && !job->limit_hits &&
           !job->submission.spec.not_before_wall_ms;
}

static bool first_is_plain(const stage_t *self)
{
    return is_plain(job_at(self, 0));
}

/* ---- decisions --------------------------------------------------------------------------------------------- */

static void a_plan_or_an_explanation__changes_nothing(void **state)
{
    (void)state;
    static const uint32_t events[] = {HELIO_BROKER_EV_PLAN, HELIO_BROKER_EV_EXPLAIN, HELIO_BROKER_EV_DESIRED,
                                      HELIO_BROKER_EV_QUEUE_ORDER};
    helio_fx_reply_t reply = {.call = 1};
    helio_row_state_t row = {.key = key_at(0)};
    for (size_t i = 0; i < 4; i++) {
        stage_t *self = stage_of(1, first_is_plain);
        const helio_effect_t answer = {.kind = i >= 2 ? HELIO_BROKER_FX_ANSWER : HELIO_BROKER_FX_REPLY,
                                       .payload = &reply};
        sim_checks_decided(self->checks, events[i], &answer, 0);
        expect_kept(self);
        decided_at(self, events[i], HELIO_BROKER_FX_ROW_STATE, &row, 0);
        expect_broken(&self, "a plan, an explanation or a look at the GPUs wanted or at the order changed something");
    }
}

static void a_placement__is_expected_to_take_no_longer_than_its_limit(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        stage_t *self = stage_of(1, first_is_plain);
        accept_job(self, 0);
        helio_row_placement_t row = placement_of(self, 0, 1, "site0");
        row.expected_ms = i == 1 ? 0 : i == 2 ? row.expected_high_ms + 1 : row.expected_ms;
        row.expected_high_ms += i == 3;
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &row);
        if (i) {
            expect_broken(&self, "is expected to take");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

static bool first_has_deadline(const stage_t *self)
{
    return job_at(self, 0)->deadline_ms && !job_at(self, 0)->submission.spec.not_before_wall_ms;
}

static void a_placement__is_expected_to_end_before_its_deadline(void **state)
{
    (void)state;
    for (int64_t late_ms = 0; late_ms < 2; late_ms++) {
        stage_t *self = stage_of(1, first_has_deadline);
        accept_job(self, 0);
        helio_row_placement_t row = placement_of(self, 0, 1, "site0");
        int64_t at_ms = job_at(self, 0)->deadline_ms - (int64_t)row.expected_high_ms + late_ms;
        decided_at(self, HELIO_BROKER_EV_TICK, HELIO_BROKER_FX_ROW_PLACEMENT, &row, at_ms);
        if (late_ms) {
            expect_broken(&self, "is expected to end 1 ms after its deadline");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

static bool first_waits_for_a_time(const stage_t *self)
{
    const sim_job_t *job = job_at(self, 0);
    return job->submission.spec.not_before_wall_ms && !job->deadline_ms && job->tasks == 1;
}

static void a_placement__waits_for_the_time_of_its_job_once(void **state)
{
    (void)state;
    for (uint32_t epoch = 1; epoch <= 2; epoch++) {
        stage_t *self = stage_of(1, first_waits_for_a_time);
        accept_job(self, 0);
        new_leader(self);
        helio_row_placement_t row = placement_of(self, 0, epoch, "site0");
        int64_t at_ms = job_at(self, 0)->submission.spec.not_before_wall_ms;
        decided_at(self, HELIO_BROKER_EV_TICK, HELIO_BROKER_FX_ROW_PLACEMENT, &row, at_ms - 1);
        if (epoch == 1) {
            expect_broken(&self, "1 ms before its time");
            continue;
        }
        expect_kept(self); /* it returned to its queue: that hold has ended */
        stage_destroy(&self);
    }
}

static void a_placement__may_follow_the_time_of_its_job_when_the_clock_is_set_back(void **state)
{
    (void)state;
    stage_t *self = stage_of(1, first_waits_for_a_time);
    accept_job(self, 0);
    new_leader(self);
    helio_row_placement_t row = placement_of(self, 0, 1, "site0");
    int64_t at_ms = job_at(self, 0)->submission.spec.not_before_wall_ms;
    decided_at(self, HELIO_BROKER_EV_TICK, HELIO_BROKER_FX_ROW_PLACEMENT, &row, at_ms);
    decided_at(self, HELIO_BROKER_EV_TICK, HELIO_BROKER_FX_ROW_PLACEMENT, &row, at_ms - 1000);
    expect_kept(self);
    sim_checks_taken_over(self->checks); /* the next leader goes by its own clock */
    decided_at(self, HELIO_BROKER_EV_TICK, HELIO_BROKER_FX_ROW_PLACEMENT, &row, at_ms - 1000);
    expect_broken(&self, "1000 ms before its time");
}

/* ---- leases ------------------------------------------------------------------------------------------------ */

static bool any(const stage_t *self)
{
    (void)self;
    return true;
}

static void a_lease__counts_from_a_time_at_which_its_leader_led(void **state)
{
    (void)state;
    static const struct {
        int64_t late_ms;
        bool newest, broken;
    } cases[] = {{0, false, false}, {1, true, false}, {1, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_t *self = stage_of(1, any);
        new_leader(self);
        int64_t boot_ms = sim_boot_ms(self->engine, &self->federation->hosts[1].clock);
        sim_checks_granted(self->checks, 1, boot_ms + cases[i].late_ms, cases[i].newest);
        if (cases[i].broken) {
            expect_broken(&self, "a lease that was asked for 1 ms after it had been replaced");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

/* ---- orders ------------------------------------------------------------------------------------------------ */

static void an_order__leaves_after_its_placement_is_durable(void **state)
{
    (void)state;
    stage_t *self = stage_of(1, first_is_plain);
    accept_job(self, 0);
    helio_row_placement_t row = placement_of(self, 0, 1, "site0");
    helio_order_t order = {.key = key_at(0), .epoch = 1, .source = helio_text_of(job_at(self, 0)->source)};
    durable(self, HELIO_BROKER_FX_ROW_PLACEMENT, &row);
    sim_checks_order_left(self->checks, &order);
    expect_kept(self);
    order.epoch = 2;
    sim_checks_order_left(self->checks, &order);
    expect_broken(&self, "an order left before its placement was durable");
}

static helio_after_t wanted_after;

static bool second_waits_for_first(const stage_t *self)
{
    const sim_job_t *job = job_at(self, 1);
    return job->after_count == 1 && job->afters[0].after == wanted_after && job->afters[0].task == HELIO_NO_TASK &&
           is_plain(job_at(self, 0)) && job->tasks == 1 && !job->deadline_ms;
}

/*  Whether a job that ended so lets the one that waits for it go, by how it waits. */
static void an_order__leaves_after_what_its_job_waits_for(void **state)
{
    (void)state;
    static const uint32_t ends[] = {HELIO_JOB_QUEUED, HELIO_JOB_SUCCEEDED, HELIO_JOB_FAILED};
    for (size_t k = 0; k < 3 * HELIO_AFTER_TASK; k++) {
        size_t i = k % 3;
        helio_after_t after = wanted_after = (helio_after_t)(k / 3);
        stage_t *self = stage_of(2, second_waits_for_first);
        accept_job(self, 0);
        accept_job(self, 1);
        helio_row_placement_t row = placement_of(self, 1, 1, "site0");
        durable(self, HELIO_BROKER_FX_ROW_PLACEMENT, &row);
        helio_row_state_t end = {.key = key_at(0), .state = ends[i], .epoch = 1};
        if (i)
            durable(self, HELIO_BROKER_FX_ROW_STATE, &end);
        helio_order_t order = {.key = key_at(1), .epoch = 1, .source = helio_text_of(job_at(self, 1)->source)};
        bool comes = i && (after == HELIO_AFTER_ANY || after == HELIO_AFTER_START ||
                           (after == HELIO_AFTER_OK) == (ends[i] == HELIO_JOB_SUCCEEDED));
        sim_checks_order_left(self->checks, &order);
        if (!comes) {
            expect_broken(&self, "an order left before the dependencies of its job were satisfied");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

enum { ARRAYS = 12 /* jobs among which there is an array after another */ };

static uint32_t array_after_array(const stage_t *self)
{
    for (uint32_t i = 0; i < ARRAYS; i++) {
        const sim_job_t *job = job_at(self, i), *on = job_at(self, job->afters[0].job);
        if (job->after_count == 1 && job->afters[0].after == HELIO_AFTER_TASK && !job->deadline_ms && !on->after_count)
            return i;
    }
    return 0;
}

static bool has_array_after_array(const stage_t *self)
{
    return array_after_array(self) > 0;
}

/*  Whatever becomes of the other tasks. */
static void an_order__of_a_task_leaves_after_the_task_of_its_index(void **state)
{
    (void)state;
    for (int32_t task = 0; task < 2; task++) {
        stage_t *self = stage_of(ARRAYS, has_array_after_array);
        uint32_t at = array_after_array(self), on = job_at(self, at)->afters[0].job;
        accept_job(self, on);
        accept_job(self, at);
        helio_row_state_t failed = {.key = key_at(on), .state = HELIO_JOB_FAILED, .epoch = 1}, good = failed;
        good.key.task = 0;
        good.state = HELIO_JOB_SUCCEEDED;
        failed.key.task = 1;
        durable(self, HELIO_BROKER_FX_ROW_STATE, &good);
        durable(self, HELIO_BROKER_FX_ROW_STATE, &failed);
        helio_row_placement_t row = placement_of(self, at, 1, "site0");
        row.key.task = task;
        durable(self, HELIO_BROKER_FX_ROW_PLACEMENT, &row);
        helio_order_t order = {.key = row.key, .epoch = 1, .source = helio_text_of(job_at(self, at)->source)};
        sim_checks_order_left(self->checks, &order);
        if (task) {
            expect_broken(&self, "an order left before the dependencies of its job were satisfied");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

/* ---- what runs --------------------------------------------------------------------------------------------- */

static void start(stage_t *self, uint32_t index, uint32_t epoch, uint32_t site, uint32_t gpu, uint32_t on_site_loss)
{
    helio_slot_t slot = {.node = 1, .gpus = {&gpu, 1}};
    helio_afx_start_t fx = {.order = {.key = key_at(index),
                                      .epoch = epoch,
                                      .nodes = 1,
                                      .gpus_per_node = 1,
                                      .on_site_loss = on_site_loss,
                                      .source = helio_text_of(job_at(self, index)->source)},
                            .slots = {&slot, 1}};
    sim_backend_start(self->federation->backend, site, &fx);
    sim_checks_step(self->checks);
}

static void two_attempts__never_hold_one_gpu(void **state)
{
    (void)state;
    stage_t *self = stage_new(7, 3);
    start(self, 0, 1, 0, 1, HELIO_SITE_LOSS_STRICT);
    start(self, 1, 1, 0, 2, HELIO_SITE_LOSS_STRICT); /* another GPU of the node */
    start(self, 2, 1, 1, 1, HELIO_SITE_LOSS_STRICT); /* the same one of another site */
    expect_kept(self);
    start(self, 1, 2, 0, 1, HELIO_SITE_LOSS_EAGER);
    expect_broken(&self, "two attempts hold one GPU of site0");
}

static void two_copies_of_a_job__run_at_once_only_by_its_own_choice(void **state)
{
    (void)state;
    for (uint32_t loss = 0; loss < HELIO_SITE_LOSS_COUNT; loss++) {
        stage_t *self = stage_new(7, 1);
        start(self, 0, 1, 0, 1, loss);
        expect_kept(self);
        start(self, 0, 2, 1, 1, loss);
        if (loss != HELIO_SITE_LOSS_EAGER) {
            expect_broken(&self, "run at once: epochs");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

static void an_attempt__is_started_once_even_when_its_traces_are_gone(void **state)
{
    (void)state;
    stage_t *self = stage_new(7, 1);
    helio_afx_forget_t forget = {.key = key_at(0), .epoch = 1};
    start(self, 0, 1, 0, 1, HELIO_SITE_LOSS_STRICT);
    start(self, 0, 1, 0, 1, HELIO_SITE_LOSS_STRICT); /* told twice, and found by its name */
    expect_kept(self);
    for (int i = 0; i < 100000 && sim_backend_runs(self->federation->backend)->running; i++)
        if (!sim_engine_step(self->engine))
            break;
    sim_backend_forget(self->federation->backend, &forget);
    start(self, 0, 1, 0, 1, HELIO_SITE_LOSS_STRICT);
    expect_broken(&self, "an attempt was started twice");
}

static void what_the_database_refuses__ends_the_run_in_its_words(void **state)
{
    (void)state;
    stage_t *self = stage_of(1, first_is_plain);
    accept_job(self, 0);
    sim_checks_step(self->checks);
    expect_kept(self);
    helio_row_attempt_t end = {.key = key_at(0), .epoch = 1, .completes = true};
    durable(self, HELIO_BROKER_FX_ROW_ATTEMPT, &end);
    end.epoch = 2;
    durable(self, HELIO_BROKER_FX_ROW_ATTEMPT, &end);
    sim_checks_step(self->checks);
    assert_string_not_equal(sim_database_violation(self->federation->database), "");
    expect_broken(&self, sim_database_violation(self->federation->database));
}

/* ---- limits ------------------------------------------------------------------------------------------------ */

static bool all_are_of_red_in_standard(const stage_t *self)
{
    for (uint32_t i = 0; i < sim_workload_count(self->workload); i++)
        if (strcmp(job_at(self, i)->tenant, "red") != 0 || !helio_text_is(job_at(self, i)->queue, "standard") ||
            !is_plain(job_at(self, i)))
            return false;
    return true;
}

/*  8 GPUs of the job are held from now on. */
static void hold(stage_t *self, uint32_t index)
{
    helio_row_placement_t row = placement_of(self, index, 1, "site0");
    row.expected_ms = HOUR_MS;
    helio_row_state_t at_site = {.key = key_at(index), .state = HELIO_JOB_OFFERED, .epoch = 1};
    accept_job(self, index);
    durable(self, HELIO_BROKER_FX_ROW_PLACEMENT, &row);
    durable(self, HELIO_BROKER_FX_ROW_STATE, &at_site);
    sim_checks_committed(self->checks);
}

static void a_quota__holds_for_each_new_placement_and_stops_no_old_one(void **state)
{
    (void)state;
    static const char *const queues[] = {"", "standard", "batch"};
    for (size_t i = 0; i < 3; i++) {
        stage_t *self = stage_of(2, all_are_of_red_in_standard);
        helio_row_quota_t quota = {.tenant = HELIO_TEXT("red"), .queue = helio_text_of(queues[i]), .burst_gpus = 4};
        hold(self, 0);
        durable(self, HELIO_BROKER_FX_ROW_QUOTA, &quota); /* lowered below what is held */
        sim_checks_committed(self->checks);
        sim_checks_committed(self->checks);
        expect_kept(self);
        hold(self, 1);
        if (i < 2) {
            expect_broken(&self, i ? "red holds 16 GPUs in standard queue, its limit is 4"
                                   : "red holds 16 GPUs in every queue, its limit is 4");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

static bool is_budgeted(const stage_t *self)
{
    return sim_has_budgets(sim_seed(self->engine)) && all_are_of_red_in_standard(self);
}

static void a_budget__holds_for_what_is_placed_after_it(void **state)
{
    (void)state;
    static const int64_t hours[] = {1, 8, 15, 16};
    for (size_t i = 0; i < sizeof hours / sizeof hours[0]; i++) {
        stage_t *self = stage_of(2, is_budgeted);
        helio_row_budget_t budget = {.tenant = HELIO_TEXT("red"),
                                     .kind = HELIO_BUDGET_GPU,
                                     .amount = hours[i] * HOUR_MS,
                                     .period = HELIO_PERIOD_DAY};
        hold(self, 0); /* 8 GPUs for an hour */
        durable(self, HELIO_BROKER_FX_ROW_BUDGET, &budget);
        sim_checks_committed(self->checks);
        expect_kept(self);
        hold(self, 1);
        if (hours[i] < 16) {
            expect_broken(&self, "red has 57600 GPU-seconds charged and committed in one day");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

/* ---- edits ------------------------------------------------------------------------------------------------- */

static void an_edit__that_is_stored_holds_for_the_next_leader(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        stage_t *self = stage_of(1, first_is_plain);
        accept_job(self, 0);
        const helio_job_spec_t *spec = &job_at(self, 0)->submission.spec;
        helio_row_edit_t edit = {.job = key_at(0).job,
                                 .priority = i == 1,
                                 .goal = i == 2 ? (spec->goal + 1) % HELIO_GOAL_COUNT : spec->goal,
                                 .deadline_wall_ms = i == 3,
                                 .queue = i == 4 ? HELIO_TEXT("urgent") : spec->queue};
        new_leader(self);
        expect_kept(self); /* it was never edited */
        durable(self, HELIO_BROKER_FX_ROW_EDIT, &edit);
        sim_checks_taken_over(self->checks);
        if (i) {
            expect_broken(&self, "an edit was forgotten at a takeover");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_or_an_explanation__changes_nothing),
        cmocka_unit_test(a_placement__is_expected_to_take_no_longer_than_its_limit),
        cmocka_unit_test(a_placement__is_expected_to_end_before_its_deadline),
        cmocka_unit_test(a_placement__waits_for_the_time_of_its_job_once),
        cmocka_unit_test(a_placement__may_follow_the_time_of_its_job_when_the_clock_is_set_back),
        cmocka_unit_test(a_lease__counts_from_a_time_at_which_its_leader_led),
        cmocka_unit_test(an_order__leaves_after_its_placement_is_durable),
        cmocka_unit_test(an_order__leaves_after_what_its_job_waits_for),
        cmocka_unit_test(an_order__of_a_task_leaves_after_the_task_of_its_index),
        cmocka_unit_test(two_attempts__never_hold_one_gpu),
        cmocka_unit_test(two_copies_of_a_job__run_at_once_only_by_its_own_choice),
        cmocka_unit_test(an_attempt__is_started_once_even_when_its_traces_are_gone),
        cmocka_unit_test(what_the_database_refuses__ends_the_run_in_its_words),
        cmocka_unit_test(a_quota__holds_for_each_new_placement_and_stops_no_old_one),
        cmocka_unit_test(a_budget__holds_for_what_is_placed_after_it),
        cmocka_unit_test(an_edit__that_is_stored_holds_for_the_next_leader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
