/*  broker_core.c -- the step: which event goes to which room of the core, and what happens after every event. */
#include "broker/core/broker_core.h"

#include <assert.h>
#include <stdlib.h>

#include "broker/core/invariants.h"
#include "broker/core/clock.h"
#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/dependencies.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/recent_ends.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/hooks.h"
#include "broker/core/load.h"
#include "broker/core/migrate/migrate.h"
#include "broker/core/requests/array_commands.h"
#include "broker/core/requests/catalogue.h"
#include "broker/core/requests/channels.h"
#include "broker/core/requests/commands.h"
#include "broker/core/requests/desired.h"
#include "broker/core/requests/edit.h"
#include "broker/core/requests/explain.h"
#include "broker/core/requests/overflows.h"
#include "broker/core/requests/plan.h"
#include "broker/core/requests/queues.h"
#include "broker/core/requests/quotas.h"
#include "broker/core/requests/submit.h"
#include "broker/core/requests/tenants.h"
#include "broker/core/round/round.h"
#include "broker/core/sites/clocks.h"
#include "broker/core/sites/commands.h"
#include "broker/core/sites/curtail.h"
#include "broker/core/sites/database_loss.h"
#include "broker/core/sites/estimates.h"
#include "broker/core/sites/profile.h"
#include "broker/core/sites/reports.h"
#include "broker/core/sites/sessions.h"
#include "broker/core/sites/silence.h"
#include "broker/core/sites/summary.h"
#include "broker/core/state/accounts.h"
#include "broker/core/state/budgets.h"
#include "broker/core/state/catalogue.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/queues.h"

helio_broker_core_t *helio_broker_core_new(helio_broker_options_t options)
{
    helio_broker_core_t *self = helio_new(1, sizeof *self);
    self->options = options;
    self->moments = &core_hooks;
    self->open_batch = 1;
    self->capacity_version = 1;
    self->catalogue = core_catalogue_new();
    self->durations = helio_durations_new();
    self->dependencies = core_dependencies_new();
    self->preemptions = core_preemptions_new();
    self->site_windows = core_site_windows_new();
    self->migrations = core_migrations_new();
    self->evaluator = core_evaluator_new();
    self->overflows = core_overflows_new();
    self->migration_pass = core_migration_pass_new();
    self->intake = core_intake_new();
    self->facts_version = 1;
    self->tiers_version = 1;
    for (uint32_t check = 0; check < CORE_CHECKS; check++)
        core_check_at(self, (core_check_t)check, INT64_MAX);
    return self;
}

void helio_broker_core_destroy(helio_broker_core_t **self_p)
{
    helio_broker_core_t *self = *self_p;
    if (!self)
        return;
    core_array_commands_free(self);
    core_channels_free(self);
    core_desired_forget(self);
    core_estimates_free(self);
    core_preempt_free(self);
    core_jobs_free(self);
    core_lines_dissolve(self);
    core_sites_free(self);
    core_tenants_free(self);
    core_queues_free(self);
    core_intake_destroy(&self->intake);
    core_migration_pass_destroy(&self->migration_pass);
    core_overflows_destroy(&self->overflows);
    core_evaluator_destroy(&self->evaluator);
    core_migrations_destroy(&self->migrations);
    core_site_windows_destroy(&self->site_windows);
    core_preemptions_destroy(&self->preemptions);
    core_recent_ends_free(self);
    core_dependencies_destroy(&self->dependencies);
    helio_durations_destroy(&self->durations);
    core_catalogue_destroy(&self->catalogue);
    free(self);
    *self_p = NULL;
}

static void on_tick(helio_broker_core_t *self)
{
    static const struct {
        core_check_t check;
        void (*run)(helio_broker_core_t *self);
    } checks[] = {
        /* clang-format off */
        {CORE_CHECK_DATABASE, core_check_database},
        {CORE_CHECK_SITES, core_check_silence},
        {CORE_CHECK_DEPENDENCIES, core_dependencies_recheck},
        {CORE_CHECK_QUEUES, core_queue_rules_recheck},
        {CORE_CHECK_BUDGET_RUNS, core_budgets_recount},
        {CORE_CHECK_CURTAILMENTS, core_curtail_recheck},
        {CORE_CHECK_COMMANDS, core_array_commands_recheck},
        {CORE_CHECK_CLASSES, core_recheck_classes},
        /* clang-format on */
    };
    core_queues_notice_clock(self);
    for (uint32_t i = 0; i < sizeof checks / sizeof checks[0]; i++)
        if (core_check_is_due(self, checks[i].check))
            checks[i].run(self);
    if (self->round_wanted)
        core_round(self);
}

static void on_sealed(helio_broker_core_t *self, const helio_ev_sealed_t *sealed)
{
    assert(sealed->batch == self->open_batch);
    self->open_batch++;
}

