/*  test_preempted.c -- each promise of the fault campaign on preemptions is seen when it is broken, and only then. */
#include "tests/unit/simulator/checks/checks_testing.h"

#include "federation/policy/victim_set.h"

static const char *wanted_queue;

/*  One job of that queue, of the tenant red. */
static bool is_of_red(const stage_t *self)
{
    return helio_text_is(job_at(self, 0)->queue, wanted_queue) && strcmp(job_at(self, 0)->tenant, "red") == 0;
}

static stage_t *stage_of_queue(const char *queue)
{
    wanted_queue = queue;
    stage_t *self = stage_of(1, is_of_red);
    accept_job(self, 0);
    return self;
}

/*  For job 1, in that queue and of that tenant. */
static helio_details_t preempted_by(stage_t *self, const char *tenant, const char *queue)
{
    helio_arena_t *arena = sim_arena(self->engine);
    char key[HELIO_KEY_SIZE];
    helio_details_t why = {0};
    helio_job_key_text(key_at(1), key);
    helio_details_add(
        &why, arena,
        HELIO_DETAIL(arena, HELIO_DETAIL_PREEMPTED_BY, helio_value_string(tenant), helio_value_string(queue),
                     helio_value_text(helio_arena_text(arena, helio_text_of(key)))));
    return why;
}

/*  A leader tells a job to leave, for one of that tenant in that queue. */
static void preempt_one(stage_t *self, uint32_t index, const char *tenant, const char *queue)
{
    helio_row_transition_t row = {.key = key_at(index),
                                  .from = HELIO_JOB_RUNNING,
                                  .to = HELIO_JOB_STOPPING,
                                  .why = preempted_by(self, tenant, queue)};
    decided(self, HELIO_BROKER_FX_ROW_TRANSITION, &row);
}

static void preempt(stage_t *self, const char *tenant, const char *queue)
{
    preempt_one(self, 0, tenant, queue);
}

