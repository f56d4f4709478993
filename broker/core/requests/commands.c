/*  commands.c -- commands on existing jobs, and on tokens, users and site keys. */
#include "broker/core/requests/commands.h"

#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/requests/array_commands.h"
#include "broker/core/requests/tenant_rate.h"
#include "broker/core/requests/warnings.h"
#include "broker/core/state/core.h"
#include "broker/core/state/dispatch.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/tenants.h"
#include "broker/core/state/why.h"

enum {
    SIGNALS_SINCE = 8, /* protocol version: federation/wire/messages.h */
    REPEAT_MS = 10000  /* a cancel so soon after another is the same request, sent again for want of an answer */
};

/*  Its row has to say what is asked of its stop: a leader, or a site that is away now, learns it from there. False: that
 *  is asked already, or it is at no site. */
static bool hasten(helio_broker_core_t *self, job_t *job, helio_haste_t haste)
{
    if (!job->site || haste <= job->haste)
        return false;
    job->haste = (uint8_t)haste;
    job->last->hastened_ms = self->now_ms;
    core_job_mark_dirty(self, job);
    return true;
}

/*  Ends the grace of a job that is being stopped. If its site cannot be told now, it is when it comes back
 *  (core_preempt_mode). */
static effect_t kill_stopping(helio_broker_core_t *self, job_t *job)
{
    if (core_preempt_mode(job) == HELIO_STOP_MODE_KILL)
        return AS_IT_WAS;
#ifndef HELIO_MUTANT_grace_outlasts_kill
    (void)hasten(self, job, HELIO_HASTE_NOW);
#endif
    const helio_details_t why = job->why ? *job->why : (helio_details_t){0};
    if (job->state == HELIO_JOB_STOPPING)
        core_stop(self, job, core_preempt_mode(job), &why);
    return CHANGED;
}

/*  An operator who cancels a job again, after a cancel of an operator, has seen that it does not end. */
static bool insists(const helio_broker_core_t *self, const helio_ev_command_t *event, const job_t *job)
{
    return event->role >= HELIO_ROLE_OPERATOR && job->haste == HELIO_HASTE_OPERATOR &&
           self->now_ms - job->last->hastened_ms >= REPEAT_MS;
}

static helio_haste_t haste_of(const helio_ev_command_t *event)
{
#ifdef HELIO_MUTANT_users_cancel_counts
    return HELIO_HASTE_OPERATOR;
#endif
    return event->role >= HELIO_ROLE_OPERATOR ? HELIO_HASTE_OPERATOR : HELIO_HASTE_NONE;
}

/*  The request is accepted in every state. */
static effect_t cancel_one(helio_broker_core_t *self, const helio_ev_command_t *event, job_t *job)
{
    const char *actor = core_actor(self, event->actor);
    helio_details_t why = CORE_WHY0(self, HELIO_DETAIL_CANCELLED);
    bool stops =
        job->state == HELIO_JOB_STOPPING || (job->state == HELIO_JOB_SUSPECT && job->before == HELIO_JOB_STOPPING);
    bool again = stops && job->intent == HELIO_INTENT_CANCEL, now = event->now || (again && insists(self, event, job));
    if (again && now)
        return kill_stopping(self, job);
    bool hastened = hasten(self, job, now ? HELIO_HASTE_NOW : haste_of(event));
    if (again)
        return hastened ? CHANGED : AS_IT_WAS;
    switch ((helio_job_state_t)job->state) {
    case HELIO_JOB_QUEUED:
    case HELIO_JOB_HELD:
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, why, actor);
        break;
    case HELIO_JOB_SUSPECT: /* the site cannot be told now; the request is kept for its return */
        job->intent = HELIO_INTENT_CANCEL;
        job->before = HELIO_JOB_STOPPING;
        core_why_add(self, &why,
                     core_job_is_doubted(job) ? HELIO_DETAIL0(HELIO_DETAIL_SITE_MEMORY_LOST)
                                              : HELIO_DETAIL0(HELIO_DETAIL_SITE_SILENT));
        core_job_set_why(job, &why);
        core_job_mark_dirty(self, job);
        break;
    case HELIO_JOB_STOPPING:
        job->intent = HELIO_INTENT_CANCEL;
        core_migrations_unhold(self, job);
        core_job_mark_dirty(self, job);
        if (now)
            core_stop(self, job, HELIO_STOP_MODE_KILL, &why);
        break;
    case HELIO_JOB_OFFERED:
    case HELIO_JOB_ACCEPTED:
    case HELIO_JOB_STARTING:
    case HELIO_JOB_RUNNING:
    case HELIO_JOB_SUSPENDED:
        job->intent = HELIO_INTENT_CANCEL;
        core_job_change_state(self, job, HELIO_JOB_STOPPING, why, actor);
        core_stop(self, job, core_preempt_mode(job), &why);
        break;
    case HELIO_JOB_SUCCEEDED:
    case HELIO_JOB_FAILED:
    case HELIO_JOB_TIMEOUT:
    case HELIO_JOB_CANCELLED:
    case HELIO_JOB_LOST:
    case HELIO_JOB_STATE_COUNT:
    default:
        return AS_IT_WAS;
    }
    return CHANGED;
}

