/*  test_submit.c -- durable accept: what a submission stores, its reply, and what stores nothing. */
#include <string.h>

#include "tests/support/core_harness.h"

static harness_t *h;
static helio_site_profile_t *north;

static int begin(void **state)
{
    (void)state;
    h = harness_begin(NULL);
    north = harness_site(h, "north");
    harness_pool(h, north, "a", "H100", 4, 8, 2.0);
    return 0;
}

static int end(void **state)
{
    (void)state;
    harness_end(&h);
    return 0;
}

static void submit__a_job_is_answered_with_the_id_of_the_row_in_the_same_batch(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 2);
    spec.name = HELIO_TEXT("llama");
    spec.nodes = 3;
    helio_submission_t job = harness_submission(h, &spec, "k1", "name: llama");
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", &job, 1);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_int_equal(reply->jobs.count, 1);
    assert_false(reply->jobs.items[0].existed);
    const helio_row_job_t *row = harness_take(h, HELIO_BROKER_FX_ROW_JOB);
    assert_non_null(row);
    assert_true(helio_uuid_equal(row->job, reply->jobs.items[0].job));
    assert_int_equal(row->job.bytes[6] >> 4, 7);
    assert_true(helio_text_is(row->tenant, "acme"));
    assert_true(helio_text_is(row->user, "ada"));
    assert_true(helio_text_is(row->idempotency_key, "k1"));
    assert_true(helio_text_is(row->source, "name: llama"));
    assert_true(helio_text_is(row->name, "llama"));
    assert_true(helio_text_is(row->gpu_model, "H100"));
    assert_int_equal(row->gpus, 6);
    assert_int_equal(row->nodes, 3);
    assert_int_equal(row->tier, HELIO_TIER_STANDARD);
    assert_true(row->submitted_ms == harness_wall_ms(h));
    assert_null(harness_take(h, HELIO_BROKER_FX_ROW_JOB));
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], 1);
}

static void submit__the_queue_gives_the_time_limit_and_the_tenant_the_home_unless_the_job_says(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    harness_job(h, &spec);
    spec.time_limit_ms = 5000;
    spec.home = HELIO_TEXT("south");
    spec.goal = HELIO_GOAL_GREEN;
    spec.flexible_ms = 1000;
    spec.deadline_wall_ms = harness_wall_ms(h) + 86400000;
    harness_job(h, &spec);
    const helio_row_job_t *first = harness_take(h, HELIO_BROKER_FX_ROW_JOB);
    const helio_row_job_t *second = harness_take(h, HELIO_BROKER_FX_ROW_JOB);
    assert_int_equal(first->time_limit_ms, 3600000);
    assert_true(helio_text_is(first->home_site, "north"));
    assert_int_equal(second->time_limit_ms, 5000);
    assert_true(helio_text_is(second->home_site, "south"));
    assert_true(second->goal == HELIO_GOAL_GREEN && second->flexible_ms == 1000 &&
                second->deadline_wall_ms == spec.deadline_wall_ms);
    assert_int_equal(first->deadline_wall_ms, 0);
    assert_true(first->class_id != second->class_id);
}

/*  Labels are the job's own: they make no class. */
static void submit__labels_are_rows_of_the_job(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    harness_job(h, &spec);
    helio_pair_t labels[] = {{HELIO_TEXT("team"), HELIO_TEXT("nlp")}, {HELIO_TEXT("sweep"), HELIO_TEXT("")}};
    spec.labels.items = labels;
    spec.labels.count = 2;
    harness_job(h, &spec);
    const helio_row_job_t *first = harness_take(h, HELIO_BROKER_FX_ROW_JOB);
    const helio_row_job_t *second = harness_take(h, HELIO_BROKER_FX_ROW_JOB);
    assert_true(first->class_id == second->class_id);
    for (size_t i = 0; i < 2; i++) {
        const helio_row_label_t *row = harness_take(h, HELIO_BROKER_FX_ROW_LABEL);
        assert_memory_equal(&row->job, &second->job, sizeof row->job);
        assert_true(helio_text_equal(row->name, labels[i].name) && helio_text_equal(row->value, labels[i].value));
    }
}

static uint64_t class_of_a_job(void)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    harness_job(h, &spec);
    return ((const helio_row_job_t *)harness_take(h, HELIO_BROKER_FX_ROW_JOB))->class_id;
}

static void rebuild(uint64_t seed)
{
    harness_seed(h, seed);
    harness_t *next = harness_rebuild(h);
    harness_end(&h);
    h = next;
}

