/*  slurm_watch.c -- what a list and the clock mean for one attempt. The folder is read before the list counts. */
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum { FOLDER_AGAIN_MS = 2000, REQUEUED_MS = 2000 };

/* ---- by a list ---------------------------------------------------------------------------------------------- */

static void fill_seen(helio_slurm_seen_t *seen, const helio_slurm_job_t *job)
{
    *seen = (helio_slurm_seen_t){.over = helio_slurm_state_is_over(job->state), .state = job->state};
    seen->live = !seen->over;
    seen->start_s = job->start_s;
    seen->end_s = job->end_s;
    (void)helio_text_copy(job->reason, seen->reason, sizeof seen->reason);
    (void)helio_text_copy(job->id, seen->id, sizeof seen->id);
    if (job->partition.size < sizeof seen->partitions)
        (void)helio_text_copy(job->partition, seen->partitions, sizeof seen->partitions);
}

static uint32_t weight(const helio_slurm_seen_t *seen)
{
    return seen->live ? 2U + (seen->state != HELIO_SLURM_PENDING) : seen->over ? 1U : 0U;
}

/*  Slurm can hold several jobs of one name: submitted twice, or left behind by a refusal. The one that claimed the
 *  folder counts, else the one whose number sbatch printed, else the one that has come furthest. */
void helio_slurm_note_job(helio_slurm_attempt_t *attempt, const helio_slurm_job_t *job)
{
    helio_slurm_seen_t seen;
    if (job->id.size >= sizeof seen.id || !helio_slurm_is_ours(attempt, job->uid))
        return;
    fill_seen(&seen, job);
    bool known = attempt->id[0] != '\0', mine = known && strcmp(seen.id, attempt->id) == 0;
    if (mine || (!known && weight(&seen) > weight(&attempt->seen))) {
        if (!mine && attempt->seen.live)
            attempt->other = attempt->seen;
        attempt->seen = seen;
    } else if (weight(&seen) > weight(&attempt->other)) {
        attempt->other = seen;
    }
}

static bool holds_nodes(const helio_slurm_seen_t *seen)
{
    if (!seen->live)
        return false;
    switch ((int)seen->state) {
    case HELIO_SLURM_PENDING:
    case HELIO_SLURM_REQUEUED:
    case HELIO_SLURM_REQUEUE_HOLD:
    case HELIO_SLURM_REQUEUE_FED:
    case HELIO_SLURM_SPECIAL_EXIT:
    case HELIO_SLURM_RESV_DEL_HOLD:
    case HELIO_SLURM_OTHER:
        return false;
    default:
        return true;
    }
}

static void settle_twins(helio_slurm_attempt_t *attempt)
{
    if (attempt->claimed && attempt->id[0]) {
        /* only the claim's own job */
    } else if (!attempt->seen.live && attempt->other.live) {
        attempt->seen = attempt->other;
        attempt->other.live = false;
        (void)snprintf(attempt->id, sizeof attempt->id, "%s", attempt->seen.id);
    }
    if (attempt->seen.live && attempt->other.live && attempt->other.state == HELIO_SLURM_PENDING)
        helio_slurm_cancel_pending(attempt, attempt->other.id);
    if (!holds_nodes(&attempt->seen))
        attempt->holds_list = 0;
    else if (!attempt->holds_list)
        attempt->holds_list = attempt->backend->poll.heard;
}

static void take_up(helio_slurm_attempt_t *attempt)
{
    if (!attempt->claimed && attempt->seen.id[0])
        (void)snprintf(attempt->id, sizeof attempt->id, "%s", attempt->seen.id);
    helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
    if (attempt->seen.over)
        helio_slurm_leave(attempt);
}

/*  Nothing of it ran, and no job of its name exists: the attempt is to be submitted, or is absent. */
static void nowhere(helio_slurm_attempt_t *attempt, bool folder)
{
    bool ran = helio_witness_was_shown(&attempt->witness) || helio_slurm_is_emptied(attempt);
    if (attempt->locked || (!attempt->to_start && ran)) { /* it may have run */
        helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
        helio_slurm_leave(attempt);
        return;
    }
    if (folder && !attempt->closed) {
        helio_rc rc = helio_slurm_close(attempt, NULL);
        if (rc == HELIO_CONFLICT)
            helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
        if (rc)
            return;
    }
    if (attempt->to_start)
        helio_slurm_submit(attempt);
    else
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_ABSENT, HELIO_CAUSE_NONE, "%s", "");
}

/*  Its folder is not to be seen from here, and its job runs this site's script: it can run where the folder is seen. */
static void folderless_on_list(helio_slurm_attempt_t *attempt)
{
    if (attempt->seen.live && !holds_nodes(&attempt->seen)) {
        helio_slurm_cancel_pending(attempt, attempt->seen.id); /* the next list tells */
        return;
    }
    attempt->locked = true;
    if (attempt->seen.live || attempt->seen.over)
        take_up(attempt);
    else
        nowhere(attempt, true);
}

