/*  slurm_wait.c -- an attempt in Slurm's queue: the agent reports what it waits for, and withdraws it when it can
 * never start or has waited too long for nodes that it does not get. Also suspension by the site.
 *
 *  To withdraw an attempt, the agent claims its folder for no shim. If a shim was faster, the attempt runs.
 */
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/slurm/capacity_internal.h"
#include "site-agent/backends/slurm/slurm_internal.h"

enum {
    SAY_AFTER_MS = 5000,  /* most jobs start before a person could read what they wait for */
    SAY_EVERY_MS = 60000, /* of one attempt: each report is a row, here and at the broker */
    SAY_MOST = 50,        /* of all attempts, by one list */
    AHEAD_MS = 30000,     /* what was expected to become free did not, and it may be free elsewhere */
    LIMITED_MS = 60000,   /* other jobs use up a limit, and another site has others */
    NEVER_MS = 30000      /* an administrator may be changing the partition just now */
};

/* ---- Slurm's reasons ---------------------------------------------------------------------------------------- */

/*  Only another job file, or another configuration of the cluster, would let it start. */
static bool is_for_ever(const char *reason)
{
    static const char *const words[] = {"PartitionTimeLimit", "PartitionNodeLimit", "BadConstraints",
                                        "InvalidAccount",     "InvalidQOS",         "AccountNotAllowed",
                                        "QOSNotAllowed",      "MaxMemPerLimit",     "DependencyNeverSatisfied"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(reason, words[i]) == 0)
            return true;
    return strstr(reason, "PerJob") != NULL || helio_slurm_begins(reason, "QOSMin");
}

/*  It can start only after an administrator of the site acts. */
static bool is_shut_out(const char *reason)
{
    static const char *const heads[] = {"JobHeld",         "PartitionDown",      "PartitionInactive",
                                        "ReqNodeNotAvail", "ReservationDeleted", "Reservation_deleted"};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        if (helio_slurm_begins(reason, heads[i]))
            return true;
    return false;
}

/*  Limits of an account or a QOS, which other jobs use up. Another site has others. */
static bool is_limited(const char *reason)
{
    return helio_slurm_begins(reason, "Assoc") || helio_slurm_begins(reason, "QOS");
}

static bool waits_for_room(const char *reason)
{
    return strcmp(reason, "Resources") == 0 || strcmp(reason, "Priority") == 0;
}

/*  Nodes of a job's partitions that can start jobs, now or once they are free. Counted once for each list and
 * partition, since many attempts share one. */
static uint32_t usable_nodes(helio_slurm_poll_t *poll, const char *partitions)
{
    if (poll->usable.list == poll->heard && strcmp(poll->usable.partitions, partitions) == 0)
        return poll->usable.nodes;
    uint32_t count = 0;
    for (uint32_t i = 0; i < poll->nodes.count; i++) {
        const helio_slurm_node_t *node = &poll->nodes.items[i];
        if (node->closed || !(node->up || node->idle_off))
            continue;
        bool inside = false;
        for (const char *at = partitions; *at && !inside; at += *at == ',') {
            size_t size = strcspn(at, ",");
            inside = helio_slurm_in_list(node->partitions, (helio_text_t){at, (uint32_t)size});
            at += size;
        }
        count += inside;
    }
    poll->usable.list = poll->heard;
    (void)helio_text_copy(helio_text_of(partitions), poll->usable.partitions, sizeof poll->usable.partitions);
    poll->usable.nodes = count;
    return count;
}

static bool has_no_nodes(helio_slurm_attempt_t *attempt)
{
    helio_slurm_poll_t *poll = &attempt->backend->poll;
    return attempt->nodes && attempt->seen.partitions[0] && poll->cluster[HELIO_SLURM_ASK_NODES].have &&
           usable_nodes(poll, attempt->seen.partitions) < attempt->nodes;
}

/* ---- withdrawing --------------------------------------------------------------------------------------- */

/*  True once a condition has held without a break for that long. */
static bool lasts(int64_t *since_ms, bool is_so, int64_t now_ms, uint64_t for_ms)
{
    if (!is_so) {
        *since_ms = 0;
        return false;
    }
    if (!*since_ms)
        *since_ms = now_ms ? now_ms : 1;
    return now_ms - *since_ms >= (int64_t)for_ms;
}