/*  Whoever knows all of a job but not the seed cannot compute another job that meets its class. */
static void submit__ids_of_classes_depend_on_the_federation_s_secret(void **state)
{
    uint64_t ids[3];
    const uint64_t seeds[] = {42, 43, 42};
    for (size_t i = 0; i < 3; i++) {
        rebuild(seeds[i]);
        ids[i] = class_of_a_job();
        (void)end(state);
        (void)begin(state);
    }
    assert_true(ids[0] != ids[1] && ids[0] == ids[2]);
}

/*  Rows of jobs name their class for readers. So the ids that an older release stored, by another hash, stay those of
 *  their classes, also after an edit, and jobs that come later join them. */
static void submit__ids_of_classes_survive_a_takeover_by_a_release_that_hashes_otherwise(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t first = harness_job(h, &spec), second = harness_job(h, &spec);
    uint64_t id = ((const helio_row_job_t *)harness_take(h, HELIO_BROKER_FX_ROW_JOB))->class_id;
    (void)harness_take(h, HELIO_BROKER_FX_ROW_JOB);
    helio_ev_edit_t edit = {.priority_given = true, .priority = 7};
    (void)harness_edit(h, "acme", HELIO_ROLE_USER, second, edit);
    uint64_t edited_id = ((const helio_row_edit_t *)harness_take(h, HELIO_BROKER_FX_ROW_EDIT))->class_id;
    assert_true(edited_id != id);
    rebuild(43);
    assert_true(class_of_a_job() == id);
    (void)harness_edit(h, "acme", HELIO_ROLE_USER, first, edit);
    assert_true(((const helio_row_edit_t *)harness_take(h, HELIO_BROKER_FX_ROW_EDIT))->class_id == edited_id);
}

static void submit__equal_requirements_share_a_class(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    harness_job(h, &spec);
    spec.name = HELIO_TEXT("another name is no requirement");
    harness_job(h, &spec);
    assert_int_equal(harness_figures(h).classes, 1);
    spec.memory_bytes = 1;
    harness_job(h, &spec);
    assert_int_equal(harness_figures(h).classes, 2);
}

static void assert_nothing_stored(void)
{
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_JOB), 0);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], 0);
    assert_int_equal(harness_figures(h).classes, 0);
}

static void submit__an_unknown_tenant_is_forbidden(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    const helio_fx_reply_t *reply = harness_submit(h, "nobody", &spec);
    assert_int_equal(reply->rc, HELIO_FORBIDDEN);
    assert_true(helio_text_is(reply->reason, "Forbidden"));
    assert_nothing_stored();
}

static void submit__an_unknown_queue_is_named(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    spec.queue = HELIO_TEXT("fastlane");
    const helio_fx_reply_t *reply = harness_submit(h, "acme", &spec);
    assert_int_equal(reply->rc, HELIO_INVALID);
    assert_true(harness_says(h, &reply->details, "\"UnknownQueue\",\"params\":{\"queue\":\"fastlane\",\"job\":0}"));
    assert_nothing_stored();
}

static void idempotency__the_same_key_and_document_give_the_same_id_and_no_row(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t job = harness_submission(h, &spec, "k1", "one");
    helio_uuid_t first = harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job;
    harness_clear(h);
    const helio_fx_reply_t *again = harness_submit_all(h, "acme", &job, 1);
    assert_int_equal(again->rc, HELIO_OK);
    assert_true(helio_uuid_equal(first, again->jobs.items[0].job));
    assert_true(again->jobs.items[0].existed);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_JOB), 0);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], 1);
}

static void idempotency__the_same_key_for_another_document_is_a_conflict(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t one = harness_submission(h, &spec, "k1", "one"), two = harness_submission(h, &spec, "k1", "two");
    assert_int_equal(harness_submit_all(h, "acme", &one, 1)->rc, HELIO_OK);
    harness_clear(h);
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", &two, 1);
    assert_int_equal(reply->rc, HELIO_CONFLICT);
    assert_true(harness_says(h, &reply->details, "\"KeyReused\",\"params\":{\"key\":\"k1\""));
    assert_non_null(helio_details_find(&reply->details, HELIO_DETAIL_NOTHING_STORED));
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_JOB), 0);
}

static void idempotency__keys_of_two_tenants_do_not_collide(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t one = harness_submission(h, &spec, "k1", "one"), two = harness_submission(h, &spec, "k1", "two");
    assert_int_equal(harness_submit_all(h, "acme", &one, 1)->rc, HELIO_OK);
    const helio_fx_reply_t *reply = harness_submit_all(h, "other", &two, 1);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_false(reply->jobs.items[0].existed);
}