static void reply_to(helio_broker_core_t *self, const helio_ev_command_t *event, helio_rc rc, helio_detail_code_t code)
{
    char text[HELIO_KEY_SIZE];
    helio_job_key_text(event->key, text);
    core_reply(self, event->call, rc, HELIO_REASON_NONE, CORE_DETAIL(self, code, helio_value_string(text)));
}

static void answer_cancel(helio_broker_core_t *self, const helio_ev_command_t *event, const affected_t *affected)
{
    if (affected->jobs)
        core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, HELIO_DETAIL0(HELIO_DETAIL_CANCELLING));
    else
        reply_to(self, event, HELIO_NOT_FOUND, HELIO_DETAIL_JOB_NOT_ACTIVE);
}

/*  It is never refused for its tenant's rate: it stops what costs, and a job is cancelled at most three times, by
 *  its user, by an operator, and without grace. */
void core_on_cancel(helio_broker_core_t *self, const helio_ev_command_t *event)
{
    static const command_t with_grace = {"cancel", cancel_one, answer_cancel, .free = true, .last_first = true},
                           without = {"cancel-now", cancel_one, answer_cancel, .free = true, .last_first = true};
    core_command_run(self, event, event->now ? &without : &with_grace);
}

/* ---- hold and release -------------------------------------------------------------------------------------- */

static bool is_held_by_user(const job_t *job)
{
    return job->state == HELIO_JOB_HELD && core_why_has(job->why, HELIO_DETAIL_HELD_BY_USER);
}

static helio_detail_code_t hold_of(const helio_ev_command_t *event)
{
    return event->role >= HELIO_ROLE_OPERATOR ? HELIO_DETAIL_HELD_BY_OPERATOR : HELIO_DETAIL_HELD_BY_USER;
}

/*  An operator's hold takes the place of a user's: its user cannot end it any more. */
static effect_t hold_one(helio_broker_core_t *self, const helio_ev_command_t *event, job_t *job)
{
    helio_details_t why = CORE_WHY0(self, hold_of(event));
    if (job->state == HELIO_JOB_QUEUED) {
        core_job_change_state(self, job, HELIO_JOB_HELD, why, core_actor(self, event->actor));
    } else if (is_held_by_user(job) && event->role >= HELIO_ROLE_OPERATOR) {
        core_job_set_why(job, &why);
        core_job_mark_dirty(self, job);
    } else {
        return job->state == HELIO_JOB_HELD ? AS_IT_WAS : REFUSED;
    }
    return CHANGED;
}

static void answer_hold(helio_broker_core_t *self, const helio_ev_command_t *event, const affected_t *affected)
{
    if (affected->jobs)
        core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, HELIO_DETAIL0(hold_of(event)));
    else
        reply_to(self, event, HELIO_NOT_FOUND, HELIO_DETAIL_JOB_NOT_WAITING);
}

void core_on_hold(helio_broker_core_t *self, const helio_ev_command_t *event)
{
    static const command_t hold = {"hold", hold_one, answer_hold, .free = false};
    core_command_run(self, event, &hold);
}

/*  An operator has seen to the cause: what happened before counts no more. A user ends a user's hold only. */
static effect_t release_one(helio_broker_core_t *self, const helio_ev_command_t *event, job_t *job)
{
    bool repaired = event->role >= HELIO_ROLE_OPERATOR;
#ifndef HELIO_MUTANT_user_ends_any_hold
    if (!repaired && !is_held_by_user(job))
        return job->state == HELIO_JOB_HELD ? HINDERED : REFUSED;
#endif
    if (job->state != HELIO_JOB_HELD)
        return REFUSED;
    if (repaired) {
        job->site_failures = 0;
        job->losses = job->quick_losses = job->refusals = 0;
        job->paused_until_ms = 0;
    }
    core_job_change_state(self, job, HELIO_JOB_QUEUED, CORE_WHY0(self, HELIO_DETAIL_RELEASED),
                          core_actor(self, event->actor));
    return CHANGED;
}

