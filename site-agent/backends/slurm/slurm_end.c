/*  slurm_end.c -- how an attempt ended if `done` does not tell: from accounting, else from scontrol, else from the
 *  queue and a controller that is up and did not know the job in queries at least three lists apart. */
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum {
    STATUS_FILES_MS = 2000, /* a status file can appear here a little after Slurm reports that its writer has ended */
    DONE_MS = 60000,        /* when Slurm reports that the shim ended by itself, `done` must appear */
    AGAIN_MS = 2000,
    SACCT_TIMES = 3,
    UNKNOWN_TIMES = 3,
    UNKNOWN_MS = 30000, /* time for nodes to tell a controller that lost its memory what they run */
    TOLD_MS = 120000,
    ALIVE_MS = 10000
};

/*  What Slurm reports of the end, from any source. */
typedef struct fact {
    helio_slurm_state_t state;
    uint32_t exit_code, exit_signal;
    int64_t start_s, end_s;
    int64_t cancelled_by; /* uid; -1 = not told */
    helio_text_t reason;
} fact_t;

/* ---- by Slurm ------------------------------------------------------------------------------------------ */

static void set_times(helio_slurm_attempt_t *attempt, const fact_t *fact)
{
    helio_aev_backend_t *end = &attempt->end;
    if (attempt->leaving.done_read)
        return; /* the shim's own clock is the best source */
    end->started_wall_ms = attempt->started_wall_ms;
    end->ended_wall_ms = fact->end_s ? fact->end_s * 1000 : attempt->backend->now_wall_ms;
    int64_t ran_ms = end->ended_wall_ms - end->started_wall_ms;
    end->run_ms = end->started_wall_ms && ran_ms > 0 ? (uint64_t)ran_ms : 0;
    end->estimated = end->run_ms > 0;
}

/*  Slurm reports an end that was caused neither by a signal nor by an administrator. */
static bool by_itself(const fact_t *fact)
{
    return fact->state == HELIO_SLURM_COMPLETED || (fact->state == HELIO_SLURM_FAILED && !fact->exit_signal);
}

static void by_whom(const fact_t *fact, char ret_text[64])
{
    if (fact->cancelled_by >= 0)
        (void)snprintf(ret_text, 64, " by uid %lld", (long long)fact->cancelled_by);
    else
        ret_text[0] = '\0';
}

/*  Slurm also reports NODE_FAIL for a pending job whose partition was removed: such a job had no node. */
static bool had_no_node(const fact_t *fact)
{
    return fact->end_s && (!fact->start_s || fact->start_s >= fact->end_s);
}

/*  Not one instruction of the job ran. */
static void never_ran(helio_slurm_attempt_t *attempt, const fact_t *fact)
{
    char whom[64];
    const char *word = helio_slurm_state_name(fact->state);
    by_whom(fact, whom);
    attempt->end = (helio_aev_backend_t){.ended_wall_ms = attempt->backend->now_wall_ms};
    if (attempt->stop_mode != HELIO_SLURM_NO_STOP)
        helio_slurm_end_unstarted(attempt);
    else if (fact->state == HELIO_SLURM_CANCELLED || fact->state == HELIO_SLURM_REVOKED)
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_SITE_CANCELLED,
                        "cancelled at the site%s before it began", whom);
    else if (helio_text_is(fact->reason, "BadConstraints"))
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_SUBMIT_REFUSED, "BadConstraints%s%s",
                        attempt->trouble[0] ? ", " : "", attempt->trouble);
    else if (fact->state == HELIO_SLURM_NODE_FAIL && had_no_node(fact))
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_WITHDRAWN,
                        "Slurm ended it in the queue, as it does when a partition is removed");
    else if (fact->state == HELIO_SLURM_NODE_FAIL || fact->state == HELIO_SLURM_BOOT_FAIL)
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_NODE_FAILED, "before it began");
    else if (fact->state == HELIO_SLURM_PREEMPTED)
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_PREEMPTED, "before it began");
    else
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_START_FAILED,
                        "Slurm reports %s%s%.*s, exit code %u:%u, before helio-shim started", word,
                        fact->reason.size ? ", " : "", HELIO_TEXT_ARGS(fact->reason), fact->exit_code,
                        fact->exit_signal);
}