/*  What each kind of event does; `event` has the payload. The kinds before TICK rebuild the state (load.c). */
/* clang-format off */
#define EVENTS(X)                                                             \
    X(TICK, on_tick(self))                                                    \
    X(SEALED, on_sealed(self, event->payload))                                \
    X(SUBMIT, core_on_submit(self, event->payload))                           \
    X(PLAN, core_on_plan(self, event->payload))                               \
    X(EXPLAIN, core_on_explain(self, event->payload))                         \
    X(DESIRED, core_on_desired(self, event->payload))                         \
    X(CANCEL, core_on_cancel(self, event->payload))                           \
    X(HOLD, core_on_hold(self, event->payload))                               \
    X(RELEASE, core_on_release(self, event->payload))                         \
    X(REQUEUE, core_on_requeue(self, event->payload))                         \
    X(EDIT, core_on_edit(self, event->payload))                               \
    X(SIGNAL, core_on_signal(self, event->payload))                           \
    X(CHANNEL, core_on_channel(self, event->payload))                         \
    X(CHANNEL_ENDED, core_on_channel_ended(self, event->payload))             \
    X(DRAIN, core_on_site_command(self, event->kind, event->payload))         \
    X(UNDRAIN, core_on_site_command(self, event->kind, event->payload))       \
    X(ATTEST, core_on_site_command(self, event->kind, event->payload))        \
    X(CURTAIL, core_on_curtail(self, event->payload))                         \
    X(TOKEN, core_on_token(self, event->payload))                             \
    X(PRINCIPAL, core_on_principal(self, event->payload))                     \
    X(SITE_KEY, core_on_site_key(self, event->payload))                       \
    X(TENANT, core_on_tenant(self, event->payload))                           \
    X(QUOTA, core_on_quota(self, event->payload))                             \
    X(DATA, core_on_data(self, event->payload))                               \
    X(LINK, core_on_link(self, event->payload))                               \
    X(QUEUE, core_on_queue(self, event->payload))                             \
    X(QUEUE_RULE, core_on_queue_rule(self, event->payload))                   \
    X(OVERFLOW, core_on_overflow(self, event->payload))                       \
    X(SITE_HELLO, core_on_hello(self, event->payload))                        \
    X(SITE_INVENTORY, core_on_inventory(self, event->payload))                \
    X(SITE_SUMMARY, core_on_summary(self, event->payload))                    \
    X(SITE_REPORTS, core_on_reports(self, event->payload))                    \
    X(SITE_RENEW, core_on_renew(self, event->payload))                        \
    X(SITE_GONE, core_on_gone(self, event->payload))                          \
    X(SITE_REFUSED, core_on_refused(self, event->payload))                    \
    X(DATABASE, core_on_database(self, event->payload))                       \
    X(SITE_ALIVE, core_on_alive(self, event->payload))
/* clang-format on */

#define X(NAME, call) +1
_Static_assert(0 EVENTS(X) == HELIO_BROKER_EVENT_COUNT - HELIO_BROKER_EV_TICK, "each kind of event has a row");
#undef X

#define X(NAME, call)                                                              \
    static void take_##NAME(helio_broker_core_t *self, const helio_event_t *event) \
    {                                                                              \
        (void)event;                                                               \
        call;                                                                      \
    }
EVENTS(X)
#undef X

static void dispatch(helio_broker_core_t *self, const helio_event_t *event)
{
    static void (*const takes[HELIO_BROKER_EVENT_COUNT])(helio_broker_core_t * self, const helio_event_t *event) = {
#define X(NAME, call) [HELIO_BROKER_EV_##NAME] = take_##NAME,
        EVENTS(X)
#undef X
    };
    if (event->kind <= HELIO_BROKER_EV_LOADED) {
        core_on_load(self, event);
        return;
    }
    assert(event->kind < HELIO_BROKER_EVENT_COUNT && takes[event->kind]);
    takes[event->kind](self, event);
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
    core_budgets_roll_over(self);
    dispatch(self, event);
    if (core_portion_is_for_holds(self))
        core_dependencies_resolve(self);
    core_array_commands_resolve(self);
    core_dependencies_resolve(self);
    core_jobs_flush(self);
    effects->wake_ms = self->round_wanted ? self->now_ms : core_checks_wake_ms(self);
    self->effects = NULL;
    self->event = NULL;
}

void helio_broker_core_check(const helio_broker_core_t *self)
{
    core_assert_invariants(self);
}

void helio_broker_core_figures(const helio_broker_core_t *self, helio_broker_figures_t *ret_figures)
{
    *ret_figures = self->figures;
    ret_figures->classes = HASH_COUNT(self->classes);
    ret_figures->sites = HASH_COUNT(self->sites);
    ret_figures->open_batch = self->open_batch;
    core_budgets_figures(self, ret_figures);
    core_clocks_figures(self, ret_figures);
    ret_figures->channels = core_channels_open(self);
    ret_figures->sites_ready = 0;
    ret_figures->reports_pending = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next) {
        ret_figures->sites_ready += site->state == HELIO_SITE_STATE_READY && !site->stale;
        ret_figures->reports_pending += site->peer ? site->reports_pending : 0;
    }
}

/*  The table is in the order of arrival, which is the order of the ids. */
helio_uuid_t helio_broker_core_open_from(const helio_broker_core_t *self)
{
#ifdef HELIO_MUTANT_mark_too_high
    return core_newest_job(self);
#endif
    return self->jobs ? self->jobs->key.job : core_newest_job(self);
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
            .kept_back = job->kept_back,
        };
        visit(arg, &view);
    }
}