/*  The journal does not know it, and no shim has begun it: it would begin although the broker may be told that it is
 *  not here. */
static void end_unordered(helio_slurm_attempt_t *attempt)
{
    helio_rc rc = helio_slurm_close(attempt, NULL);
    if (rc == HELIO_CONFLICT)
        helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
    if (rc)
        return;
    attempt->end = (helio_aev_backend_t){.ended_wall_ms = attempt->backend->now_wall_ms};
    helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_WITHDRAWN,
                    "the agent lost its journal before it began");
}

static void looking_on_list(helio_slurm_attempt_t *attempt)
{
    bool folder = false;
    if (!helio_slurm_look(attempt, &folder) || attempt->phase != HELIO_SLURM_AT_LOOKING)
        return;
    bool open = folder && !attempt->closed;
    if (!folder && attempt->marked && !attempt->to_start)
        folderless_on_list(attempt);
    else if (open && !attempt->locked && attempt->surveyed && !attempt->known)
        end_unordered(attempt);
    else if (open && (attempt->seen.live || attempt->seen.over)) {
        take_up(attempt);
    } else if (attempt->seen.live && attempt->to_start) {
        /* A job that can claim nothing: it is cancelled before the folder is made anew. */
        if (attempt->seen.state == HELIO_SLURM_PENDING)
            helio_slurm_cancel_pending(attempt, attempt->seen.id);
    } else if (attempt->seen.live && !attempt->closed) {
        /*  Slurm has its job, and its folder is gone: the shared folder is not mounted here, or someone has emptied it.
         *  It may be running, so it is not absent; once the lists have lost it, it is. */
        attempt->due_ms = attempt->backend->now_boot_ms + FOLDER_AGAIN_MS;
    } else {
        nowhere(attempt, folder);
    }
}

static void unsure_on_list(helio_slurm_attempt_t *attempt)
{
    bool folder = false;
    if (!helio_slurm_look(attempt, &folder) || attempt->phase != HELIO_SLURM_AT_UNSURE)
        return;
    if (attempt->seen.live || attempt->seen.over || attempt->locked) {
        take_up(attempt);
    } else {
        attempt->absent = true;
        attempt->due_ms = 0;
    }
}

/*  Claimed, and pending: someone requeued it, and what ran is dead, unless a controller has come back with an older state
 *  than its nodes: then it beats. The next run of that job would find the folder claimed and succeed, which must not count
 *  as the attempt's own end. */
static bool was_requeued(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    if (!attempt->claimed || attempt->unproven || !attempt->seen.live || holds_nodes(&attempt->seen) ||
        attempt->seen.state == HELIO_SLURM_OTHER || strcmp(attempt->seen.id, attempt->id) != 0) {
        attempt->requeued_ms = 0;
        return false;
    }
    if (!attempt->requeued_ms)
        attempt->requeued_ms = self->now_boot_ms;
#ifdef HELIO_MUTANT_requeued_though_alive
    return self->now_boot_ms - attempt->requeued_ms >= REQUEUED_MS;
#else
    return self->now_boot_ms - attempt->requeued_ms >= REQUEUED_MS && !helio_slurm_is_alive(attempt);
#endif
}

static void held_on_list(helio_slurm_attempt_t *attempt)
{
    bool folder = false, waits = attempt->seen.state == HELIO_SLURM_PENDING,
         runs = attempt->phase == HELIO_SLURM_AT_RUNNING && attempt->seen.state == HELIO_SLURM_RUNNING,
         requeued = was_requeued(attempt);
    if (helio_slurm_wait_on_list(attempt))
        return;
    bool twin_began = !attempt->claimed && attempt->other.live && holds_nodes(&attempt->other);
    if (attempt->seen.live && (waits || runs) && !attempt->requeued_ms && !attempt->unproven && !twin_began &&
        attempt->stop_mode == HELIO_SLURM_NO_STOP)
        return; /* nothing new */
    if (!helio_slurm_look(attempt, &folder) ||
        (attempt->phase != HELIO_SLURM_AT_QUEUED && attempt->phase != HELIO_SLURM_AT_RUNNING))
        return;
    if (attempt->locked && attempt->marked && attempt->holds_list && attempt->phase == HELIO_SLURM_AT_QUEUED) {
        attempt->started_wall_ms = attempt->seen.start_s ? attempt->seen.start_s * 1000 : attempt->backend->now_wall_ms;
        helio_slurm_advance(attempt, HELIO_SLURM_AT_RUNNING);
        helio_slurm_say_started(attempt);
    }
    /* No shim starts through a closed folder: what still holds the nodes is not the federation's. */
    if (attempt->closed && attempt->holds_list && attempt->seen.live)
        helio_slurm_cancel_held(attempt, attempt->seen.id);
    if (requeued)
        helio_slurm_end_requeued(attempt);
    else if (!attempt->seen.live)
        helio_slurm_leave(attempt);
}