static void vanished(helio_slurm_attempt_t *attempt, const fact_t *fact)
{
    char whom[64];
    by_whom(fact, whom);
    switch ((int)fact->state) {
    case HELIO_SLURM_CANCELLED:
    case HELIO_SLURM_REVOKED:
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_SITE_CANCELLED, "cancelled at the site%s",
                        whom);
        return;
    case HELIO_SLURM_PREEMPTED:
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_PREEMPTED,
                        "another job of the site preempted it");
        return;
    case HELIO_SLURM_NODE_FAIL:
    case HELIO_SLURM_BOOT_FAIL:
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_NODE_FAILED, "Slurm lost one of its nodes");
        return;
    case HELIO_SLURM_DEADLINE:
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_SITE_CANCELLED,
                        "it reached a deadline set at the site");
        return;
    default:
        break;
    }
    if (attempt->leaving.signalled)
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_VANISHED,
                        "it was killed at the site: Slurm does not report that it ended by itself");
    else if (attempt->leaving.done_read)
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_SITE_CANCELLED,
                        "it was stopped at the site");
    else if (attempt->locked)
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_VANISHED,
                        "Slurm reports %s; the folder attempts/%s cannot be opened and is kept",
                        helio_slurm_state_name(fact->state), attempt->held.name);
    else if (by_itself(fact))
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_VANISHED,
                        "Slurm reports %s, exit code %u, but helio-shim left no status file of the end",
                        helio_slurm_state_name(fact->state), fact->exit_code);
    else
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_VANISHED,
                        "helio-shim was killed by signal %u", fact->exit_signal);
}

static void ended(helio_slurm_attempt_t *attempt, int exit_code, bool limit, helio_cause_t cause)
{
    attempt->end.exit_code = exit_code;
    attempt->end.limit_reached = limit;
    attempt->end.stopped = attempt->stop_mode != HELIO_SLURM_NO_STOP && !limit;
    helio_slurm_end(attempt, HELIO_BACKEND_REPORT_ENDED, cause, "%s", "");
}

/*  The shim ends with its job's exit code. sacct reports a code above 128 less 128. */
static bool is_its_own(const helio_slurm_attempt_t *attempt, const fact_t *fact)
{
    uint32_t mine = (uint32_t)attempt->end.exit_code;
    if (fact->state == HELIO_SLURM_COMPLETED)
        return mine == 0;
    return fact->state == HELIO_SLURM_FAILED && !fact->exit_signal &&
           (fact->exit_code == mine || fact->exit_code + 128 == mine);
}

/*  A shim that ends by itself leaves `done`, so an exit code in Slurm without one is another program's. A job that
 *  someone requeued finds the folder claimed, and ends with 0. A job that a controller without memory starts once more
 *  under its number cannot be made to run, and ends with 1. Both tell nothing of the attempt. */
static void ran(helio_slurm_attempt_t *attempt, const fact_t *fact)
{
    bool stopping = attempt->stop_mode != HELIO_SLURM_NO_STOP;
    set_times(attempt, fact);
    attempt->end.stopped = false;
    if (fact->state == HELIO_SLURM_TIMEOUT)
        ended(attempt, 124, true, HELIO_CAUSE_NONE);
    else if (stopping)
        ended(attempt, fact->exit_signal ? (int)(128 + fact->exit_signal) : 128 + 15, false, HELIO_CAUSE_NONE);
    else if (fact->state == HELIO_SLURM_OUT_OF_MEMORY)
        ended(attempt, 137, false, HELIO_CAUSE_OUT_OF_MEMORY);
    else if (attempt->leaving.signalled && is_its_own(attempt, fact))
        ended(attempt, attempt->end.exit_code, false, HELIO_CAUSE_NONE); /* it reported that to Slurm too */
    else
        vanished(attempt, fact);
}

