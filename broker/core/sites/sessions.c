/*  sessions.c -- sites and their sessions; what silence means, and what its end. */
#include "broker/core/sites/sessions.h"

#include <utlist.h>

#include "broker/core/sites/profile.h"
#include "broker/core/sites/silence.h"
#include "broker/core/sites/summary.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/dispatch.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

enum {
    REFUSED_ROW_MS = 10000,  /* a site that is refused for ever other reasons is written so often */
    REFUSED_KEPT_MS = 600000 /* a refusal is shown so long beside a session */
};

/*  One that sends ever other versions costs a row now and then, not one for each. */
static void refuse(helio_broker_core_t *self, site_t *site, uint32_t rc, helio_text_t text)
{
    bool other = !helio_text_is(text, site->refused);
    if (other && site->refused[0] && self->now_ms - site->refused_row_ms < REFUSED_ROW_MS)
        return;
    site->refused_ms = self->now_ms;
    site->refused_rc = rc;
    if (!other)
        return;
    site->refused_row_ms = self->now_ms;
    site->refused_wall_ms = self->wall_ms;
    (void)helio_text_copy(text, site->refused, sizeof site->refused);
    core_site_row(self, site);
}

/*  A session opened, or goes on. A refusal is shown for a while beside one: who sent what cannot be read gets
 * sessions all the same, and another agent of the site may be refused. */
static void forgive(const helio_broker_core_t *self, site_t *site, bool opened)
{
    bool lasts = !opened || site->refused_rc == HELIO_PROTOCOL;
    if (lasts && self->now_ms - site->refused_ms < REFUSED_KEPT_MS)
        return;
    site->refused[0] = '\0';
    site->refused_rc = HELIO_OK;
    site->refused_wall_ms = 0;
}

void core_on_refused(helio_broker_core_t *self, const helio_ev_site_refused_t *event)
{
    refuse(self, core_site_get(self, event->site), event->rc, event->text);
}

/*  Every word from a site proves that it lives. */
void core_site_heard(helio_broker_core_t *self, site_t *site)
{
    site->heard_ms = self->now_ms;
    site->heard_wall_ms = self->wall_ms;
    if (site->refused[0])
        forgive(self, site, false);
    if (site->stale)
        core_facts_changed(self, site);
    site->stale = false;
    if (self->now_ms - site->row_ms >= CAPACITY_ROW_MS)
        core_site_row(self, site);
}

/*  Why a site that has seen more than this broker knows is not let in; NULL = it has not. */
static const char *older_than(helio_broker_core_t *self, const helio_ev_site_hello_t *event)
{
    if (event->incarnation_seen > self->incarnation)
        return core_printf(
            self,
            "this broker has incarnation %llu, but the site has seen %llu: an old database was restored; "
            "`helio-broker restored` mends it",
            (unsigned long long)self->incarnation, (unsigned long long)event->incarnation_seen);
    if (event->incarnation_seen == self->incarnation && event->broker_epoch_seen > self->broker_epoch)
        return core_printf(
            self,
            "this broker has epoch %llu, but the site has seen %llu: another broker leads, or an old "
            "database was restored; `helio-broker restored` mends the latter",
            (unsigned long long)self->broker_epoch, (unsigned long long)event->broker_epoch_seen);
    return NULL;
}

void core_on_hello(helio_broker_core_t *self, const helio_ev_site_hello_t *event)
{
    site_t *site = core_site_get(self, event->site);
    const char *older = older_than(self, event);
    if (older) {
        helio_fx_peer_t refusal = {event->peer, HELIO_FENCED, helio_text_of(older)};
        core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
        refuse(self, site, refusal.rc, refusal.text);
        return;
    }
    if (site->peer) { /* the last authenticated HELLO wins */
        HASH_DELETE(hh_peer, self->peers, site);
        if (site->peer != event->peer) {
            helio_fx_peer_t refusal = {site->peer, HELIO_CONFLICT,
                                       HELIO_TEXT("another agent with this site's key has opened a session")};
            core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
        }
    }
    core_site_take_profile(self, site, &event->profile);
    (void)helio_text_copy(event->agent_version, site->agent_version, sizeof site->agent_version);
    site->peer = event->peer;
    site->session = ++self->session;
    site->inventory_closed = false;
    site->capacity_known = false;
    site->summary_seq = 0;
    site->dispatch_seq = 0;
    site->unanswered = 0;
    core_site_lease(self, site, 0);
    HASH_ADD(hh_peer, self->peers, peer, sizeof site->peer, site);
    forgive(self, site, true);
    core_site_heard(self, site);
    core_site_row(self, site);
    helio_fx_welcome_t welcome = {event->peer,           self->incarnation,       self->broker_epoch,
                                  self->options.lease_ms, self->options.renew_ms, self->options.summary_ms};
    core_emit(self, HELIO_BROKER_FX_WELCOME, &welcome);
}

static void rule(helio_broker_core_t *self, const site_t *site, const helio_holding_t *holding, helio_verdict_t verdict)
{
    helio_fx_verdict_t fx = {site->peer, {holding->key, holding->epoch, verdict}};
    core_emit(self, HELIO_BROKER_FX_VERDICT, &fx);
}

/*  The site has it: it is no longer suspect; what it missed is said again when the inventory closes. */
static void take_holding(helio_broker_core_t *self, site_t *site, const helio_holding_t *holding)
{
    job_t *job = core_job_find(self, holding->key);
    if (!job || job->site != site || job->epoch != holding->epoch) {
        rule(self, site, holding, HELIO_VERDICT_FENCED);
        return;
    }
    job->inventory = site->session;
    if (job->state == HELIO_JOB_SUSPECT)
        core_job_change_state(self, job, job->before, CORE_WHY0(self, HELIO_DETAIL_SITE_BACK), core_printf(self, "site:%s", site->name));
    rule(self, site, holding, HELIO_VERDICT_KEEP);
}

/*  What the site should have had but does not, and what it was told while away. */
static void close_inventory(helio_broker_core_t *self, site_t *site)
{
    const char *actor = core_printf(self, "site:%s", site->name);
    const helio_details_t forgot = CORE_WHY0(self, HELIO_DETAIL_SITE_FORGOT);
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        bool held = job->inventory == site->session;
        if (job->state == HELIO_JOB_SUSPECT)
            core_job_change_state(self, job, job->before, CORE_WHY0(self, HELIO_DETAIL_SITE_BACK), actor);
        if (job->state == HELIO_JOB_STOPPING) {
            const helio_details_t again = core_why_kept(self, job->why);
            core_stop(self, job, core_preempt_mode(job), &again);
        } else if (!held && job->state == HELIO_JOB_OFFERED) {
            core_order(self, job);
        } else if (!held) {
            /* its journal lost it, or its end is among the reports that follow: the stop's answer is the proof */
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
    site->awaited = false;
    helio_fx_peer_t done = {.peer = site->peer};
    core_emit(self, HELIO_BROKER_FX_VERDICTS_DONE, &done);
    close_inventory(self, site);
    core_site_set_state(self, site, HELIO_SITE_STATE_READY);
}

/*  Granted for the whole site, counted from when the broker answers; no row is written. */
void core_on_renew(helio_broker_core_t *self, const helio_ev_site_renew_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (!site)
        return;
    core_site_heard(self, site);
    core_site_lease(self, site, 0);
    helio_fx_renewed_t renewed = {event->peer, event->sent_boot_ms, self->options.lease_ms};
    core_emit(self, HELIO_BROKER_FX_RENEWED, &renewed);
}
