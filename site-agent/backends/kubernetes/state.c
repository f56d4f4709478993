/*  state.c -- the table of states. */
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/state.h"

enum { LIMIT_CODE = 124, KILLED_CODE = 137 };

/*  What the containers of all pods together say. */
typedef struct helio_kube_tally {
    uint32_t begun;          /* pods */
    int64_t latest_start_ms; /* when the last of them began */
    int64_t first_end_ms, last_end_ms;
    int32_t first_code; /* of the first that ended without success; 0 = none did */
    int64_t first_bad_ms;
    bool out_of_memory, image_waits;
    uint32_t present; /* pods that exist and have not ended */
    helio_text_t waits_for;
} helio_kube_tally_t;

static const char *const image_troubles[] = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName",
                                             "ErrImageNeverPull", "CreateContainerConfigError"};

static void say(helio_kube_verdict_t *verdict, helio_text_t why)
{
    (void)helio_text_copy(why, verdict->why, sizeof verdict->why);
}

static void note_end(const json_t *ended, helio_kube_tally_t *tally)
{
    int64_t at_ms = helio_kube_time(json_object_get(ended, "finishedAt"));
    int32_t code = (int32_t)json_integer_value(json_object_get(ended, "exitCode"));
    if (!tally->first_end_ms || at_ms < tally->first_end_ms)
        tally->first_end_ms = at_ms;
    if (at_ms > tally->last_end_ms)
        tally->last_end_ms = at_ms;
    if (code && (!tally->first_code || at_ms < tally->first_bad_ms)) {
        tally->first_code = code;
        tally->first_bad_ms = at_ms;
        tally->out_of_memory = helio_text_is(helio_kube_text(json_object_get(ended, "reason")), "OOMKilled");
    }
}

static void note_wait(const json_t *waiting, helio_kube_tally_t *tally)
{
    uint32_t place;
    helio_text_t reason = helio_kube_text(json_object_get(waiting, "reason"));
    helio_text_t message = helio_kube_text(json_object_get(waiting, "message"));
    if (!helio_text_among(reason, image_troubles, sizeof image_troubles / sizeof image_troubles[0], &place))
        tally->image_waits = true;
    tally->waits_for = message.size ? message : reason;
}

static void note_pod(const json_t *pod, helio_kube_tally_t *tally)
{
    const json_t *containers = HELIO_KUBE_AT(pod, "status", "containerStatuses");
    const json_t *scheduled = helio_kube_named(HELIO_KUBE_AT(pod, "status", "conditions"), "type", "PodScheduled");
    helio_text_t phase = helio_kube_text(HELIO_KUBE_AT(pod, "status", "phase"));
    tally->present += !helio_text_is(phase, "Succeeded") && !helio_text_is(phase, "Failed");
    if (helio_text_is(helio_kube_text(json_object_get(scheduled, "reason")), "Unschedulable"))
        tally->waits_for = helio_kube_text(json_object_get(scheduled, "message"));
    int64_t began_ms = 0;
    for (size_t i = 0; i < json_array_size(containers); i++) {
        const json_t *state = json_object_get(json_array_get(containers, i), "state");
        const json_t *running = json_object_get(state, "running"), *ended = json_object_get(state, "terminated");
        int64_t at_ms = helio_kube_time(json_object_get(running ? running : ended, "startedAt"));
        began_ms = at_ms > began_ms ? at_ms : began_ms;
        if (ended)
            note_end(ended, tally);
        if (json_object_get(state, "waiting"))
            note_wait(json_object_get(state, "waiting"), tally);
    }
    tally->begun += began_ms != 0;
    tally->latest_start_ms = began_ms > tally->latest_start_ms ? began_ms : tally->latest_start_ms;
}

static void report(helio_kube_verdict_t *verdict, helio_backend_report_t word, helio_cause_t cause)
{
    verdict->kind = HELIO_KUBE_REPORT;
    verdict->word = word;
    verdict->cause = cause;
}

/* ---- ends ---------------------------------------------------------------------------------------------- */

/*  The Job is gone: deleted by us or by others. Its pods may still be there, and then it is not over. */
static void judge_absent(const helio_kube_sight_t *sight, const helio_kube_tally_t *tally,
                         helio_kube_verdict_t *verdict)
{
    if (tally->present)
        return;
    if (!sight->known) {
        report(verdict, HELIO_BACKEND_REPORT_ABSENT, HELIO_CAUSE_NONE);
        return;
    }
    if (sight->deleted) {
        report(verdict, HELIO_BACKEND_REPORT_ENDED, HELIO_CAUSE_NONE);
        verdict->stopped = true;
        verdict->exit_code = tally->first_code;
        return;
    }
    report(verdict, sight->begun ? HELIO_BACKEND_REPORT_VANISHED : HELIO_BACKEND_REPORT_FAILED_TO_START,
           HELIO_CAUSE_SITE_CANCELLED);
    say(verdict, HELIO_TEXT("the Job was deleted, but not by the federation"));
}