void helio_slurm_end_requeued(helio_slurm_attempt_t *attempt)
{
    fact_t fact = {.state = HELIO_SLURM_REQUEUED, .cancelled_by = -1};
    bool started = attempt->started_wall_ms != 0 || helio_slurm_is_emptied(attempt);
    set_times(attempt, &fact);
    if (attempt->stop_mode != HELIO_SLURM_NO_STOP && started)
        ended(attempt, 128 + 15, false, HELIO_CAUSE_NONE);
    else
        helio_slurm_end(attempt, started ? HELIO_BACKEND_REPORT_VANISHED : HELIO_BACKEND_REPORT_FAILED_TO_START,
                        HELIO_CAUSE_SITE_CANCELLED, "queued again at the site");
}

static bool may_have_run(const helio_slurm_attempt_t *attempt)
{
    return (attempt->claimed && attempt->started_wall_ms) || attempt->locked || helio_slurm_is_emptied(attempt);
}

/*  Slurm's own daemon on the node has seen the shim end. */
static bool is_proof(const fact_t *fact)
{
    return fact->state == HELIO_SLURM_OUT_OF_MEMORY || (fact->state == HELIO_SLURM_FAILED && fact->exit_signal);
}

/*  False: `done` can still appear, and tells more. */
static bool decide(helio_slurm_attempt_t *attempt, const fact_t *fact)
{
    const helio_slurm_t *self = attempt->backend;
    bool itself = by_itself(fact) && !attempt->leaving.done_read;
    if ((attempt->claimed || attempt->locked) && itself && self->now_boot_ms - attempt->leaving.since_ms < DONE_MS)
        return false;
    /*  A node that Slurm gave up may only be cut off, or have lost its daemon: its jobs run on, also those that were
     *  cancelled meanwhile. So can a run beside which Slurm has started another under the same number. */
    if (!attempt->leaving.done_read && !is_proof(fact) && helio_slurm_is_alive(attempt))
        return false;
    helio_slurm_witness_end(attempt, fact->start_s, fact->end_s);
    if (may_have_run(attempt))
        ran(attempt, fact);
    else
        never_ran(attempt, fact);
    return true;
}

/*  A controller that is up does not know it, and no other source does. */
static void nobody_knows(helio_slurm_attempt_t *attempt)
{
    fact_t fact = {.state = attempt->seen.state, .cancelled_by = -1, .reason = helio_text_of(attempt->seen.reason)};
    const char *id = attempt->id[0] ? attempt->id : attempt->held.name;
    bool started = may_have_run(attempt);
    if (attempt->seen.over || attempt->leaving.done_read) {
        if (!attempt->seen.over)
            fact.state = HELIO_SLURM_OTHER;
        if (started)
            ran(attempt, &fact);
        else
            never_ran(attempt, &fact);
        return;
    }
    set_times(attempt, &fact);
    if (started && attempt->stop_mode != HELIO_SLURM_NO_STOP)
        ended(attempt, 128 + 9, false, HELIO_CAUSE_NONE);
    else if (attempt->locked)
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_VANISHED,
                        "Slurm does not know it; the folder attempts/%s cannot be opened and is kept",
                        attempt->held.name);
    else if (started)
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_VANISHED, HELIO_CAUSE_VANISHED,
                        "Slurm no longer knows its job %s", id);
    else if (attempt->stop_mode != HELIO_SLURM_NO_STOP)
        helio_slurm_end_unstarted(attempt);
#ifdef HELIO_MUTANT_forgotten_is_a_failure
    else
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_START_FAILED,
                        "Slurm no longer knows its job %s", id);
#else
    else /* its controller died before it had saved the job */
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, HELIO_CAUSE_WITHDRAWN,
                        "Slurm no longer knows its job %s", id);
#endif
}

/* ---- queries ------------------------------------------------------------------------------------------------ */

static void again(helio_slurm_attempt_t *attempt, int64_t pause_ms)
{
    attempt->leaving.due_ms = attempt->due_ms = attempt->backend->now_boot_ms + pause_ms;
}

static bool clear(const helio_command_result_t *result)
{
    return result->spawned && !result->timed_out && !result->truncated;
}

