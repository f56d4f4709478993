/*  broker_core.c -- the step: which event goes to which room of the core, and what happens after every event. */
#include "broker/core/broker_core.h"

#include <assert.h>
#include <stdlib.h>

#include "broker/core/internal.h"

HELIO_RECORD_DEFINE(helio_row_job, HELIO_ROW_JOB_FIELDS)
HELIO_RECORD_DEFINE(helio_row_state, HELIO_ROW_STATE_FIELDS)
HELIO_RECORD_DEFINE(helio_row_placement, HELIO_ROW_PLACEMENT_FIELDS)
HELIO_RECORD_DEFINE(helio_row_attempt, HELIO_ROW_ATTEMPT_FIELDS)
HELIO_RECORD_DEFINE(helio_row_ledger, HELIO_ROW_LEDGER_FIELDS)
HELIO_RECORD_DEFINE(helio_row_transition, HELIO_ROW_TRANSITION_FIELDS)
HELIO_RECORD_DEFINE(helio_row_decision, HELIO_ROW_DECISION_FIELDS)
HELIO_RECORD_DEFINE(helio_row_candidate, HELIO_ROW_CANDIDATE_FIELDS)
HELIO_RECORD_DEFINE(helio_row_class, HELIO_ROW_CLASS_FIELDS)
HELIO_RECORD_DEFINE(helio_row_site, HELIO_ROW_SITE_FIELDS)
HELIO_RECORD_DEFINE(helio_row_pool, HELIO_ROW_POOL_FIELDS)
HELIO_RECORD_DEFINE(helio_row_capacity, HELIO_ROW_CAPACITY_FIELDS)
HELIO_RECORD_DEFINE(helio_row_series, HELIO_ROW_SERIES_FIELDS)
HELIO_RECORD_DEFINE(helio_row_audit, HELIO_ROW_AUDIT_FIELDS)
HELIO_RECORD_DEFINE(helio_row_token, HELIO_ROW_TOKEN_FIELDS)
HELIO_RECORD_DEFINE(helio_row_principal, HELIO_ROW_PRINCIPAL_FIELDS)
HELIO_RECORD_DEFINE(helio_row_site_key, HELIO_ROW_SITE_KEY_FIELDS)
HELIO_RECORD_DEFINE(helio_row_dependency, HELIO_ROW_DEPENDENCY_FIELDS)
HELIO_RECORD_DEFINE(helio_row_gate, HELIO_ROW_GATE_FIELDS)
HELIO_RECORD_DEFINE(helio_row_rates, HELIO_ROW_RATES_FIELDS)
HELIO_RECORD_DEFINE(helio_row_actual, HELIO_ROW_ACTUAL_FIELDS)
HELIO_RECORD_DEFINE(helio_row_baseline, HELIO_ROW_BASELINE_FIELDS)
HELIO_RECORD_DEFINE(helio_row_least, HELIO_ROW_LEAST_FIELDS)
HELIO_RECORD_DEFINE(helio_row_waiting, HELIO_ROW_WAITING_FIELDS)
HELIO_RECORD_DEFINE(helio_row_federation, HELIO_ROW_FEDERATION_FIELDS)
HELIO_RECORD_DEFINE(helio_row_tenant, HELIO_ROW_TENANT_FIELDS)
HELIO_RECORD_DEFINE(helio_row_queue, HELIO_ROW_QUEUE_FIELDS)
HELIO_RECORD_DEFINE(helio_row_queue_rule, HELIO_ROW_QUEUE_RULE_FIELDS)
HELIO_RECORD_DEFINE(helio_row_overflow, HELIO_ROW_OVERFLOW_FIELDS)
HELIO_RECORD_DEFINE(helio_row_site_energy, HELIO_ROW_SITE_ENERGY_FIELDS)
HELIO_RECORD_DEFINE(helio_row_edit, HELIO_ROW_EDIT_FIELDS)
HELIO_RECORD_DEFINE(helio_row_edited, HELIO_ROW_EDITED_FIELDS)
HELIO_RECORD_DEFINE(helio_row_quota, HELIO_ROW_QUOTA_FIELDS)
HELIO_RECORD_DEFINE(helio_row_budget, HELIO_ROW_BUDGET_FIELDS)
HELIO_RECORD_DEFINE(helio_row_spent, HELIO_ROW_SPENT_FIELDS)
HELIO_RECORD_DEFINE(helio_row_foreseen, HELIO_ROW_FORESEEN_FIELDS)
HELIO_RECORD_DEFINE(helio_row_data, HELIO_ROW_DATA_FIELDS)
HELIO_RECORD_DEFINE(helio_row_link, HELIO_ROW_LINK_FIELDS)
HELIO_RECORD_DEFINE(helio_row_transfer, HELIO_ROW_TRANSFER_FIELDS)
HELIO_RECORD_DEFINE(helio_row_usage, HELIO_ROW_USAGE_FIELDS)
HELIO_RECORD_DEFINE(helio_row_run, HELIO_ROW_RUN_FIELDS)
HELIO_RECORD_DEFINE(helio_row_key, HELIO_ROW_KEY_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_load_job, HELIO_EV_LOAD_JOB_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_nothing, HELIO_EV_NOTHING_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_sealed, HELIO_EV_SEALED_FIELDS)
HELIO_RECORD_DEFINE(helio_dependency, HELIO_DEPENDENCY_FIELDS)
HELIO_RECORD_DEFINE(helio_submission, HELIO_SUBMISSION_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_submit, HELIO_EV_SUBMIT_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_command, HELIO_EV_COMMAND_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_edit, HELIO_EV_EDIT_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_command, HELIO_EV_SITE_COMMAND_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_token, HELIO_EV_TOKEN_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_principal, HELIO_EV_PRINCIPAL_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_key, HELIO_EV_SITE_KEY_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_tenant, HELIO_EV_TENANT_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_quota, HELIO_EV_QUOTA_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_data, HELIO_EV_DATA_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_link, HELIO_EV_LINK_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_queue, HELIO_EV_QUEUE_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_queue_rule, HELIO_EV_QUEUE_RULE_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_overflow, HELIO_EV_OVERFLOW_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_hello, HELIO_EV_SITE_HELLO_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_inventory, HELIO_EV_SITE_INVENTORY_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_summary, HELIO_EV_SITE_SUMMARY_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_reports, HELIO_EV_SITE_REPORTS_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_renew, HELIO_EV_SITE_RENEW_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_gone, HELIO_EV_SITE_GONE_FIELDS)
HELIO_RECORD_DEFINE(helio_ev_site_refused, HELIO_EV_SITE_REFUSED_FIELDS)
HELIO_RECORD_DEFINE(helio_accepted_job, HELIO_ACCEPTED_JOB_FIELDS)
HELIO_RECORD_DEFINE(helio_ahead, HELIO_AHEAD_FIELDS)
HELIO_RECORD_DEFINE(helio_hint, HELIO_HINT_FIELDS)
HELIO_RECORD_DEFINE(helio_prospect, HELIO_PROSPECT_FIELDS)
HELIO_RECORD_DEFINE(helio_planned_candidate, HELIO_PLANNED_CANDIDATE_FIELDS)
HELIO_RECORD_DEFINE(helio_planned, HELIO_PLANNED_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_answer, HELIO_FX_ANSWER_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_welcome, HELIO_FX_WELCOME_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_ruling, HELIO_FX_RULING_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_peer, HELIO_FX_PEER_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_order, HELIO_FX_ORDER_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_stop, HELIO_FX_STOP_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_reports_ack, HELIO_FX_REPORTS_ACK_FIELDS)
HELIO_RECORD_DEFINE(helio_fx_renewed, HELIO_FX_RENEWED_FIELDS)