void helio_slurm_on_list(helio_slurm_attempt_t *attempt)
{
    settle_twins(attempt);
    helio_slurm_witness(attempt);
    helio_slurm_tell_evidence(attempt);
    attempt->backend->next_ms = 0;
    switch (attempt->phase) {
    case HELIO_SLURM_AT_LOOKING:
        looking_on_list(attempt);
        break;
    case HELIO_SLURM_AT_UNSURE:
        unsure_on_list(attempt);
        break;
    case HELIO_SLURM_AT_QUEUED:
    case HELIO_SLURM_AT_RUNNING:
        held_on_list(attempt);
        break;
    case HELIO_SLURM_AT_LEAVING:
        helio_slurm_leaving_on_list(attempt);
        break;
    case HELIO_SLURM_AT_GONE:
        helio_slurm_gone_on_list(attempt); /* can free it */
        break;
    case HELIO_SLURM_AT_SUBMITTING:
    case HELIO_SLURM_AT_OVER:
    case HELIO_SLURM_AT_COUNT:
        break;
    }
}

/* ---- what is due by the clock -------------------------------------------------------------------------- */

/*  By the last list, whenever it was requested. */
static bool is_listed(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_poll_t *poll = &attempt->backend->poll;
    for (uint32_t i = 0; i < poll->ours_count; i++)
        if (helio_text_is(poll->ours[i]->name, attempt->held.name) && helio_slurm_is_ours(attempt, poll->ours[i]->uid))
            return true;
    return false;
}

/*  The folder is made before sbatch is called: without a folder it never was, and through a closed one nothing of it
 *  starts. Then any list without the job proves its absence. */
static void looking_serve(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    bool folder = false;
    if (!helio_slurm_look(attempt, &folder)) {
        attempt->due_ms = self->now_boot_ms + FOLDER_AGAIN_MS;
        return;
    }
    if (attempt->phase != HELIO_SLURM_AT_LOOKING)
        return;
    attempt->due_ms = INT64_MAX;
    if (!attempt->to_start)
        return;
    int64_t give_up_ms = attempt->since_ms + HELIO_SLURM_GIVE_UP_MS;
    bool silent = !self->poll.heard || self->poll.failures;
    if ((!folder || attempt->closed) && self->poll.heard && !is_listed(attempt))
        helio_slurm_submit(attempt);
    else if (silent && self->now_boot_ms >= give_up_ms)
        helio_slurm_never_submitted(attempt);
    else
        attempt->due_ms = self->now_boot_ms < give_up_ms ? give_up_ms : self->now_boot_ms + FOLDER_AGAIN_MS;
}

/*  The status files report ends also while the controller is silent. */
static void held_serve(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    bool folder = false, waits = attempt->seen.live && attempt->seen.state == HELIO_SLURM_PENDING;
    if (!waits || attempt->unproven || self->poll.failures || helio_slurm_is_brisk(self))
        (void)helio_slurm_look(attempt, &folder);
    bool held = attempt->phase == HELIO_SLURM_AT_QUEUED || attempt->phase == HELIO_SLURM_AT_RUNNING;
    attempt->due_ms = held ? helio_slurm_look_ms(attempt) : 0;
}

static void serve_phase(helio_slurm_attempt_t *attempt)
{
    switch (attempt->phase) {
    case HELIO_SLURM_AT_LOOKING:
        looking_serve(attempt);
        break;
    case HELIO_SLURM_AT_UNSURE:
        helio_slurm_unsure_serve(attempt);
        break;
    case HELIO_SLURM_AT_QUEUED:
    case HELIO_SLURM_AT_RUNNING:
        held_serve(attempt);
        break;
    case HELIO_SLURM_AT_LEAVING:
        helio_slurm_leaving_serve(attempt);
        break;
    case HELIO_SLURM_AT_SUBMITTING:
    case HELIO_SLURM_AT_OVER:
    case HELIO_SLURM_AT_GONE:
    case HELIO_SLURM_AT_COUNT:
        attempt->due_ms = INT64_MAX;
        break;
    }
}

void helio_slurm_serve(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    if (!attempt->since_ms) /* start and adopt get no time */
        attempt->since_ms = self->now_boot_ms;
    if (attempt->stop_mode != HELIO_SLURM_NO_STOP)
        helio_slurm_stop_serve(attempt);
    if (attempt->phase != HELIO_SLURM_AT_OVER && attempt->due_ms <= self->now_boot_ms)
        serve_phase(attempt);
    if (attempt->phase == HELIO_SLURM_AT_OVER)
        helio_slurm_say_end(attempt);
}