static void idempotency__a_key_outlives_its_job(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t job = harness_submission(h, &spec, "k1", "one");
    helio_job_key_t key = {harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job, HELIO_NO_TASK};
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, key)->rc, HELIO_OK);
    assert_false(harness_is_open(h, key));
    const helio_fx_reply_t *again = harness_submit_all(h, "acme", &job, 1);
    assert_true(again->jobs.items[0].existed);
    assert_true(helio_uuid_equal(again->jobs.items[0].job, key.job));
}

static void batch__one_bad_job_stores_nothing_and_is_named_by_its_number(void **state)
{
    (void)state;
    helio_job_spec_t good = harness_spec(h, "H100", 1), bad = good;
    bad.queue = HELIO_TEXT("none");
    helio_submission_t jobs[] = {harness_submission(h, &good, "a", ""), harness_submission(h, &good, "b", ""),
                                 harness_submission(h, &bad, "c", "")};
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", jobs, 3);
    assert_int_equal(reply->rc, HELIO_INVALID);
    assert_true(harness_says(h, &reply->details, "\"job\":3"));
    assert_nothing_stored();
    /* their keys are free still */
    assert_int_equal(harness_submit_all(h, "acme", jobs, 2)->rc, HELIO_OK);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_JOB), 2);
}

static void batch__ids_come_in_the_order_of_the_jobs(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t jobs[5];
    for (int i = 0; i < 5; i++)
        jobs[i] = harness_submission(h, &spec, "", "");
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", jobs, 5);
    assert_int_equal(reply->jobs.count, 5);
    for (int i = 0; i < 5; i++) {
        const helio_row_job_t *row = harness_take(h, HELIO_BROKER_FX_ROW_JOB);
        assert_true(helio_uuid_equal(row->job, reply->jobs.items[i].job));
        assert_true(helio_text_equal(row->source, jobs[i].source));
        if (i)
            assert_true(helio_uuid_compare(reply->jobs.items[i - 1].job, row->job) < 0);
    }
}

static void batch__one_key_twice_is_one_job_when_the_documents_agree_and_a_conflict_otherwise(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t same[] = {harness_submission(h, &spec, "k", "one"), harness_submission(h, &spec, "k", "one")};
    helio_submission_t differ[] = {harness_submission(h, &spec, "m", "one"), harness_submission(h, &spec, "m", "two")};
    assert_int_equal(harness_submit_all(h, "acme", differ, 2)->rc, HELIO_CONFLICT);
    assert_nothing_stored();
    const helio_fx_reply_t *reply = harness_submit_all(h, "acme", same, 2);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_true(helio_uuid_equal(reply->jobs.items[0].job, reply->jobs.items[1].job));
    assert_true(reply->jobs.items[1].existed);
    assert_int_equal(harness_count(h, HELIO_BROKER_FX_ROW_JOB), 1);
}

