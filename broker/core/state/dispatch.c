/*  dispatch.c -- instructions to a site: to run a job, and to stop one. */
#include "broker/core/state/dispatch.h"

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "federation/reason/codes.h"
#include "federation/reason/sentence.h"

void core_order(helio_broker_core_t *self, job_t *job)
{
    site_t *site = job->site;
    if (!site->peer || !site->inventory_closed)
        return; /* it is sent when the next inventory closes */
    const submission_t *submission = job->submission;
    const helio_requirement_t *want = &submission->class->want;
    job->dispatch_seq = ++site->dispatch_seq;
    site->unanswered++;
    helio_fx_order_t fx = {
        .peer = site->peer,
        .incarnation = self->incarnation,
        .order =
            {
                .dispatch_seq = job->dispatch_seq,
                .key = job->key,
                .epoch = job->epoch,
                .tenant = submission->row.tenant,
                .user = submission->row.user,
                .pool = helio_text_of(core_job_pool(job)),
                .nodes = want->nodes,
                .gpus_per_node = job->gpus_per_node,
                .cpus_per_node = want->cpus,
                .memory_bytes_per_node = want->memory_bytes,
                .time_limit_ms = submission->row.time_limit_ms,
                .on_site_loss = submission->on_site_loss,
                .resume = job->ran,
                .source = submission->row.source,
            },
    };
    core_emit(self, HELIO_BROKER_FX_ORDER, &fx);
}

void core_order_again(helio_broker_core_t *self, job_t *job)
{
    job->site->unanswered -= job->site->unanswered > 0; /* it is counted once */
    core_order(self, job);
}

enum { STOP_REASON_MAX = 64 }; /* bytes of the message; the transition has the whole text */

void core_stop(helio_broker_core_t *self, job_t *job, helio_stop_mode_t mode, const helio_details_t *reason)
{
    if (!job->site->peer || !job->site->inventory_closed)
        return; /* it is sent when the next inventory closes */
    const char *sentences =
        helio_arena_string(self->effects->arena, helio_sentences_text(reason, self->effects->arena));
    helio_fx_stop_t fx = {job->site->peer,
                          {job->key, job->epoch, mode, core_text_cut(sentences, STOP_REASON_MAX), HELIO_CAUSE_STOPPED}};
    core_emit(self, HELIO_BROKER_FX_STOP, &fx);
}