static bool contains(helio_text_t text, const char *part)
{
    return text.size && memmem(text.data, text.size, part, strlen(part)) != NULL;
}

static void on_ping(void *arg, const helio_command_result_t *result)
{
    helio_slurm_attempt_t *attempt = arg;
    helio_slurm_t *self = attempt->backend;
    helio_slurm_leaving_t *leaving = &attempt->leaving;
    attempt->asking = false;
    self->next_ms = 0;
    if (attempt->phase != HELIO_SLURM_AT_LEAVING)
        return;
    again(attempt, AGAIN_MS);
    if (!clear(result) || result->exit_code || !contains(result->out, " is UP") ||
        (leaving->unknown && leaving->unknown_list == self->poll.heard))
        return;
    if (leaving->unknown++ == 0)
        leaving->unknown_ms = self->now_boot_ms;
    leaving->unknown_list = self->poll.heard;
#ifdef HELIO_MUTANT_unknown_is_over
    leaving->unknown = UNKNOWN_TIMES;
    leaving->unknown_ms -= UNKNOWN_MS;
#endif
    bool alive = !attempt->closed && helio_slurm_is_alive(attempt); /* its job may have been renamed */
    bool sure = attempt->closed || attempt->seen.over ||
                (leaving->unknown >= UNKNOWN_TIMES && self->now_boot_ms - leaving->unknown_ms >= UNKNOWN_MS);
    if (alive)
        again(attempt, ALIVE_MS);
    else if (sure)
        nobody_knows(attempt);
}

/*  "Unknown" counts only from the controller that is in charge, and up. */
static void ping(helio_slurm_attempt_t *attempt)
{
    const char *argv[] = {"scontrol", "ping", NULL};
    attempt->asking = helio_slurm_ask(attempt->backend, argv, 4096, false, on_ping, attempt);
    if (!attempt->asking)
        again(attempt, AGAIN_MS);
}

static void on_known(helio_slurm_attempt_t *attempt, const helio_slurm_detail_t *detail)
{
    const helio_slurm_t *self = attempt->backend;
    fact_t fact = {detail->state, detail->exit_code, detail->exit_signal, detail->start_s, detail->end_s, -1,
                   detail->reason};
    attempt->leaving.unknown = 0;
    if (helio_slurm_state_is_over(detail->state)) {
        if (!decide(attempt, &fact))
            again(attempt, AGAIN_MS);
    } else if (!attempt->leaving.done_read) {
        attempt->since_list = self->poll.asked + 1; /* it exists: the list was wrong */
        helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
    } else {
        again(attempt, AGAIN_MS);
    }
}

static void on_detail(void *arg, const helio_command_result_t *result)
{
    helio_slurm_attempt_t *attempt = arg;
    helio_slurm_detail_t detail;
    attempt->asking = false;
    attempt->backend->next_ms = 0;
    if (attempt->phase != HELIO_SLURM_AT_LEAVING)
        return;
    bool answered = clear(result) && result->exit_code == 0;
    bool read = answered && helio_slurm_read_detail(result->out, &detail, NULL) == HELIO_OK;
    if (read && helio_text_is(detail.id, attempt->id) && helio_text_is(detail.name, attempt->held.name) &&
        helio_slurm_is_ours(attempt, detail.uid))
        on_known(attempt, &detail);
    else if (read || (clear(result) && result->exit_code &&
                      helio_slurm_trouble_of(result->complaint) == HELIO_SLURM_UNKNOWN_JOB))
        ping(attempt); /* also when its number is now another job's: a controller can lose numbers that it has given */
    else
        again(attempt, AGAIN_MS);
}

static void ask_detail(helio_slurm_attempt_t *attempt)
{
    const char *argv[] = {"scontrol", "--oneliner", "show", "job", attempt->id, NULL};
    attempt->asking = helio_slurm_ask(attempt->backend, argv, HELIO_SLURM_ANSWER_BYTES, false, on_detail, attempt);
    if (!attempt->asking)
        again(attempt, AGAIN_MS);
}