static void take_back(helio_slurm_attempt_t *attempt, helio_cause_t cause, const char *why)
{
    char reason[sizeof attempt->seen.reason];
    memcpy(reason, attempt->seen.reason, sizeof reason);
    if (helio_slurm_close(attempt, NULL))
        return; /* it runs, or the disk failed: the next list tells */
    attempt->end = (helio_aev_backend_t){.ended_wall_ms = attempt->backend->now_wall_ms};
    helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, cause, "%s%s%s", why, reason[0] ? ": " : "", reason);
}

static bool takes_back(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    helio_slurm_waits_t *waits = &attempt->waits;
    const char *reason = attempt->seen.reason;
    uint64_t withdraw_ms = self->settings.withdraw_ms;
    bool no_nodes = has_no_nodes(attempt), limited = is_limited(reason);
    bool never = lasts(&waits->never_ms, is_for_ever(reason), self->now_boot_ms, NEVER_MS);
    uint64_t limited_ms = withdraw_ms < LIMITED_MS ? withdraw_ms : LIMITED_MS;
    bool stuck = lasts(&waits->stuck_ms, is_shut_out(reason) || limited || no_nodes, self->now_boot_ms,
                       limited ? limited_ms : withdraw_ms) &&
                 withdraw_ms;
    bool too_early = lasts(&waits->ahead_ms, attempt->ahead && waits_for_room(reason), self->now_boot_ms, AHEAD_MS);
    if (never)
        take_back(attempt, HELIO_CAUSE_SUBMIT_REFUSED, "the cluster accepted it but would never start it");
    else if (stuck)
        take_back(attempt, HELIO_CAUSE_WITHDRAWN,
                  no_nodes  ? "the cluster has too few nodes that can start jobs"
                  : limited ? "a limit of its account or QOS keeps it waiting"
                            : "the cluster does not let it start");
    else if (too_early)
        take_back(attempt, HELIO_CAUSE_WITHDRAWN, "the capacity that it waited for did not become free");
    return attempt->phase != HELIO_SLURM_AT_QUEUED;
}

/* ---- reporting -------------------------------------------------------------------------------------------- */

static void say_reason(helio_slurm_attempt_t *attempt)
{
    helio_slurm_t *self = attempt->backend;
    helio_slurm_waits_t *waits = &attempt->waits;
    bool is_new = attempt->seen.reason[0] && strcmp(attempt->seen.reason, waits->said) != 0;
    int64_t earliest_ms = waits->said[0] ? waits->said_ms + SAY_EVERY_MS : waits->since_ms + SAY_AFTER_MS;
    if (self->poll.reasons_list != self->poll.heard) {
        self->poll.reasons_list = self->poll.heard;
        self->poll.reasons_said = 0;
    }
    if (!is_new || self->now_boot_ms < earliest_ms || self->poll.reasons_said >= SAY_MOST)
        return;
    memcpy(waits->said, attempt->seen.reason, sizeof waits->said);
    waits->said_ms = self->now_boot_ms;
    self->poll.reasons_said++;
    helio_slurm_say(attempt, HELIO_BACKEND_REPORT_WAITING, HELIO_CAUSE_WAITS_IN_CLUSTER, attempt->seen.reason);
}

static void say_suspended(helio_slurm_attempt_t *attempt)
{
    bool stands = attempt->seen.state == HELIO_SLURM_SUSPENDED || attempt->seen.state == HELIO_SLURM_STOPPED;
    if (stands == attempt->suspended || (!stands && attempt->seen.state != HELIO_SLURM_RUNNING))
        return;
    attempt->suspended = stands;
    helio_slurm_say(attempt, stands ? HELIO_BACKEND_REPORT_SUSPENDED : HELIO_BACKEND_REPORT_RESUMED,
                    stands ? HELIO_CAUSE_SITE_SUSPENDED : HELIO_CAUSE_NONE, stands ? "suspended at the site" : "");
}

bool helio_slurm_wait_on_list(helio_slurm_attempt_t *attempt)
{
    if (attempt->stop_mode != HELIO_SLURM_NO_STOP || !attempt->seen.live)
        return false;
    if (attempt->phase == HELIO_SLURM_AT_RUNNING && attempt->said_started) {
        say_suspended(attempt);
        return false;
    }
    if (attempt->phase != HELIO_SLURM_AT_QUEUED || attempt->claimed || attempt->closed ||
        attempt->seen.state != HELIO_SLURM_PENDING) {
        attempt->waits = (helio_slurm_waits_t){0};
        return false;
    }
    if (!attempt->waits.since_ms)
        attempt->waits.since_ms = attempt->backend->now_boot_ms;
    if (takes_back(attempt))
        return true;
    say_reason(attempt);
    return false;
}