static void answer_release(helio_broker_core_t *self, const helio_ev_command_t *event, const affected_t *affected)
{
    if (affected->jobs)
        core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, HELIO_DETAIL0(HELIO_DETAIL_RELEASED));
    else if (affected->hindered)
        reply_to(self, event, HELIO_CONFLICT, HELIO_DETAIL_HOLD_NOT_OF_USER);
    else
        reply_to(self, event, HELIO_NOT_FOUND, HELIO_DETAIL_JOB_NOT_HELD);
}

void core_on_release(helio_broker_core_t *self, const helio_ev_command_t *event)
{
    static const command_t release = {"release", release_one, answer_release, .free = false};
    core_command_run(self, event, &release);
}

/* ---- requeue ----------------------------------------------------------------------------------------------- */

/*  As if it had been preempted, but for nobody: it gets its grace, and keeps its place in the queue. */
static effect_t requeue_one(helio_broker_core_t *self, const helio_ev_command_t *event, job_t *job)
{
    if (job->state != HELIO_JOB_RUNNING && job->state != HELIO_JOB_SUSPENDED)
        return REFUSED;
    const helio_details_t why = CORE_WHY0(self, HELIO_DETAIL_REQUEUED);
    core_preempt_on_request(self, job, &why, core_actor(self, event->actor));
    return CHANGED;
}

static void answer_requeue(helio_broker_core_t *self, const helio_ev_command_t *event, const affected_t *affected)
{
    if (affected->jobs)
        core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, HELIO_DETAIL0(HELIO_DETAIL_REQUEUED));
    else
        reply_to(self, event, HELIO_NOT_FOUND, HELIO_DETAIL_JOB_NOT_RUNNING);
}

void core_on_requeue(helio_broker_core_t *self, const helio_ev_command_t *event)
{
    static const command_t requeue = {"requeue", requeue_one, answer_requeue, .free = false};
    core_command_run(self, event, &requeue);
}

/* ---- signals ----------------------------------------------------------------------------------------------- */

static bool passes_signals_on(const site_t *site)
{
    helio_text_t backend = site->profile.backend;
    return helio_text_is(backend, "local") || helio_text_is(backend, "slurm");
}

/*  Why its site cannot be told to send it a signal now; no code: it can. */
static helio_detail_t signal_obstacle(helio_broker_core_t *self, const job_t *job)
{
    const site_t *site = job->site;
    if (!passes_signals_on(site))
        return CORE_DETAIL(self, HELIO_DETAIL_SIGNAL_BACKEND, helio_value_string(site->name),
                           helio_value_text(site->profile.backend));
    if (!site->peer || !site->inventory_closed)
        return CORE_DETAIL(self, HELIO_DETAIL_SIGNAL_SITE_AWAY, helio_value_string(site->name));
    if (site->protocol < SIGNALS_SINCE)
        return CORE_DETAIL(self, HELIO_DETAIL_SIGNAL_AGENT_OLD, helio_value_string(site->name),
                           helio_value_number(site->protocol), helio_value_number(SIGNALS_SINCE));
    return CORE_NO_DETAIL;
}

/*  Sent once: a signal that is lost with a connection is not repeated, since nobody can tell whether it came. KILL for a
 *  job that is being stopped is a stop without grace, which sites of every kind obey. */
static effect_t signal_one(helio_broker_core_t *self, const helio_ev_command_t *command, job_t *job)
{
    const helio_ev_signal_t *event = (const helio_ev_signal_t *)(const void *)command; /* its first member */
    if (job->state == HELIO_JOB_STOPPING && event->signal == HELIO_JOB_SIGNAL_KILL)
        return kill_stopping(self, job);
#ifndef HELIO_MUTANT_signal_into_the_void
    if (job->state == HELIO_JOB_RUNNING && signal_obstacle(self, job).code)
        return HINDERED;
#endif
    if (job->state != HELIO_JOB_RUNNING)
        return REFUSED;
    helio_fx_signal_t fx = {job->site->peer, {job->key, job->epoch, event->signal, event->to}};
    core_emit(self, HELIO_BROKER_FX_SIGNAL, &fx);
    return CHANGED;
}