static void a_job__leaves_only_for_a_higher_tier_or_what_another_tenant_is_guaranteed(void **state)
{
    (void)state;
    static const struct {
        const char *victim, *tenant, *queue, *broken;
    } cases[] = {
        {"urgent", "blue", "urgent", "critical work was preempted"},
        {"urgent", "red", "urgent", "critical work was preempted"},
        {"standard", "blue", "urgent", NULL},
        {"standard", "red", "urgent", NULL},
        {"standard", "blue", "batch", NULL}, /* it reclaims what it is guaranteed */
        {"standard", "red", "batch", "of no higher tier that reclaims no guarantee"},
        {"standard", "blue", "spare", "of no higher tier that reclaims no guarantee"},
        {"spare", "blue", "standard", NULL},
        {"spare", "red", "standard", NULL},
        {"spare", "blue", "spare", NULL},
        {"spare", "red", "spare", "of no higher tier that reclaims no guarantee"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_t *self = stage_of_queue(cases[i].victim);
        preempt(self, cases[i].tenant, cases[i].queue);
        if (cases[i].broken) {
            expect_broken(&self, cases[i].broken);
            continue;
        }
        expect_kept(self);
        assert_int_equal(sim_checks_seen(self->checks).preemptions, 1);
        stage_destroy(&self);
    }
}

static void standard_work__leaves_a_bounded_number_of_times_for_others(void **state)
{
    (void)state;
    static const struct {
        const char *victim, *tenant;
        bool bounded;
    } cases[] = {{"standard", "blue", true}, {"standard", "red", false}, {"spare", "blue", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_t *self = stage_of_queue(cases[i].victim);
        for (uint32_t times = 0; times < HELIO_PREEMPT_TIMES_MAX; times++)
            preempt(self, cases[i].tenant, "urgent");
        expect_kept(self);
        preempt(self, cases[i].tenant, "urgent");
        if (cases[i].bounded) {
            expect_broken(&self, "a job was preempted 6 times for other tenants");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

static void a_preemption__counts_only_when_it_was_for_another_tenant(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        stage_t *self = stage_of_queue("standard");
        helio_row_state_t row = {.key = key_at(0), .preemptions = 0};
        preempt(self, own ? "red" : "blue", "urgent");
        decided(self, HELIO_BROKER_FX_ROW_STATE, &row);
        expect_kept(self);
        row.preemptions = 1;
        decided(self, HELIO_BROKER_FX_ROW_STATE, &row);
        if (own) {
            expect_broken(&self, "a preemption for the tenant's own work was counted");
            continue;
        }
        expect_kept(self);
        row.preemptions = 2;
        decided(self, HELIO_BROKER_FX_ROW_STATE, &row);
        expect_broken(&self, "a preemption for the tenant's own work was counted");
    }
}

/*  Job 0 leaves for job 1, which nothing ends or delays. */
static bool second_is_wanted(const stage_t *self)
{
    const sim_job_t *job = job_at(self, 1);
    return helio_text_is(job_at(self, 0)->queue, "standard") && strcmp(job_at(self, 0)->tenant, "red") == 0 &&
           !job_at(self, 0)->deadline_ms && helio_text_is(job->queue, "urgent") && strcmp(job->tenant, "blue") == 0 &&
           !job->cancel_ms && !job->deadline_ms && !job->submission.spec.flexible_ms && job->submission.spec.gpus.count;
}

static bool third_can_be_there(const stage_t *self)
{
    return second_is_wanted(self) && !job_at(self, 2)->deadline_ms && !job_at(self, 2)->after_count &&
           job_at(self, 2)->tasks == 1;
}

/*  What the site has beside the GPUs that job 1 asks for. */
static uint32_t spare_gpus(const stage_t *self)
{
    const helio_job_spec_t *spec = &job_at(self, 1)->submission.spec;
    return SIM_NODES_PER_SITE * SIM_GPUS_PER_NODE - spec->nodes * spec->gpus.items[0].count;
}

static void a_place_that_was_made__is_not_given_back_to_the_job_that_left_it(void **state)
{
    (void)state;
    static const struct {
        const char *back_at; /* where job 0 is placed again */
        bool other_first, other_after, broken;
    } cases[] = {
        {"site0", false, false, true},
        {"site1", false, false, false}, /* it makes no difference there */
        {"site0", true, false, false},
        {"site0", false, true, false}, /* one round may place both, in any order */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_t *self = stage_of(2, second_is_wanted);
        accept_job(self, 0);
        accept_job(self, 1);
        helio_row_placement_t first = placement_of(self, 0, 1, "site0"), other = placement_of(self, 1, 1, "site0"),
                              back = placement_of(self, 0, 2, cases[i].back_at);
        back.gpus = spare_gpus(self) + 1;
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &first);
        preempt(self, "blue", "urgent");
        if (cases[i].other_first)
            decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &other);
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &back);
        if (cases[i].other_after)
            decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &other);
        sim_checks_step(self->checks);
        if (cases[i].broken) {
            expect_broken(&self, "was placed again before the job that preempted it");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

/*  More can come back than job 1 needs. Beside jobs 0 and 2 nothing is at the site. */
static void what_came_back_beyond_that_place__is_free(void **state)
{
    (void)state;
    static const struct {
        uint32_t more;         /* than what is spare, less one GPU for job 2 */
        bool has_other, stops; /* job 2 is there; and leaves as well */
        bool broken;
    } cases[] = {{1, false, false, false}, {2, false, false, true}, {0, true, false, false},
                 {1, true, false, true},   {1, true, true, false},  {2, true, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_t *self = stage_of(3, third_can_be_there);
        for (uint32_t job = 0; job < 3; job++)
            accept_job(self, job);
        helio_row_placement_t first = placement_of(self, 0, 1, "site0"), other = placement_of(self, 2, 1, "site0"),
                              back = placement_of(self, 0, 2, "site0");
        other.gpus = 1;
        back.gpus = spare_gpus(self) - 1 + cases[i].more;
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &first);
        if (cases[i].has_other)
            decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &other);
        preempt(self, "blue", "urgent");
        helio_row_transition_t stops = {.key = key_at(2), .from = HELIO_JOB_RUNNING, .to = HELIO_JOB_STOPPING};
        if (cases[i].stops)
            decided(self, HELIO_BROKER_FX_ROW_TRANSITION, &stops);
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &back);
        sim_checks_step(self->checks);
        if (cases[i].broken) {
            expect_broken(&self, "was placed again before the job that preempted it");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

static void store_state(stage_t *self, uint32_t index, uint32_t state)
{
    helio_row_state_t row = {
        .key = key_at(index), .epoch = 1, .state = state, .why = preempted_by(self, "blue", "urgent")};
    durable(self, HELIO_BROKER_FX_ROW_STATE, &row);
}

/*  Job 2 runs at site1; the last leader had placed it again at site0, which was not stored. */
static void a_placement_that_was_lost_with_its_leader__takes_no_room(void **state)
{
    (void)state;
    stage_t *self = stage_of(3, third_can_be_there);
    new_leader(self);
    for (uint32_t job = 0; job < 3; job++)
        accept_job(self, job);
    helio_row_placement_t first = placement_of(self, 0, 1, "site0"), lost = placement_of(self, 2, 2, "site0"),
                          back = placement_of(self, 0, 2, "site0");
    lost.gpus = 1;
    back.gpus = spare_gpus(self);
    helio_row_state_t runs = {.key = key_at(2),
                              .epoch = 1,
                              .state = HELIO_JOB_RUNNING,
                              .site = HELIO_TEXT("site1"),
                              .pool = HELIO_TEXT("gpus")};
    durable(self, HELIO_BROKER_FX_ROW_STATE, &runs);
    decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &lost);
    sim_checks_taken_over(self->checks);
    decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &first);
    preempt(self, "blue", "urgent");
    decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &back);
    sim_checks_step(self->checks);
    expect_kept(self);
    stage_destroy(&self);
}

/*  Jobs 0 and 2 leave for job 1; job 0 has left when a new leader takes over, and is placed again there. */
static void a_place_that_was_made__is_held_by_the_next_leader_while_a_job_leaves_it(void **state)
{
    (void)state;
    static const struct {
        bool stored;    /* that both leave */
        uint32_t other; /* the state of job 2 */
        bool broken;
    } cases[] = {{true, HELIO_JOB_STOPPING, true},
                 {true, HELIO_JOB_QUEUED, false}, /* nothing tells the new leader of the preemption */
                 {true, HELIO_JOB_RUNNING, false},
                 {false, HELIO_JOB_STOPPING, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_t *self = stage_of(3, third_can_be_there);
        new_leader(self);
        for (uint32_t job = 0; job < 3; job++)
            accept_job(self, job);
        helio_row_placement_t first = placement_of(self, 0, 1, "site0"), other = placement_of(self, 2, 1, "site0"),
                              back = placement_of(self, 0, 2, "site0");
        back.gpus = spare_gpus(self) + 1;
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &first);
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &other);
        preempt_one(self, 0, "blue", "urgent");
        preempt_one(self, 2, "blue", "urgent");
        if (cases[i].stored) {
            store_state(self, 0, HELIO_JOB_QUEUED);
            store_state(self, 2, cases[i].other);
        }
        sim_checks_taken_over(self->checks);
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &back);
        sim_checks_step(self->checks);
        if (cases[i].broken) {
            expect_broken(&self, "was placed again before the job that preempted it");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

/*  preempts: where, by its details; NULL = nowhere. */
static void row_class(stage_t *self, helio_reason_t reason, const char *preempts, bool elsewhere)
{
    helio_arena_t *arena = sim_arena(self->engine);
    helio_row_class_t row = {.tenant = HELIO_TEXT("blue"),
                             .queue = HELIO_TEXT("urgent"),
                             .reason = helio_text_of(helio_reason_name(reason))};
    helio_details_add(
        &row.details, arena,
        preempts ? HELIO_DETAIL(arena, HELIO_DETAIL_PREEMPTS, helio_value_number(1), helio_value_string(preempts),
                                helio_value_string("gpus"), helio_value_number(1), helio_value_number(elsewhere))
                 : (helio_detail_t){.code = HELIO_DETAIL_POOLS_FULL});
    decided(self, HELIO_BROKER_FX_ROW_CLASS, &row);
}

static void leave(stage_t *self)
{
    helio_row_transition_t row = {.key = key_at(0),
                                  .from = HELIO_JOB_STOPPING,
                                  .to = HELIO_JOB_QUEUED,
                                  .why = preempted_by(self, "blue", "urgent")};
    decided(self, HELIO_BROKER_FX_ROW_TRANSITION, &row);
}

static void a_place_that_was_made_in_vain__is_free_once_the_class_has_given_up(void **state)
{
    (void)state;
    static const struct {
        helio_reason_t reason;
        const char *preempts;
        bool elsewhere, left, broken;
    } cases[] = {
        {HELIO_REASON_WAITING_FOR_CAPACITY, NULL, false, true, false},
        {HELIO_REASON_WAITING_FOR_CAPACITY, NULL, false, false, true}, /* it may still hope */
        {HELIO_REASON_WAITING_FOR_CAPACITY, "site0", false, true, true},
        {HELIO_REASON_WAITING_FOR_CAPACITY, "site1", true, true, true},
        {HELIO_REASON_WAITING_FOR_CAPACITY, "site1", false, true, false}, /* for another job of the class */
        {HELIO_REASON_POLICY_CAP, NULL, false, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stage_t *self = stage_of(2, second_is_wanted);
        accept_job(self, 0);
        accept_job(self, 1);
        helio_row_placement_t first = placement_of(self, 0, 1, "site0"), back = placement_of(self, 0, 2, "site0");
        back.gpus = spare_gpus(self) + 1;
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &first);
        preempt(self, "blue", "urgent");
        if (cases[i].left)
            leave(self);
        row_class(self, cases[i].reason, cases[i].preempts, cases[i].elsewhere);
        decided(self, HELIO_BROKER_FX_ROW_PLACEMENT, &back);
        sim_checks_step(self->checks);
        if (cases[i].broken) {
            expect_broken(&self, "was placed again before the job that preempted it");
            continue;
        }
        expect_kept(self);
        stage_destroy(&self);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job__leaves_only_for_a_higher_tier_or_what_another_tenant_is_guaranteed),
        cmocka_unit_test(standard_work__leaves_a_bounded_number_of_times_for_others),
        cmocka_unit_test(a_preemption__counts_only_when_it_was_for_another_tenant),
        cmocka_unit_test(a_place_that_was_made__is_not_given_back_to_the_job_that_left_it),
        cmocka_unit_test(what_came_back_beyond_that_place__is_free),
        cmocka_unit_test(a_placement_that_was_lost_with_its_leader__takes_no_room),
        cmocka_unit_test(a_place_that_was_made__is_held_by_the_next_leader_while_a_job_leaves_it),
        cmocka_unit_test(a_place_that_was_made_in_vain__is_free_once_the_class_has_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
