/*  resend.c -- instructions that a site has not answered are sent again. */
#include "broker/core/sites/resend.h"

#include <utlist.h>

#include "broker/core/sites/doubt.h"
#include "broker/core/state/core.h"
#include "broker/core/state/dispatch.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/preemptible.h"
#include "broker/core/state/sites.h"

void core_resend_begin(helio_broker_core_t *self, site_t *site)
{
    site->resend_ms = self->now_ms + RESEND_MS;
    site->resend_seq = 0;
}

/*  Orders are numbered: those up to the number of the last look have been there for as long. Of a stop the last look
 *  left a mark. */
static void look(helio_broker_core_t *self, site_t *site)
{
    const uint64_t due_seq = site->resend_seq;
    site->resend_seq = site->dispatch_seq;
    job_t *job;
    DL_FOREACH(site->live, job)
    {
        bool stops = job->state == HELIO_JOB_STOPPING;
        if (job->state == HELIO_JOB_OFFERED && job->dispatch_seq && job->dispatch_seq <= due_seq)
            core_order_again(self, job);
        if (stops && job->stop_seen) {
            const helio_details_t again = core_why_of_stop(self, job);
            core_stop(self, job, core_preempt_mode(job), &again);
        }
        job->stop_seen = stops;
    }
}

void core_resend_check(helio_broker_core_t *self)
{
    for (site_t *site = self->sites; site; site = site->hh.next) {
        if (self->database_lost_ms) { /* they may not have left yet */
            core_resend_begin(self, site);
        } else if (site->peer && site->inventory_closed && self->now_ms >= site->resend_ms) {
            site->resend_ms = self->now_ms + RESEND_MS;
            look(self, site);
        }
    }
}