const helio_step_kind_t helio_broker_events[HELIO_BROKER_EVENT_COUNT] = {
#define X(NAME, record) {#NAME, &record##_type, HELIO_RELEASE_FREE},
    HELIO_BROKER_EVENT_TABLE(X)
#undef X
};

const helio_step_kind_t helio_broker_effects[HELIO_BROKER_EFFECT_COUNT] = {
#define X(NAME, record, release) {#NAME, &record##_type, HELIO_RELEASE_##release},
    HELIO_BROKER_EFFECT_TABLE(X)
#undef X
};

static const char *const role_words[] = {
#define X(name, word) word,
    HELIO_ROLE_TABLE(X)
#undef X
};

const char *helio_hint_kind_word(uint32_t value)
{
    static const char *const words[] = {
#define X(name, word) word,
        HELIO_HINT_KIND_TABLE(X)
#undef X
    };
    return value < HELIO_HINT_KIND_COUNT ? words[value] : "unknown";
}

const char *helio_role_word(uint32_t value)
{
    return value < HELIO_ROLE_COUNT ? role_words[value] : "unknown";
}

helio_rc helio_role_of(helio_text_t word, uint32_t *ret_value)
{
    return helio_text_among(word, role_words, HELIO_ROLE_COUNT, ret_value);
}