static void judge_failed(const helio_kube_sight_t *sight, const json_t *failed, const helio_kube_tally_t *tally,
                         helio_kube_verdict_t *verdict)
{
    say(verdict, helio_kube_text(json_object_get(failed, "message")));
    if (helio_text_is(helio_kube_text(json_object_get(failed, "reason")), "DeadlineExceeded")) {
        int64_t began_ms = helio_kube_time(HELIO_KUBE_AT(sight->job, "status", "startTime"));
        int64_t at_ms = helio_kube_time(json_object_get(failed, "lastTransitionTime"));
        bool limit = sight->time_limit_ms && began_ms && at_ms - began_ms >= (int64_t)sight->time_limit_ms;
        report(verdict,
               sight->begun || tally->begun ? HELIO_BACKEND_REPORT_ENDED : HELIO_BACKEND_REPORT_FAILED_TO_START,
               limit ? HELIO_CAUSE_NONE : HELIO_CAUSE_LEASE_EXPIRED);
        verdict->limit_reached = limit;
        verdict->stopped = !limit;
        verdict->exit_code = limit ? LIMIT_CODE : KILLED_CODE;
        return;
    }
    if (tally->first_code) {
        report(verdict, HELIO_BACKEND_REPORT_ENDED,
               tally->out_of_memory ? HELIO_CAUSE_OUT_OF_MEMORY : HELIO_CAUSE_NONE);
        verdict->exit_code = tally->first_code;
        verdict->stopped = sight->deleted;
        return;
    }
    report(verdict, sight->begun || tally->begun ? HELIO_BACKEND_REPORT_VANISHED : HELIO_BACKEND_REPORT_FAILED_TO_START,
           HELIO_CAUSE_NODE_FAILED);
}

/* ---- before the end ------------------------------------------------------------------------------------ */

/*  Suspended: Kueue lets it wait, or has evicted it. What had begun may not begin again: its epoch ran. */
static void judge_suspended(const helio_kube_sight_t *sight, helio_kube_verdict_t *verdict)
{
    const json_t *conditions = HELIO_KUBE_AT(sight->workload, "status", "conditions");
    const json_t *quota = helio_kube_named(conditions, "type", "QuotaReserved");
    const json_t *evicted = helio_kube_named(conditions, "type", "Evicted");
    helio_text_t message = helio_kube_text(json_object_get(quota, "message"));
    if (sight->begun) {
        verdict->kind = HELIO_KUBE_GIVE_UP;
        verdict->word = HELIO_BACKEND_REPORT_VANISHED;
        verdict->cause = HELIO_CAUSE_PREEMPTED;
        say(verdict, helio_kube_text(json_object_get(evicted, "message")));
        return;
    }
    bool inadmissible = helio_text_is(helio_kube_text(json_object_get(quota, "reason")), "Inadmissible");
    bool no_queue = message.size > 13 && memcmp(message.data + message.size - 13, "doesn't exist", 13) == 0;
    if (inadmissible && no_queue) {
        verdict->kind = HELIO_KUBE_GIVE_UP;
        verdict->word = HELIO_BACKEND_REPORT_FAILED_TO_START;
        verdict->cause = HELIO_CAUSE_SUBMIT_REFUSED;
    } else {
        report(verdict, HELIO_BACKEND_REPORT_WAITING, HELIO_CAUSE_WAITS_IN_CLUSTER);
    }
    say(verdict, message.size ? message : HELIO_TEXT("the Job is suspended"));
}

static void judge_waiting(const helio_kube_sight_t *sight, const helio_kube_tally_t *tally,
                          helio_kube_verdict_t *verdict)
{
    helio_text_t why = tally->waits_for.size ? tally->waits_for : sight->creation;
    say(verdict, why.size ? why : HELIO_TEXT("the Job has no pods yet"));
    if (tally->image_waits && sight->image_since_ms &&
        sight->server_wall_ms - sight->image_since_ms >= HELIO_KUBE_IMAGE_PATIENCE_MS) {
        verdict->kind = HELIO_KUBE_GIVE_UP;
        verdict->word = HELIO_BACKEND_REPORT_FAILED_TO_START;
        verdict->cause = HELIO_CAUSE_SUBMIT_REFUSED;
        return;
    }
    report(verdict, HELIO_BACKEND_REPORT_WAITING, HELIO_CAUSE_WAITS_IN_CLUSTER);
}

void helio_kube_look(const helio_kube_sight_t *sight, helio_kube_verdict_t *ret_verdict)
{
    helio_kube_tally_t tally = {0};
    const json_t *conditions = HELIO_KUBE_AT(sight->job, "status", "conditions");
    for (size_t i = 0; i < json_array_size(sight->pods); i++)
        note_pod(json_array_get(sight->pods, i), &tally);
    *ret_verdict = (helio_kube_verdict_t){.kind = HELIO_KUBE_KEEP,
                                          .started_wall_ms = tally.latest_start_ms,
                                          .ended_wall_ms = tally.last_end_ms,
                                          .image_waits = tally.image_waits};
    if (!sight->job) {
        judge_absent(sight, &tally, ret_verdict);
    } else if (helio_kube_condition(sight->job, "Complete")) {
        report(ret_verdict, HELIO_BACKEND_REPORT_ENDED, HELIO_CAUSE_NONE);
    } else if (helio_kube_condition(sight->job, "Failed")) {
        judge_failed(sight, helio_kube_named(conditions, "type", "Failed"), &tally, ret_verdict);
    } else if (sight->deleted || helio_kube_condition(sight->job, "SuccessCriteriaMet") ||
               helio_kube_condition(sight->job, "FailureTarget")) {
        return; /* on its way to an end */
    } else if (json_is_true(HELIO_KUBE_AT(sight->job, "spec", "suspend"))) {
        judge_suspended(sight, ret_verdict);
    } else if (tally.begun >= sight->nodes) {
        if (!sight->begun)
            report(ret_verdict, HELIO_BACKEND_REPORT_STARTED, HELIO_CAUSE_NONE);
    } else if (!sight->begun) {
        judge_waiting(sight, &tally, ret_verdict);
    }
}
