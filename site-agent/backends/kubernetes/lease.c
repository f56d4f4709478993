/*  lease.c -- the end that a Job holds itself: its activeDeadlineSeconds, renewed with the lease, and cut at the limit. */
#include <stdio.h>

#include "federation/base/clock.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

enum { GAIN_SHARE = 5 }; /* a patch for each fifth of a lease */

static int64_t start_ms(const helio_kube_attempt_t *attempt)
{
    return helio_kube_time(HELIO_KUBE_AT(attempt->job, "status", "startTime"));
}

static bool is_on(const helio_kube_attempt_t *attempt)
{
    return attempt->job && !attempt->over && start_ms(attempt) && !helio_kube_condition(attempt->job, "Complete") &&
           !helio_kube_condition(attempt->job, "Failed");
}

/*  Pods that the deadline ends have their grace, and that is over before the lease is. */
uint64_t helio_kube_lease_left_ms(const helio_kube_attempt_t *attempt)
{
    const helio_kube_t *self = attempt->backend;
    int64_t left =
        attempt->lease_boot_ms - self->now_ms - attempt->grace_ms - (int64_t)self->settings->clock_tolerance_ms;
    return attempt->lease_boot_ms && left > 0 ? (uint64_t)left : 0;
}

/*  The deadline that the lease allows, from the Job's start; 0 = it is to stay as it is. */
static uint64_t renewed_s(const helio_kube_attempt_t *attempt)
{
    uint64_t left_ms = helio_kube_lease_left_ms(attempt);
    int64_t until_ms = helio_kube_server_ms(attempt->backend) + (int64_t)left_ms - start_ms(attempt);
    uint64_t wanted = until_ms > 0 ? (uint64_t)until_ms / 1000 : 0, gain = left_ms / 1000 / GAIN_SHARE;
    uint64_t most = attempt->time_limit_ms
                        ? (attempt->time_limit_ms + (uint64_t)attempt->grace_ms + HELIO_KUBE_MARGIN_MS) / 1000
                        : UINT64_MAX;
    wanted = wanted > most ? most : wanted;
    return left_ms && wanted > attempt->deadline_s + (wanted == most ? 0 : gain) ? wanted : 0;
}

int64_t helio_kube_deadline_due_ms(const helio_kube_attempt_t *attempt)
{
    bool runs = is_on(attempt) && attempt->told && !attempt->deleted;
    if (!attempt->time_limit_ms || attempt->limit_reached || !runs || !attempt->started_ms)
        return INT64_MAX;
    int64_t left_ms = attempt->started_ms + (int64_t)attempt->time_limit_ms - helio_kube_server_ms(attempt->backend);
    int64_t at_ms = attempt->backend->now_ms + (left_ms > 0 ? left_ms : 0);
    return at_ms > attempt->due_ms ? at_ms : attempt->due_ms;
}

static bool is_limit(const helio_kube_attempt_t *attempt)
{
    return helio_kube_deadline_due_ms(attempt) <= attempt->backend->now_ms;
}

bool helio_kube_patch_due(const helio_kube_attempt_t *attempt)
{
    if (!is_on(attempt) || attempt->deleted)
        return false;
    return (attempt->told && !attempt->noted) || is_limit(attempt) ||
           (attempt->leased && !attempt->limit_reached && renewed_s(attempt));
}

static void on_patched(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_attempt_t *attempt = arg;
    bool heard = helio_kube_heard(attempt, reply);
    if (heard && reply->answer == HELIO_KUBE_DONE) { /* the watch shows it; this answer can be older than its last */
        attempt->noted = attempt->noted || attempt->told;
        attempt->deadline_s = attempt->deadline_asked_s ? attempt->deadline_asked_s : attempt->deadline_s;
        return;
    }
    attempt->limit_reached = false;
    attempt->confirm = attempt->confirm || heard;
    if (heard)
        attempt->due_ms = attempt->backend->now_ms + HELIO_KUBE_AGAIN_MS;
}

void helio_kube_patch(helio_kube_attempt_t *attempt)
{
    char path[HELIO_KUBE_PATH_SIZE], body[256], at[HELIO_RFC3339_SIZE], deadline[64] = "";
    uint64_t deadline_s = attempt->leased && !attempt->limit_reached ? renewed_s(attempt) : 0;
    if (is_limit(attempt)) {
        int64_t ran_s = (helio_kube_server_ms(attempt->backend) - start_ms(attempt)) / 1000;
        deadline_s = ran_s > 1 ? (uint64_t)ran_s : 1;
        attempt->limit_reached = true;
    }
    attempt->deadline_asked_s = deadline_s;
    helio_rfc3339(attempt->started_ms, at);
    if (deadline_s)
        (void)snprintf(deadline, sizeof deadline, ",\"spec\":{\"activeDeadlineSeconds\":%llu}",
                       (unsigned long long)deadline_s);
    int size = snprintf(body, sizeof body, "{\"metadata\":{\"annotations\":{%s%s%s}}%s}",
                        attempt->told ? "\"" HELIO_KUBE_BEGUN "\":\"" : "", attempt->told ? at : "",
                        attempt->told ? "\"" : "", deadline);
    helio_kube_object_path(attempt, "jobs", path);
    if (!helio_kube_ask(attempt, "PATCH", path, (helio_text_t){body, (uint32_t)size}, on_patched))
        attempt->limit_reached = false;
}