static void infeasible__a_job_that_no_known_site_can_run_is_refused(void **state)
{
    (void)state;
    harness_join(h, 1, north);
    static const struct {
        const char *model;
        uint32_t gpus, nodes;
        const char *word;
    } rows[] = {{"B200", 1, 1, "NoSuchGPU"}, {"H100", 16, 1, "TooSmall"}, {"H100", 1, 5, "TooSmall"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        helio_job_spec_t spec = harness_spec(h, rows[i].model, rows[i].gpus);
        spec.nodes = rows[i].nodes;
        const helio_fx_reply_t *reply = harness_submit(h, "acme", &spec);
        assert_int_equal(reply->rc, HELIO_INFEASIBLE);
        assert_true(helio_text_is(reply->reason, "NeverFits"));
        assert_non_null(helio_details_find(&reply->details, HELIO_DETAIL_NEVER_RUNS));
        assert_true(harness_says(h, &reply->details, "north"));
        assert_true(harness_says(h, &reply->details, rows[i].word));
    }
    assert_nothing_stored();
}

static void token__of_a_tenant_without_a_home_gets_a_note(void **state)
{
    (void)state;
    helio_ev_token_t event = {
        .call = 5,
        .actor = HELIO_TEXT("user:ada"),
        .token = {.token_id = HELIO_TEXT("t"), .tenant = HELIO_TEXT("fresh"), .role = HELIO_TEXT("user")}};
    (void)harness_tenant(h, HELIO_ROLE_ADMIN, (helio_ev_tenant_t){.tenant = HELIO_TEXT("fresh")});
    harness_step(h, HELIO_BROKER_EV_TOKEN, &event);
    const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_string_equal(harness_details(h, &reply->details),
                        "[{\"code\":\"TenantHomeless\",\"params\":{\"tenant\":\"fresh\"}}]");
    event.token.revoked_ms = 1;
    harness_step(h, HELIO_BROKER_EV_TOKEN, &event);
    reply = harness_take(h, HELIO_BROKER_FX_REPLY);
    assert_int_equal(reply->details.items.count, 0);
}

/*  A mistyped name creates neither a tenant nor a token; otherwise the next request with the same mistake would find
 *  the tenant. */
static void token__of_an_unknown_tenant_is_refused_and_what_was_meant_is_named(void **state)
{
    (void)state;
    helio_ev_token_t event = {
        .call = 5,
        .actor = HELIO_TEXT("user:ada"),
        .token = {.token_id = HELIO_TEXT("t"), .tenant = HELIO_TEXT("acm"), .role = HELIO_TEXT("user")}};
    for (int i = 0; i < 2; i++) {
        harness_step(h, HELIO_BROKER_EV_TOKEN, &event);
        const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
        assert_int_equal(reply->rc, HELIO_NOT_FOUND);
        assert_string_equal(harness_details(h, &reply->details), "[{\"code\":\"UnknownTenant\",\"params\":{"
                                                                 "\"tenant\":\"acm\",\"suggestion\":\"acme\"}}]");
        assert_null(harness_take(h, HELIO_BROKER_FX_ROW_TOKEN));
        assert_null(harness_take(h, HELIO_BROKER_FX_ROW_AUDIT));
    }
    event.token.revoked_ms = 1; /* of a token in force, whatever became of its tenant */
    harness_step(h, HELIO_BROKER_EV_TOKEN, &event);
    assert_int_equal(((const helio_fx_reply_t *)harness_take(h, HELIO_BROKER_FX_REPLY))->rc, HELIO_OK);
    assert_non_null(harness_take(h, HELIO_BROKER_FX_ROW_TOKEN));
}

static void principal__is_written_audited_by_its_name_and_answered(void **state)
{
    (void)state;
    helio_ev_principal_t event = {
        .call = 5, .actor = HELIO_TEXT("user:ada"), .principal = {HELIO_TEXT("acme"), HELIO_TEXT("bo"), 9}};
    for (int i = 0; i < 2; i++, event.principal.disabled_ms = 0) {
        harness_step(h, HELIO_BROKER_EV_PRINCIPAL, &event);
        const helio_row_principal_t *row = harness_take(h, HELIO_BROKER_FX_ROW_PRINCIPAL);
        assert_true(helio_text_is(row->tenant, "acme") && helio_text_is(row->user, "bo"));
        assert_int_equal(row->disabled_ms, event.principal.disabled_ms);
        const helio_row_audit_t *audit = harness_take(h, HELIO_BROKER_FX_ROW_AUDIT);
        assert_true(helio_text_is(audit->actor, "user:ada"));
        assert_true(helio_text_is(audit->action, i ? "user-enable" : "user-disable"));
        assert_true(helio_text_is(audit->object, "user:acme/bo"));
        const helio_fx_reply_t *reply = harness_take(h, HELIO_BROKER_FX_REPLY);
        assert_int_equal(reply->rc, HELIO_OK);
    }
}

static void fits__a_job_waits_when_no_site_has_joined_and_when_its_site_is_full_draining_or_silent(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 8);
    harness_job(h, &spec);
    harness_join(h, 1, north);
    harness_summary(h, 1, north, 0, 4);
    harness_job(h, &spec);
    assert_int_equal(harness_site_command(h, HELIO_BROKER_EV_DRAIN, HELIO_ROLE_ADMIN, "north")->rc, HELIO_OK);
    harness_job(h, &spec);
    harness_gone(h, 1);
    harness_job(h, &spec);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], 4);
}