/*  No code: it could be told now, or it does not run any more. */
static helio_detail_t first_obstacle(helio_broker_core_t *self, const affected_t *affected)
{
    const job_t *job = affected->hindered ? core_job_find(self, affected->first_hindered) : NULL;
    return job && job->state == HELIO_JOB_RUNNING ? signal_obstacle(self, job) : CORE_NO_DETAIL;
}

static helio_text_t describe_signal(helio_broker_core_t *self, const helio_ev_command_t *command)
{
    const helio_ev_signal_t *event = (const helio_ev_signal_t *)(const void *)command;
    return helio_text_of(
        core_printf(self, "%s to %s", helio_job_signal_name(event->signal), helio_signal_to_name(event->to)));
}

static void answer_signal(helio_broker_core_t *self, const helio_ev_command_t *command, const affected_t *affected)
{
    const helio_ev_signal_t *event = (const helio_ev_signal_t *)(const void *)command;
    helio_detail_t obstacle = first_obstacle(self, affected);
    if (affected->jobs)
        core_reply(self, command->call, HELIO_OK, HELIO_REASON_NONE,
                   CORE_DETAIL(self, HELIO_DETAIL_SIGNAL_SENT, helio_value_string(helio_job_signal_name(event->signal)),
                               helio_value_number(affected->jobs)));
    else if (obstacle.code)
        core_reply(self, command->call, HELIO_CONFLICT, HELIO_REASON_NONE, obstacle);
    else
        reply_to(self, command, HELIO_NOT_FOUND, HELIO_DETAIL_JOB_NOT_RUNNING);
}

void core_on_signal(helio_broker_core_t *self, const helio_ev_signal_t *event)
{
    static const command_t send = {"signal", signal_one, answer_signal, .type = &helio_ev_signal_type,
                                   .described = describe_signal};
    core_command_run(self, &event->command, &send);
}

/* ---- tokens, users and site keys --------------------------------------------------------------------------- */

/*  A token for an unknown tenant would make a tenant of a slip. What is in force can always be revoked. */
void core_on_token(helio_broker_core_t *self, const helio_ev_token_t *event)
{
    const tenant_t *tenant;
    HASH_FIND(hh, self->tenants, event->token.tenant.data, event->token.tenant.size, tenant);
    if (!tenant && !event->token.revoked_ms) {
        core_reply(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                   core_unknown_tenant(self, event->token.tenant));
        return;
    }
    core_emit(self, HELIO_BROKER_FX_ROW_TOKEN, &event->token);
    core_audit(self, event->actor, event->token.revoked_ms ? "token-revoke" : "token-add", event->token.token_id,
               event->token.role);
    helio_detail_t missing = {0};
    if (!event->token.revoked_ms && !tenant->home_site[0])
        missing = CORE_DETAIL(self, HELIO_DETAIL_TENANT_HOMELESS, helio_value_string(tenant->name));
    core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, missing);
}

/*  The core knows no tokens: the shell's table has them, and follows this row. */
void core_on_principal(helio_broker_core_t *self, const helio_ev_principal_t *event)
{
    const helio_row_principal_t *principal = &event->principal;
    core_emit(self, HELIO_BROKER_FX_ROW_PRINCIPAL, principal);
    core_audit(self, event->actor, principal->disabled_ms ? "user-disable" : "user-enable",
               helio_text_of(core_printf(self, "user:%.*s/%.*s", HELIO_TEXT_ARGS(principal->tenant),
                                         HELIO_TEXT_ARGS(principal->user))),
               (helio_text_t){0});
    core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, HELIO_DETAIL0(HELIO_DETAIL_STORED));
}

void core_on_site_key(helio_broker_core_t *self, const helio_ev_site_key_t *event)
{
    core_emit(self, HELIO_BROKER_FX_ROW_SITE_KEY, &event->key);
    core_site_row(self, core_site_get(self, event->key.site));
    core_audit(self, event->actor, event->key.revoked_ms ? "key-revoke" : "key-add", event->key.site,
               event->key.public_key);
    core_reply(self, event->call, HELIO_OK, HELIO_REASON_NONE, HELIO_DETAIL0(HELIO_DETAIL_STORED));
}
