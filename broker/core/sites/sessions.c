/*  sessions.c -- sites and their sessions: hello, inventory, renewal of the lease, refusals. */
#include "broker/core/sites/sessions.h"

#include <utlist.h>

#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/sites/database_loss.h"
#include "broker/core/sites/doubt.h"
#include "broker/core/sites/observed_run.h"
#include "broker/core/sites/profile.h"
#include "broker/core/sites/resend.h"
#include "broker/core/sites/restored.h"
#include "broker/core/sites/refused.h"
#include "broker/core/sites/silence.h"
#include "broker/core/sites/summary.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/dispatch.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

enum {
    /* An agent that was heard within this time lives: another process with its key is a second agent. The transport
     * closes a connection that is silent for as long. */
    LIVES_MS = 15000,
    /* Sessions of a site in five minutes, with twice that saved up: two a second, which no broken connection comes to.
     * Each has every class judged again, and writes a row for each pool. */
    SESSIONS_MOST = 600,
    /* Likewise, pools that it had not in its last session: as many as it can have. Their rows stay. */
    NEW_POOLS_MOST = HELIO_SITE_POOLS_MAX
};

void core_on_refused(helio_broker_core_t *self, const helio_ev_site_refused_t *event)
{
    core_site_refuse(self, core_site_get(self, event->site), event->rc, event->text);
}

/*  The next leader takes this time for a sign of life of what runs there. A site that has not told what it runs gives
 *  none. */
static bool shows_its_jobs(const site_t *site)
{
#ifdef HELIO_MUTANT_hello_shows_jobs
    return true;
#endif
    return site->inventory_closed || !site->live;
}

/*  Every message of a site proves that it is alive. */
void core_site_heard(helio_broker_core_t *self, site_t *site)
{
    site->heard_ms = self->now_ms;
    if (shows_its_jobs(site))
        site->heard_wall_ms = self->wall_ms;
    site->message_ms = self->now_ms;
    if (site->inventory_closed)
        site->orders_ms = self->now_ms;
    if (site->refused[0])
        core_site_forgive(self, site, false);
    if (site->stale)
        core_facts_changed(self, site);
    site->stale = false;
    if (self->now_ms - site->row_ms >= CAPACITY_ROW_MS)
        core_site_row(self, site);
}

/*  Why a site that has seen more than this broker knows is not admitted; NULL = it has not. */
static const char *older_than(helio_broker_core_t *self, const helio_ev_site_hello_t *event)
{
#ifdef HELIO_MUTANT_older_leader_admits
    return NULL;
#endif
    if (event->incarnation_seen > self->incarnation)
        return core_printf(
            self,
            "this broker has incarnation %llu, but the site has seen %llu: an old database was restored; "
            "`helio-broker restored` mends it",
            (unsigned long long)self->incarnation, (unsigned long long)event->incarnation_seen);
    if (event->incarnation_seen == self->incarnation && event->broker_epoch_seen > self->broker_epoch)
        return core_printf(self,
                           "this broker has epoch %llu, but the site has seen %llu: another broker leads, or an old "
                           "database was restored; `helio-broker restored` mends the latter",
                           (unsigned long long)self->broker_epoch, (unsigned long long)event->broker_epoch_seen);
    return NULL;
}

/*  A new leader awaits the agent that the former leader had in session, as long as that agent may be alive and on its
 *  way: another process with its key may have a copy of its journal, and say of running jobs that they have vanished.
 *  One that proves that this agent has ended is its successor. */
static bool is_before_the_first(const helio_broker_core_t *self, const site_t *site, const helio_ev_site_hello_t *event)
{
#ifdef HELIO_MUTANT_clone_before_the_first
    return false;
#endif
#ifdef HELIO_MUTANT_any_end_is_proof
    if (!helio_uuid_is_nil(event->former_boot_id))
        return false;
#endif
    return !helio_uuid_is_nil(event->boot_id) && !helio_uuid_is_nil(site->former_boot_id) &&
           !helio_uuid_equal(event->boot_id, site->former_boot_id) &&
           !helio_uuid_equal(event->former_boot_id, site->former_boot_id) &&
           self->now_ms - site->heard_ms < (int64_t)self->options.silent_after_ms;
}

/*  Two agents with one key would take the session from one another, and each would run what it is told. The first keeps
 *  it as long as it lives. A process that restarted is admitted at once, since its former connection has ended. */
static bool is_second_agent(const helio_broker_core_t *self, const site_t *site, const helio_ev_site_hello_t *event)
{
#ifdef HELIO_MUTANT_second_agent_admitted
    return false;
#endif
    int64_t lives_ms = (int64_t)self->options.summary_ms * 3;
    lives_ms = lives_ms > LIVES_MS ? lives_ms : LIVES_MS;
    return site->peer && site->peer != event->peer && !helio_uuid_is_nil(event->boot_id) &&
           !helio_uuid_is_nil(site->boot_id) && !helio_uuid_equal(event->boot_id, site->boot_id) &&
           self->now_ms - site->heard_ms < lives_ms;
}