static void bounds__of_all_tenants_answer_busy_until_a_job_ends(void **state)
{
    (void)state;
    harness_end(&h);
    helio_broker_options_t options = helio_broker_options_default();
    options.queued_max = 3;
    h = harness_begin(&options);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_job_key_t first = harness_job(h, &spec);
    harness_job(h, &spec);
    helio_submission_t two[] = {harness_submission(h, &spec, "", ""), harness_submission(h, &spec, "", "")};
    const helio_fx_reply_t *reply = harness_submit_all(h, "other", two, 2);
    assert_int_equal(reply->rc, HELIO_BUSY);
    assert_int_equal(harness_figures(h).jobs[HELIO_JOB_QUEUED], 2);
    assert_int_equal(harness_command(h, HELIO_BROKER_EV_CANCEL, "acme", HELIO_ROLE_USER, first)->rc, HELIO_OK);
    assert_int_equal(harness_submit_all(h, "other", two, 2)->rc, HELIO_OK);
    assert_int_equal(harness_submit(h, "other", &spec)->rc, HELIO_BUSY);
}

static void bounds__of_one_tenant_do_not_limit_another_and_tasks_count(void **state)
{
    (void)state;
    harness_end(&h);
    helio_broker_options_t options = helio_broker_options_default();
    options.queued_per_tenant_max = 4;
    h = harness_begin(&options);
    helio_job_spec_t spec = harness_spec(h, "H100", 1), array = spec;
    uint32_t tasks[] = {0, 1, 2, 3};
    array.tasks = (helio_u32s_t){tasks, 4};
    assert_int_equal(harness_submit(h, "acme", &array)->rc, HELIO_OK);
    assert_int_equal(harness_submit(h, "acme", &spec)->rc, HELIO_BUSY);
    assert_int_equal(harness_submit(h, "other", &spec)->rc, HELIO_OK);
}

static const helio_fx_reply_t *submit_and_hear(const char *tenant, uint32_t count)
{
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t jobs[16];
    assert_true(count <= sizeof jobs / sizeof jobs[0]);
    for (uint32_t i = 0; i < count; i++)
        jobs[i] = harness_submission(h, &spec, "", "");
    return harness_submit_all(h, tenant, jobs, count);
}

static helio_rc submit_many(const char *tenant, uint32_t count)
{
    return (helio_rc)submit_and_hear(tenant, count)->rc;
}

static void check_refused(uint32_t count, helio_rc rc, const char *words)
{
    const helio_fx_reply_t *reply = submit_and_hear("acme", count);
    assert_int_equal(reply->rc, rc);
    assert_true(harness_says(h, &reply->details, words));
}

/*  Ten a minute, with ten saved up. What is refused costs nothing; more than ten at once are never taken, and say so. */
static void bounds__of_a_rate_are_of_each_tenant_and_say_when_there_is_room(void **state)
{
    (void)state;
    harness_end(&h);
    helio_broker_options_t options = helio_broker_options_default();
    options.submissions_per_minute = 10;
    h = harness_begin(&options);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    assert_int_equal(submit_many("acme", 4), HELIO_OK);
    assert_int_equal(submit_many("acme", 6), HELIO_OK);
    const helio_fx_reply_t *reply = harness_submit(h, "acme", &spec);
    assert_int_equal(reply->rc, HELIO_BUSY);
    assert_true(harness_says(h, &reply->details, "\"TenantTooFast\",\"params\":{\"limit\":10,\"wait_s\":6.0}"));
    assert_int_equal(submit_many("other", 10), HELIO_OK);
    harness_wait(h, 5999);
    assert_int_equal(submit_many("acme", 1), HELIO_BUSY);
    harness_wait(h, 1);
    assert_int_equal(submit_many("acme", 1), HELIO_OK);
    assert_int_equal(submit_many("acme", 1), HELIO_BUSY); /* and nothing of what was refused was counted */
    assert_int_equal(submit_many("acme", 11), HELIO_TOO_BIG);
    harness_wait(h, 60000);
    check_refused(11, HELIO_TOO_BIG, "\"TenantBatchTooBig\",\"params\":{\"count\":11,\"limit\":10}");
    assert_int_equal(submit_many("acme", 7), HELIO_OK); /* all ten were there */
    check_refused(4, HELIO_BUSY, "\"limit\":10,\"wait_s\":6.0}");
    assert_int_equal(submit_many("acme", 3), HELIO_OK);
    check_refused(10, HELIO_BUSY, "\"limit\":10,\"wait_s\":60.0}");
    harness_wait(h, 60000); /* when it says, there is room */
    assert_int_equal(submit_many("acme", 10), HELIO_OK);
    harness_wait(h, 6000);
    helio_submission_t keyed = harness_submission(h, &spec, "k", "one");
    harness_wait(h, 6000);
    assert_int_equal(harness_submit_all(h, "acme", &keyed, 1)->rc, HELIO_OK);
    assert_int_equal(harness_submit_all(h, "acme", &keyed, 1)->rc, HELIO_OK); /* it is stored already */
}

