/*  silence.c -- what the silence of a site means, and what its end. */
#include "broker/core/sites/silence.h"

#include <utlist.h>

#include "broker/core/sites/sessions.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

enum {
    LEASE_MARGIN_MS = 10000,
    LOST_ATTEMPTS_MAX = 20 /* a job that lost so many sites is LOST */
};

/*  The broker's own bound on a lease: grant + L * 1.02 + margin (clocks drift less than 1 %). A site keeps the lease
 *  that ends last, so a shorter one that is granted later shortens nothing. */
void core_site_lease(const helio_broker_core_t *self, site_t *site, uint64_t former_ms)
{
    uint64_t lease = self->options.lease_ms > former_ms ? self->options.lease_ms : former_ms;
    int64_t over_ms = self->now_ms + (int64_t)(lease + lease / 50) + LEASE_MARGIN_MS;
    if (over_ms > site->lease_over_ms)
        site->lease_over_ms = over_ms;
}

static void end_session(helio_broker_core_t *self, site_t *site)
{
    HASH_DELETE(hh_peer, self->peers, site);
    site->peer = 0;
    site->inventory_closed = false;
    site->capacity_known = false;
    core_facts_changed(self, site);
}

/*  The connection ended. That says nothing of the site's jobs: silence does, later. */
void core_on_gone(helio_broker_core_t *self, const helio_ev_site_gone_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (site)
        end_session(self, site);
}

static void suspect(helio_broker_core_t *self, job_t *job)
{
    if (job->state == HELIO_JOB_SUSPECT)
        return;
    job->before = job->state;
    core_job_change_state(self, job, HELIO_JOB_SUSPECT, CORE_WHY0(self, HELIO_DETAIL_SITE_SILENT), "broker");
}

static void requeue_lost(helio_broker_core_t *self, job_t *job, helio_details_t why, const char *actor)
{
    if (job->intent == HELIO_INTENT_CANCEL) {
        job->exit_code = 130;
        core_job_change_state(self, job, HELIO_JOB_CANCELLED, why, actor);
    } else if (job->attempts >= LOST_ATTEMPTS_MAX) {
        core_job_change_state(self, job, HELIO_JOB_LOST, why, actor);
    } else {
        core_job_change_state(self, job, HELIO_JOB_QUEUED, why, actor);
    }
}

static void watch_site(helio_broker_core_t *self, site_t *site)
{
    if (!site->stale && self->now_ms - site->heard_ms >= HELIO_RISK_STALE_AFTER_MS &&
        site->state == HELIO_SITE_STATE_READY) {
        site->stale = true;
        core_facts_changed(self, site);
    }
    bool silent = self->now_ms - site->heard_ms >= (int64_t)self->options.silent_after_ms;
    if (!silent || site->state == HELIO_SITE_STATE_NEW || site->state == HELIO_SITE_STATE_LOST)
        return;
    core_site_set_state(self, site, HELIO_SITE_STATE_SILENT);
    if (site->peer) {
        /* What it missed meanwhile, and what became of its jobs, only an inventory can settle: it must begin anew. */
        helio_fx_peer_t refusal = {site->peer, HELIO_TIMEOUT,
                                   HELIO_TEXT("nothing was heard of this site for too long: say HELLO again")};
        core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
        end_session(self, site);
    }
    bool lease_over = self->now_ms >= site->lease_over_ms;
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        suspect(self, job);
        uint32_t policy = job->submission->on_site_loss;
        if (policy == HELIO_SITE_LOSS_EAGER)
            requeue_lost(self, job, CORE_WHY0(self, HELIO_DETAIL_EAGER_RETRY), "broker");
        else if (policy == HELIO_SITE_LOSS_LEASE && lease_over)
            requeue_lost(self, job, CORE_WHY0(self, HELIO_DETAIL_LEASE_EXPIRED), "broker");
    }
}

/*  Every site has said what it runs, or had its time to. */
static void watch_restored(helio_broker_core_t *self)
{
    for (const site_t *site = self->sites; site && core_sites_awaited(self); site = site->hh.next)
        if (site->awaited)
            return;
    self->restored_until_ms = 0;
    core_capacity_changed(self);
}

void core_check_silence(helio_broker_core_t *self)
{
    for (site_t *site = self->sites; site; site = site->hh.next)
        watch_site(self, site);
    if (self->restored_until_ms)
        watch_restored(self);
    core_check_at(self, CORE_CHECK_SITES, self->now_ms + 1000);
}

/*  The operator swears that nothing of ours runs there any more. */
void core_site_attest(helio_broker_core_t *self, site_t *site, helio_text_t user, helio_text_t explanation)
{
    const helio_details_t why =
        CORE_WHY(self, HELIO_DETAIL_ATTESTED, helio_value_text(user), helio_value_text(explanation));
    const char *actor = core_actor(self, user);
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        suspect(self, job);
        requeue_lost(self, job, why, actor);
    }
    site->awaited = false;
    core_site_set_state(self, site, HELIO_SITE_STATE_LOST);
}