/*  Why a site begins no session; text NULL = it begins one. */
typedef struct objection {
    helio_rc rc;
    const char *text;
} objection_t;

static void refuse_hello(helio_broker_core_t *self, site_t *site, uint64_t peer, objection_t why)
{
    helio_fx_peer_t refusal = {peer, why.rc, helio_text_of(why.text)};
    core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
    core_site_refuse(self, site, refusal.rc, refusal.text);
}

/*  Why the site has to wait before it begins another session; NULL = it need not. */
static const char *too_often(const helio_broker_core_t *self, site_t *site, const helio_site_profile_t *profile)
{
#ifdef HELIO_MUTANT_sessions_unbounded
    return NULL;
#endif
    if (!core_allowance_take(&site->sessions_allowance, self->now_ms, SESSIONS_MOST))
        return "this site begins sessions oftener than the broker takes them: try again";
    uint32_t new_pools = 0;
    for (uint32_t i = 0; i < profile->pools.count; i++)
        new_pools += !core_pool_find(site, profile->pools.items[i].name);
    if (!core_allowance_take_all(&site->new_pools_allowance, self->now_ms, NEW_POOLS_MOST, new_pools))
        return "the pools of this site's file have new names oftener than the broker takes them: leave them as they are, "
               "and the site is admitted within minutes";
    return NULL;
}

static objection_t objection_to(helio_broker_core_t *self, site_t *site, const helio_ev_site_hello_t *event)
{
    const char *older = older_than(self, event);
    if (older)
        return (objection_t){HELIO_FENCED, older};
    if (is_second_agent(self, site, event))
        return (objection_t){
            HELIO_CONFLICT,
            "another agent with this site's key is in session: stop one of the two, or give this one a key and "
            "a site of its own"};
    if (is_before_the_first(self, site, event))
        return (objection_t){
            HELIO_CONFLICT,
            "this site's agent was in session when the former leader ended, and may be alive: another process with "
            "its key is admitted once that agent is silent"};
    return (objection_t){HELIO_BUSY, too_often(self, site, &event->profile)};
}

/*  The same agent on a new connection, or one whose former process is silent. */
static void leave_former_peer(helio_broker_core_t *self, site_t *site, uint64_t peer)
{
    if (!site->peer)
        return;
    HASH_DELETE(hh_peer, self->peers, site);
    if (site->peer == peer)
        return;
    helio_fx_peer_t refusal = {site->peer, HELIO_CONFLICT,
                               HELIO_TEXT("this site's agent has opened a session on another connection")};
    core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
}

static void begin_session(helio_broker_core_t *self, site_t *site, const helio_ev_site_hello_t *event)
{
    leave_former_peer(self, site, event->peer);
    core_site_take_profile(self, site, &event->profile);
    (void)helio_text_copy(event->agent_version, site->agent_version, sizeof site->agent_version);
    site->protocol = event->protocol;
    core_runs_leave_session(site);
    site->peer = event->peer;
    site->session = ++self->session;
    if (site->capacity_known)
        core_site_await(self, site, false);
    site->opened_ms = self->now_ms;
    site->inventory_closed = false;
    site->capacity_known = false;
    site->summary_seq = 0;
    site->dispatch_seq = 0;
    site->unanswered = 0;
    core_resend_begin(self, site);
    core_site_lease(self, site, 0);
    core_doubt_compare(site, event);
    site->former_boot_id = (helio_uuid_t){0};
    HASH_ADD(hh_peer, self->peers, peer, sizeof site->peer, site);
    core_site_forgive(self, site, true);
    core_site_heard(self, site);
    core_site_row(self, site);
    helio_fx_welcome_t welcome = {event->peer,
                                  self->incarnation,
                                  self->broker_epoch,
                                  self->options.lease_ms,
                                  self->options.renew_ms,
                                  self->options.summary_ms,
                                  site->hello_mark};
    core_emit(self, HELIO_BROKER_FX_WELCOME, &welcome);
}

void core_on_hello(helio_broker_core_t *self, const helio_ev_site_hello_t *event)
{
    site_t *site = core_site_get(self, event->site);
    if (core_database_is_given_up(self)) {
        helio_fx_peer_t refusal = {event->peer, HELIO_UNAVAILABLE, HELIO_TEXT("this broker has lost its database")};
        core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
        return;
    }
    objection_t objection = objection_to(self, site, event);
    if (objection.text)
        refuse_hello(self, site, event->peer, objection);
    else
        begin_session(self, site, event);
}