static void bounds__a_repeated_submission_is_answered_even_when_everything_is_full(void **state)
{
    (void)state;
    harness_end(&h);
    helio_broker_options_t options = helio_broker_options_default();
    options.queued_max = 1;
    h = harness_begin(&options);
    helio_job_spec_t spec = harness_spec(h, "H100", 1);
    helio_submission_t job = harness_submission(h, &spec, "k", "one");
    helio_uuid_t id = harness_submit_all(h, "acme", &job, 1)->jobs.items[0].job;
    const helio_fx_reply_t *again = harness_submit_all(h, "acme", &job, 1);
    assert_int_equal(again->rc, HELIO_OK);
    assert_true(helio_uuid_equal(again->jobs.items[0].job, id));
}

static void submit__a_deadline_that_no_start_can_meet_is_refused_with_what_is_possible(void **state)
{
    (void)state;
    helio_job_spec_t spec = harness_spec(h, "H100", 1); /* an hour */
    int64_t now_ms = harness_wall_ms(h);
    spec.deadline_wall_ms = now_ms + 3599000;
    const helio_fx_reply_t *reply = harness_submit(h, "acme", &spec);
    assert_int_equal(reply->rc, HELIO_INFEASIBLE);
    assert_true(helio_text_is(reply->reason, "Deadline"));
    assert_true(harness_says(h, &reply->details, "\"DeadlineMissed\""));
    assert_true(harness_says(h, &reply->details, "\"run_s\":3600.0,\"end\":\"2026-03-01T01:00:00"));
    spec.deadline_wall_ms = now_ms + 7200000;
    spec.not_before_wall_ms = now_ms + 3600001;
    reply = harness_submit(h, "acme", &spec);
    assert_int_equal(reply->rc, HELIO_INFEASIBLE);
    assert_true(harness_says(h, &reply->details, "\"not_before\":\"2026-03-01T01:00:00"));
    assert_nothing_stored();
    spec.not_before_wall_ms = now_ms + 3600000;
    assert_int_equal(harness_submit(h, "acme", &spec)->rc, HELIO_OK);
    spec.not_before_wall_ms = 0;
    spec.deadline_wall_ms = now_ms + 3600000;
    assert_int_equal(harness_submit(h, "acme", &spec)->rc, HELIO_OK);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(submit__a_deadline_that_no_start_can_meet_is_refused_with_what_is_possible),
        CASE(submit__a_job_is_answered_with_the_id_of_the_row_in_the_same_batch),
        CASE(submit__the_queue_gives_the_time_limit_and_the_tenant_the_home_unless_the_job_says),
        CASE(submit__labels_are_rows_of_the_job),
        CASE(submit__ids_of_classes_depend_on_the_federation_s_secret),
        CASE(submit__ids_of_classes_survive_a_takeover_by_a_release_that_hashes_otherwise),
        CASE(submit__equal_requirements_share_a_class),
        CASE(submit__an_unknown_tenant_is_forbidden),
        CASE(submit__an_unknown_queue_is_named),
        CASE(idempotency__the_same_key_and_document_give_the_same_id_and_no_row),
        CASE(idempotency__the_same_key_for_another_document_is_a_conflict),
        CASE(idempotency__keys_of_two_tenants_do_not_collide),
        CASE(idempotency__a_key_outlives_its_job),
        CASE(batch__one_bad_job_stores_nothing_and_is_named_by_its_number),
        CASE(batch__ids_come_in_the_order_of_the_jobs),
        CASE(batch__one_key_twice_is_one_job_when_the_documents_agree_and_a_conflict_otherwise),
        CASE(infeasible__a_job_that_no_known_site_can_run_is_refused),
        CASE(token__of_a_tenant_without_a_home_gets_a_note),
        CASE(token__of_an_unknown_tenant_is_refused_and_what_was_meant_is_named),
        CASE(principal__is_written_audited_by_its_name_and_answered),
        CASE(fits__a_job_waits_when_no_site_has_joined_and_when_its_site_is_full_draining_or_silent),
        CASE(bounds__of_all_tenants_answer_busy_until_a_job_ends),
        CASE(bounds__of_one_tenant_do_not_limit_another_and_tasks_count),
        CASE(bounds__of_a_rate_are_of_each_tenant_and_say_when_there_is_room),
        CASE(bounds__a_repeated_submission_is_answered_even_when_everything_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