static void on_sacct(void *arg, const helio_command_result_t *result)
{
    helio_slurm_attempt_t *attempt = arg;
    helio_slurm_t *self = attempt->backend;
    attempt->asking = false;
    self->next_ms = 0;
    if (clear(result) && result->exit_code && contains(result->complaint, "storage is disabled"))
        self->no_accounting = true;
    if (attempt->phase != HELIO_SLURM_AT_LEAVING)
        return;
    again(attempt, self->no_accounting ? 0 : AGAIN_MS);
    helio_slurm_ends_t ends = {0};
    helio_arena_t *arena = helio_arena_new();
    const helio_slurm_end_t *mine = NULL;
    if (clear(result) && result->exit_code == 0 && helio_slurm_read_ends(result->out, arena, &ends, NULL) == HELIO_OK)
        for (uint32_t i = 0; i < ends.count; i++) /* a number can have been given twice: the name decides */
            if (helio_text_is(ends.items[i].id, attempt->id) && helio_text_is(ends.items[i].name, attempt->held.name) &&
                (ends.items[i].uid == UINT32_MAX || helio_slurm_is_ours(attempt, ends.items[i].uid)))
                mine = &ends.items[i];
    if (mine && helio_slurm_state_is_over(mine->state)) {
        fact_t fact = {mine->state, mine->exit_code, mine->exit_signal, mine->start_s, mine->end_s, mine->cancelled_by,
                       {0}};
        (void)decide(attempt, &fact);
    } else {
        attempt->leaving.sacct_asked++;
    }
    helio_arena_destroy(&arena);
}

static void ask_sacct(helio_slurm_attempt_t *attempt)
{
    char format[300], jobs[HELIO_SLURM_ID_SIZE + 16];
    (void)snprintf(format, sizeof format, "--format=%s", helio_slurm_ends_format);
    (void)snprintf(jobs, sizeof jobs, "--jobs=%s", attempt->id);
    const char *argv[] = {"sacct", "--noheader", "--allocations", "--duplicates", jobs, format, NULL};
    attempt->asking = helio_slurm_ask(attempt->backend, argv, HELIO_SLURM_ANSWER_BYTES, false, on_sacct, attempt);
    if (!attempt->asking)
        again(attempt, AGAIN_MS);
}

/* ---- called by the loop ------------------------------------------------------------------------------------- */

void helio_slurm_leaving_on_list(helio_slurm_attempt_t *attempt)
{
    if (attempt->seen.live && !attempt->leaving.done_read && !attempt->closed)
        helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
}

static void ask(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    if (!attempt->id[0])
        ping(attempt); /* no number to ask for: only the lists can tell that it is nowhere */
    else if (!self->no_accounting && attempt->leaving.sacct_asked < SACCT_TIMES)
        ask_sacct(attempt);
    else
        ask_detail(attempt);
}

void helio_slurm_leaving_serve(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    helio_slurm_leaving_t *leaving = &attempt->leaving;
    bool folder = false;
    attempt->due_ms = INT64_MAX;
    if (attempt->asking)
        return;
    if (!helio_slurm_look(attempt, &folder)) {
        again(attempt, AGAIN_MS);
        return;
    }
    if (attempt->phase != HELIO_SLURM_AT_LEAVING)
        return;
    if (!attempt->claimed && !attempt->closed && !attempt->locked) {
        helio_rc rc = helio_slurm_close(attempt, NULL);
        if (rc) { /* a shim was faster, or the disk failed: look again */
            again(attempt, rc == HELIO_CONFLICT ? 0 : AGAIN_MS);
            return;
        }
    }
    int64_t for_ms = self->now_boot_ms - leaving->since_ms;
    if (attempt->claimed && !leaving->done_read && for_ms < STATUS_FILES_MS)
        again(attempt, STATUS_FILES_MS - for_ms);
    else if (leaving->done_read && for_ms >= TOLD_MS)
        ran(attempt, &(fact_t){.state = HELIO_SLURM_OTHER, .cancelled_by = -1});
    else
        ask(attempt);
}