static void rule(helio_broker_core_t *self, const site_t *site, const helio_holding_t *holding, helio_verdict_t verdict)
{
    helio_fx_verdict_t fx = {site->peer, {holding->key, holding->epoch, verdict}};
    core_emit(self, HELIO_BROKER_FX_VERDICT, &fx);
}

/*  The site has the attempt, so the job is no longer suspect. Instructions that it missed are sent when the inventory
 *  closes. */
static void take_holding(helio_broker_core_t *self, site_t *site, const helio_holding_t *holding)
{
    job_t *job = core_job_find(self, holding->key);
    if (!job || job->site != site || job->epoch != holding->epoch) {
        if (job)
            core_restored_copy(self, site, job, holding->epoch);
        rule(self, site, holding, HELIO_VERDICT_FENCED);
        return;
    }
    job->inventory = site->session;
    if (holding->state == HELIO_JOB_RUNNING || holding->state == HELIO_JOB_SUSPENDED)
        core_run_observe(self, job);
    if (job->state == HELIO_JOB_SUSPECT)
        core_job_change_state(self, job, job->before, core_why_of_site(self, job, HELIO_DETAIL_SITE_BACK),
                              core_printf(self, "site:%s", site->name));
    rule(self, site, holding, HELIO_VERDICT_KEEP);
}

/*  Of a suspect job that is being stopped, its row has to say if the site lacks it (core_job_is_unseen). */
static helio_details_t why_back(helio_broker_core_t *self, const job_t *job, bool held)
{
    bool told = core_why_has(job->why, HELIO_DETAIL_SITE_FORGOT), stops = job->before == HELIO_JOB_STOPPING;
    return core_why_of_site(self, job, held || told || !stops ? HELIO_DETAIL_SITE_BACK : HELIO_DETAIL_SITE_FORGOT);
}

/*  Handles what the site should have but lacks, and what it was told while it was away. */
static void close_inventory(helio_broker_core_t *self, site_t *site)
{
    const char *actor = core_printf(self, "site:%s", site->name);
    const helio_details_t forgot = CORE_WHY0(self, HELIO_DETAIL_SITE_FORGOT);
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        bool held = job->inventory == site->session;
        if (!held && (site->memory_lost || core_job_is_doubted(job))) {
            core_doubt_job(self, job);
            continue;
        }
        if (job->state == HELIO_JOB_SUSPECT)
            core_job_change_state(self, job, job->before, why_back(self, job, held), actor);
        else if (!held)
            job->last_seen_ms = core_run_proof_wall_ms(self, job);
        if (job->state == HELIO_JOB_STOPPING) {
            const helio_details_t again = core_why_of_stop(self, job);
            core_stop(self, job, core_preempt_mode(job), &again);
        } else if (!held && job->state == HELIO_JOB_OFFERED && !core_job_is_kept_back(self, job)) {
            job->last->absent_ms = self->now_ms;
            core_order(self, job);
        } else if (!held) {
            /* its journal lost it, or its end is in the reports that follow: the answer to the stop is the proof */
            job->intent = HELIO_INTENT_REQUEUE;
            core_job_change_state(self, job, HELIO_JOB_STOPPING, forgot, actor);
            core_stop(self, job, HELIO_STOP_MODE_KILL, &forgot);
        }
    }
}

void core_on_inventory(helio_broker_core_t *self, const helio_ev_site_inventory_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (!site || site->inventory_closed)
        return;
    core_site_heard(self, site);
    for (uint32_t i = 0; i < event->holdings.count; i++)
        take_holding(self, site, &event->holdings.items[i]);
    if (!event->last)
        return;
    site->inventory_closed = true;
    site->orders_ms = self->now_ms;
    site->heard_wall_ms = self->wall_ms;
    core_restored_inventory(self, site);
    helio_fx_peer_t done = {.peer = site->peer};
    core_emit(self, HELIO_BROKER_FX_VERDICTS_DONE, &done);
    close_inventory(self, site);
    core_preempt_resume(self, site);
    core_doubt_inventory(self, site);
    core_site_set_state(self, site, HELIO_SITE_STATE_READY);
}

void core_on_alive(helio_broker_core_t *self, const helio_ev_site_alive_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (site)
        core_site_heard(self, site);
}

/*  Granted to the whole site, from the time of the agent's request. The row makes the grant wait for a commit that is
 *  later than the request: a leader that has been replaced, or has lost its database, grants nothing. */
void core_on_renew(helio_broker_core_t *self, const helio_ev_site_renew_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (!site)
        return;
    core_site_heard(self, site);
    core_site_lease(self, site, 0);
#ifndef HELIO_MUTANT_lease_uncommitted
    core_site_row(self, site);
#endif
    helio_fx_renewed_t renewed = {event->peer, event->sent_boot_ms, self->options.lease_ms};
    core_emit(self, HELIO_BROKER_FX_RENEWED, &renewed);
}