helio_broker_options_t helio_broker_options_default(void)
{
    return (helio_broker_options_t){
        .lease_ms = 15 * 60000,
        .renew_ms = 90000,
        .summary_ms = 1000,
        .silent_after_ms = 60000,
        .queued_max = 2000000,
        .queued_per_tenant_max = 1000000,
        .offers_unanswered_max = 20000,
    };
}

helio_broker_core_t *helio_broker_core_new(helio_broker_options_t options)
{
    helio_broker_core_t *self = helio_new(1, sizeof *self);
    self->options = options;
    self->open_batch = 1;
    self->capacity_version = 1;
    self->durations = helio_durations_new();
    self->facts_version = 1;
    self->overflow_version = 1;
    self->look_ms = INT64_MAX;
    self->queues_look_ms = INT64_MAX;
    self->kept_ms = INT64_MAX;
    self->moves.due_ms = self->moves.look_ms = INT64_MAX;
    self->calendar.review_ms = INT64_MAX;
    self->next_watch_ms = INT64_MAX;
    return self;
}

void helio_broker_core_destroy(helio_broker_core_t **self_p)
{
    helio_broker_core_t *self = *self_p;
    if (!self)
        return;
    core_jobs_free(self);
    core_sites_free(self);
    tenant_t *tenant, *next_tenant;
    HASH_ITER(hh, self->tenants, tenant, next_tenant)
    {
        HASH_DEL(self->tenants, tenant);
        core_accounts_free(tenant);
        free(tenant);
    }
    core_queues_free(self);
    core_overflows_free(self);
    idempotency_t *key, *next_key;
    HASH_ITER(hh, self->keys, key, next_key)
    {
        HASH_DEL(self->keys, key);
        free(key);
    }
    core_data_free(self);
    helio_durations_destroy(&self->durations);
    free(self->timed);
    free(self->scratch);
    free(self);
    *self_p = NULL;
}

/*  What somebody asks for, who is answered. False: it is none of these. */
static bool dispatch_call(helio_broker_core_t *self, const helio_event_t *event)
{
    const void *payload = event->payload;
    switch (event->kind) {
    case HELIO_BROKER_EV_SUBMIT:
        core_on_submit(self, payload);
        return true;
    case HELIO_BROKER_EV_PLAN:
        core_on_plan(self, payload);
        return true;
    case HELIO_BROKER_EV_EXPLAIN:
        core_on_explain(self, payload);
        return true;
    case HELIO_BROKER_EV_CANCEL:
        core_on_cancel(self, payload);
        return true;
    case HELIO_BROKER_EV_RELEASE:
        core_on_release(self, payload);
        return true;
    case HELIO_BROKER_EV_EDIT:
        core_on_edit(self, payload);
        return true;
    case HELIO_BROKER_EV_DRAIN:
    case HELIO_BROKER_EV_UNDRAIN:
    case HELIO_BROKER_EV_ATTEST:
        core_on_site_command(self, event->kind, payload);
        return true;
    case HELIO_BROKER_EV_TOKEN:
        core_on_token(self, payload);
        return true;
    case HELIO_BROKER_EV_PRINCIPAL:
        core_on_principal(self, payload);
        return true;
    case HELIO_BROKER_EV_SITE_KEY:
        core_on_site_key(self, payload);
        return true;
    case HELIO_BROKER_EV_TENANT:
        core_on_tenant(self, payload);
        return true;
    case HELIO_BROKER_EV_QUOTA:
        core_on_quota(self, payload);
        return true;
    case HELIO_BROKER_EV_DATA:
        core_on_data(self, payload);
        return true;
    case HELIO_BROKER_EV_LINK:
        core_on_link(self, payload);
        return true;
    case HELIO_BROKER_EV_QUEUE:
        core_on_queue(self, payload);
        return true;
    case HELIO_BROKER_EV_QUEUE_RULE:
        core_on_queue_rule(self, payload);
        return true;
    case HELIO_BROKER_EV_OVERFLOW:
        core_on_overflow(self, payload);
        return true;
    default:
        return false;
    }
}

