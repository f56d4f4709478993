/*  silence.c -- what happens when a site is silent, and when it is attested. */
#include "broker/core/sites/silence.h"

#include <utlist.h>

#include "broker/core/holds/awaited_sites.h"
#include "broker/core/sites/resend.h"
#include "broker/core/sites/restored.h"
#include "broker/core/sites/doubt.h"
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
    INVENTORY_MOST_MS = 300000, /* a session without an inventory for longer is ended, whatever else the site says */
    ATTEST_LEAST_MS = 30000     /* an order that is under way to a site arrives before that, or its connection ends
                               (federation/net): 15 s without an answer, and what the site has then yet to read */
};

/*  The broker's own bound on a lease: grant + L * 1.02 + margin (clocks drift less than 1 %). A site keeps the lease
 *  that ends last, so a shorter one that is granted later shortens nothing. */
void core_site_lease(const helio_broker_core_t *self, site_t *site, uint64_t former_ms)
{
#ifdef HELIO_MUTANT_former_leases_forgotten
    former_ms = 0;
#endif
    uint64_t lease = self->options.lease_ms > former_ms ? self->options.lease_ms : former_ms;
    int64_t over_ms = self->now_ms + (int64_t)(lease + lease / 50) + LEASE_MARGIN_MS;
    if (over_ms > site->lease_over_ms)
        site->lease_over_ms = over_ms;
}

static void end_session(helio_broker_core_t *self, site_t *site)
{
    HASH_DELETE(hh_peer, self->peers, site);
    site->peer = 0;
    if (site->capacity_known)
        core_site_await(self, site, false);
    site->inventory_closed = false;
    site->capacity_known = false;
    core_facts_changed(self, site);
}

void core_session_refuse(helio_broker_core_t *self, site_t *site, helio_rc rc, helio_text_t text)
{
    helio_fx_peer_t refusal = {site->peer, (uint32_t)rc, text};
    core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
    end_session(self, site);
}

/*  The connection ended. That proves nothing about the site's jobs; only its silence does, later. */
void core_on_gone(helio_broker_core_t *self, const helio_ev_site_gone_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (!site)
        return;
    end_session(self, site);
    if (event->bye)
        core_site_row(self, site); /* the next leader awaits no process of it */
}

/*  Figures are old after three intervals in which the site should have sent newer ones. */
static int64_t stale_after_ms(const helio_broker_core_t *self)
{
    int64_t after_ms = (int64_t)self->options.summary_ms * 3;
    return after_ms > HELIO_RISK_STALE_AFTER_MS ? after_ms : HELIO_RISK_STALE_AFTER_MS;
}

/*  An agent that says HELLO and fails, again and again, does not keep the jobs of its site: silence counts from the last
 *  message of a session with an inventory, except while one that is open still has time to send it. */
static int64_t silent_since_ms(const helio_broker_core_t *self, const site_t *site)
{
    bool in_time = site->inventory_closed || self->now_ms - site->opened_ms < INVENTORY_MOST_MS;
    return site->peer && in_time ? site->heard_ms : site->orders_ms;
}

static void watch_site(helio_broker_core_t *self, site_t *site)
{
    core_doubt_watch(self, site);
    if (!site->stale && self->now_ms - site->heard_ms >= stale_after_ms(self) &&
        site->state == HELIO_SITE_STATE_READY) {
        site->stale = true;
        core_facts_changed(self, site);
    }
    bool silent = self->now_ms - silent_since_ms(self, site) >= (int64_t)self->options.silent_after_ms;
    if (!silent || site->state == HELIO_SITE_STATE_NEW || site->state == HELIO_SITE_STATE_LOST)
        return;
    if (site->peer) /* only an inventory can settle what it missed meanwhile, and what became of its jobs */
        core_session_refuse(self, site, HELIO_TIMEOUT,
                            HELIO_TEXT("nothing was heard of this site for too long: say HELLO again"));
    bool awaited = !helio_uuid_is_nil(site->former_boot_id);
    site->former_boot_id = (helio_uuid_t){0}; /* the row says so: the next leader awaits it no longer either */
    if (awaited && site->state == HELIO_SITE_STATE_SILENT)
        core_site_row(self, site);
    core_site_set_state(self, site, HELIO_SITE_STATE_SILENT);
    bool lease_over = self->now_ms >= site->lease_over_ms;
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        core_job_suspect(self, job, HELIO_DETAIL_SITE_SILENT);
        uint32_t policy = job->submission->on_site_loss;
        if (policy == HELIO_SITE_LOSS_EAGER)
            core_job_requeue_lost(self, job, CORE_WHY0(self, HELIO_DETAIL_EAGER_RETRY), "broker");
        else if (policy == HELIO_SITE_LOSS_LEASE && lease_over)
            core_job_requeue_lost(self, job, CORE_WHY0(self, HELIO_DETAIL_LEASE_EXPIRED), "broker");
    }
}

void core_check_silence(helio_broker_core_t *self)
{
    if (!self->database_lost_ms) /* else nothing that follows could be committed, and refused sites are not silent */
        for (site_t *site = self->sites; site; site = site->hh.next)
            watch_site(self, site);
    core_restored_check(self);
    core_awaited_sites_check(self);
    core_resend_check(self);
    core_check_at(self, CORE_CHECK_SITES, self->now_ms + 1000);
}

/*  A leader that has just begun knows a site as silent, but the leader before it may have sent an order a moment ago. A
 *  session that had no inventory carried none: an agent that says HELLO again and again, and fails, delays nothing. */
int64_t core_site_attest_wait_ms(const helio_broker_core_t *self, const site_t *site)
{
    int64_t over_ms = site->orders_ms + core_site_attest_after_ms(self);
#ifdef HELIO_MUTANT_attested_at_once
    return 0;
#endif
    return over_ms > self->now_ms && site->state != HELIO_SITE_STATE_READY ? over_ms - self->now_ms : 0;
}

int64_t core_site_attest_after_ms(const helio_broker_core_t *self)
{
    int64_t silent_after_ms = (int64_t)self->options.silent_after_ms;
    return silent_after_ms > ATTEST_LEAST_MS ? silent_after_ms : ATTEST_LEAST_MS;
}

/*  The operator confirms that none of the federation's jobs runs there any more; of a site in session, that none runs
 *  that it does not show. */
bool core_site_attest(helio_broker_core_t *self, site_t *site, helio_text_t principal, helio_text_t explanation)
{
    const helio_details_t why =
        CORE_WHY(self, HELIO_DETAIL_ATTESTED, helio_value_text(principal), helio_value_text(explanation));
    const char *actor = core_actor(self, principal);
    if (core_site_attest_wait_ms(self, site))
        return false;
    bool reconciled = core_restored_attest(self, site);
    if (site->state != HELIO_SITE_STATE_SILENT)
        return core_doubt_attest(self, site, why, actor) || reconciled;
    if (site->peer) /* its inventory would be of before */
        core_session_refuse(self, site, HELIO_TIMEOUT,
                            HELIO_TEXT("an operator attested this site dead: say HELLO again"));
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        core_job_suspect(self, job, HELIO_DETAIL_SITE_SILENT);
        core_job_requeue_lost(self, job, why, actor);
    }
    core_site_found(self, site);
    core_site_set_state(self, site, HELIO_SITE_STATE_LOST);
    return true;
}