/*  What a site's session brings. False: it is none of these. */
static bool dispatch_site(helio_broker_core_t *self, const helio_event_t *event)
{
    const void *payload = event->payload;
    switch (event->kind) {
    case HELIO_BROKER_EV_SITE_HELLO:
        core_on_hello(self, payload);
        return true;
    case HELIO_BROKER_EV_SITE_INVENTORY:
        core_on_inventory(self, payload);
        return true;
    case HELIO_BROKER_EV_SITE_SUMMARY:
        core_on_summary(self, payload);
        return true;
    case HELIO_BROKER_EV_SITE_REPORTS:
        core_on_reports(self, payload);
        return true;
    case HELIO_BROKER_EV_SITE_RENEW:
        core_on_renew(self, payload);
        return true;
    case HELIO_BROKER_EV_SITE_GONE:
        core_on_gone(self, payload);
        return true;
    case HELIO_BROKER_EV_SITE_REFUSED:
        core_on_refused(self, payload);
        return true;
    default:
        return false;
    }
}

static void on_tick(helio_broker_core_t *self)
{
    if (self->now_ms >= self->next_watch_ms)
        core_watch(self);
    core_gates_look(self);
    core_queues_look(self);
    core_budgets_look(self);
    core_look(self);
    if (self->round_wanted)
        core_round(self);
}

static void on_sealed(helio_broker_core_t *self, const helio_ev_sealed_t *sealed)
{
    assert(sealed->batch == self->open_batch);
    self->open_batch++;
}

static void dispatch(helio_broker_core_t *self, const helio_event_t *event)
{
    if (event->kind <= HELIO_BROKER_EV_LOADED)
        core_on_load(self, event);
    else if (event->kind == HELIO_BROKER_EV_TICK)
        on_tick(self);
    else if (event->kind == HELIO_BROKER_EV_SEALED)
        on_sealed(self, event->payload);
    else if (!dispatch_call(self, event) && !dispatch_site(self, event))
        assert(!"an event that is not in the table");
}

void helio_broker_core_step(helio_broker_core_t *self, const helio_event_t *event, helio_effects_t *effects)
{
    assert(self->loaded || event->kind <= HELIO_BROKER_EV_LOADED);
    assert(event->now_ms >= self->now_ms);
    helio_effects_reset(effects);
    core_jobs_reap(self);
    self->effects = effects;
    self->event = event;
    core_clock_read(self, event);
    core_budgets_turn(self);
    dispatch(self, event);
    core_gates_settle(self);
    core_jobs_flush(self);
    int64_t wake_ms = core_gates_wake_ms(self, self->next_watch_ms);
    wake_ms = core_budgets_wake_ms(self, core_queues_wake_ms(self, wake_ms));
    wake_ms = core_look_wake_ms(self, wake_ms);
    effects->wake_ms = self->round_wanted ? self->now_ms : wake_ms;
    self->effects = NULL;
    self->event = NULL;
}

const helio_bounds_t helio_broker_wait_bounds = {
    10, {1000, 10000, 60000, 300000, 900000, 3600000, 14400000, 43200000, 86400000, 259200000}};

void helio_broker_core_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures)
{
    *ret_figures = self->figures;
    ret_figures->classes = HASH_COUNT(self->classes);
    ret_figures->sites = HASH_COUNT(self->sites);
    ret_figures->open_batch = self->open_batch;
    core_budgets_figures(self, ret_figures);
    ret_figures->sites_ready = 0;
    ret_figures->reports_pending = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next) {
        ret_figures->sites_ready += site->state == HELIO_SITE_STATE_READY && !site->stale;
        ret_figures->reports_pending += site->peer ? site->reports_pending : 0;
    }
}

/*  The table keeps the order of arrival, which is that of the ids. */
helio_uuid_t helio_broker_core_open_from(const helio_broker_core_t *self)
{
#ifdef HELIO_MUTANT_mark_too_high
    return self->newest_job;
#endif
    return self->jobs ? self->jobs->key.job : self->newest_job;
}

void helio_broker_core_each(const helio_broker_core_t *self,
                            void (*visit)(void *arg, const helio_broker_job_view_t *job), void *arg)
{
    for (const job_t *job = self->jobs; job; job = job->hh.next) {
        const submission_t *submission = job->submission;
        helio_broker_job_view_t view = {
            .key = job->key,
            .state = job->state,
            .epoch = job->epoch,
            .site = job->site ? job->site->name : "",
            .priority = submission->class->priority,
            .goal = submission->goal,
            .deadline_wall_ms = submission->class->want.deadline_wall_ms,
            .queue = submission->queue->name,
        };
        visit(arg, &view);
    }
}
