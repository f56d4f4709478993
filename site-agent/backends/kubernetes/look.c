/*  look.c -- what the cluster says of an attempt. What a watch says is enough to go on waiting; an end counts only if the
 *  API was asked for it. */
#include <stdio.h>

#include "federation/base/clock.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

static const helio_text_t lost_order = {"it had not begun, and the agent has lost its order", 50};

/* ---- the verdict --------------------------------------------------------------------------------------- */

static void give_up(helio_kube_attempt_t *attempt, const helio_kube_verdict_t *verdict)
{
    if (attempt->given_up)
        return;
    attempt->given_up = true;
    attempt->verdict = *verdict;
    attempt->due_ms = 0;
}

/*  A Job without an order, as far as this agent and its journal know, that has not begun need not begin. */
static bool is_nobodys(const helio_kube_attempt_t *attempt)
{
    return attempt->found && !attempt->claimed && !attempt->begun;
}

static void on_waiting(helio_kube_attempt_t *attempt, helio_kube_verdict_t *verdict, bool confirmed)
{
    attempt->look_ms = attempt->backend->now_ms + HELIO_KUBE_LOOK_MS;
    if (!confirmed && attempt->word != HELIO_BACKEND_REPORT_WAITING) {
        attempt->confirm = true; /* quota and events say more than the Job does */
        return;
    }
    if (is_nobodys(attempt)) {
        verdict->word = HELIO_BACKEND_REPORT_FAILED_TO_START;
        verdict->cause = HELIO_CAUSE_START_FAILED;
        (void)helio_text_copy(lost_order, verdict->why, sizeof verdict->why);
        give_up(attempt, verdict);
    } else if (confirmed) {
        helio_kube_say(attempt, verdict);
    }
}

static int64_t finished_ms(const helio_kube_attempt_t *attempt)
{
    const json_t *conditions = HELIO_KUBE_AT(attempt->job, "status", "conditions");
    const json_t *failed = helio_kube_named(conditions, "type", "Failed");
    const json_t *end = failed ? failed : helio_kube_named(conditions, "type", "Complete");
    return helio_kube_time(json_object_get(end, "lastTransitionTime"));
}

static void on_end(helio_kube_attempt_t *attempt, helio_kube_verdict_t *verdict)
{
    if (verdict->word == HELIO_BACKEND_REPORT_ABSENT && attempt->create && !attempt->stop) {
        attempt->posted = false; /* what had no answer was not carried out */
        return;
    }
    if (verdict->word == HELIO_BACKEND_REPORT_ABSENT && attempt->create) {
        verdict->word = HELIO_BACKEND_REPORT_ENDED;
        verdict->stopped = true;
    }
    if (attempt->given_up && !helio_kube_condition(attempt->job, "Complete"))
        *verdict = attempt->verdict;
    attempt->ended_ms = verdict->ended_wall_ms ? verdict->ended_wall_ms : finished_ms(attempt);
    helio_kube_say(attempt, verdict);
}

static void act(helio_kube_attempt_t *attempt, helio_kube_verdict_t *verdict, bool confirmed)
{
    if (verdict->kind == HELIO_KUBE_KEEP)
        return;
    if (verdict->kind == HELIO_KUBE_REPORT && verdict->word == HELIO_BACKEND_REPORT_STARTED)
        helio_kube_say(attempt, verdict);
    else if (verdict->kind == HELIO_KUBE_REPORT && verdict->word == HELIO_BACKEND_REPORT_WAITING)
        on_waiting(attempt, verdict, confirmed);
    else if (!confirmed)
        attempt->confirm = true;
    else if (verdict->kind == HELIO_KUBE_GIVE_UP)
        give_up(attempt, verdict);
    else
        on_end(attempt, verdict);
}

/*  It has begun before this agent saw it begin: the Job says so, Kueue evicted it, or its pods have outlived it. */
static void remember(helio_kube_attempt_t *attempt, const helio_kube_verdict_t *verdict)
{
    helio_kube_verdict_t started = {.kind = HELIO_KUBE_REPORT, .word = HELIO_BACKEND_REPORT_STARTED};
    int64_t noted_ms = helio_kube_time(HELIO_KUBE_AT(attempt->job, "metadata", "annotations", HELIO_KUBE_BEGUN));
    if (!attempt->posted && helio_kube_condition(attempt->workload, "Evicted"))
        attempt->begun = true;
    if (!attempt->job && verdict->started_wall_ms)
        attempt->begun = true;
    attempt->started_ms = verdict->started_wall_ms ? verdict->started_wall_ms : attempt->started_ms;
    if (!attempt->started_ms)
        attempt->started_ms = noted_ms;
    if (attempt->begun && !attempt->told && attempt->started_ms)
        helio_kube_say(attempt, &started);
}

static void judge(helio_kube_attempt_t *attempt, bool confirmed)
{
    const helio_kube_t *self = attempt->backend;
    helio_kube_verdict_t verdict;
    json_t *pods = json_array(), *pod;
    const char *uid;
    json_object_foreach(attempt->pods, uid, pod)(void) json_array_append(pods, pod);
    helio_kube_sight_t sight = {.job = attempt->job,
                                .pods = pods,
                                .workload = attempt->workload,
                                .creation = helio_text_of(attempt->creation),
                                .nodes = attempt->nodes,
                                .time_limit_ms = attempt->time_limit_ms,
                                .begun = attempt->begun,
                                .known = attempt->known,
                                .deleted = attempt->deleted,
                                .server_wall_ms = helio_kube_server_ms(self),
                                .image_since_ms = attempt->image_since_ms};
    attempt->dirty = false;
    helio_kube_look(&sight, &verdict);
    remember(attempt, &verdict);
    if (attempt->begun != sight.begun) {
        sight.begun = attempt->begun;
        helio_kube_look(&sight, &verdict);
    }
    attempt->image_since_ms = !verdict.image_waits      ? 0
                              : attempt->image_since_ms ? attempt->image_since_ms
                                                        : sight.server_wall_ms;
    act(attempt, &verdict, confirmed);
    attempt->judged = attempt->judged || confirmed;
    if (confirmed && attempt->changes != attempt->changes_asked && !attempt->over)
        attempt->confirm = true; /* a watch was faster than the answer, which may be older */
    json_decref(pods);
}

/* ---- the questions ------------------------------------------------------------------------------------- */

static void on_detail(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_attempt_t *attempt = arg;
    const json_t *items = json_object_get(reply->document, "items");
    const json_t *last = json_array_get(items, json_array_size(items) ? json_array_size(items) - 1 : 0);
    bool suspended = json_is_true(HELIO_KUBE_AT(attempt->job, "spec", "suspend"));
    (void)helio_kube_heard(attempt, reply);
    if (reply->answer == HELIO_KUBE_DONE && suspended) {
        json_decref(attempt->workload);
        attempt->workload = json_incref((json_t *)(uintptr_t)last);
    } else if (reply->answer == HELIO_KUBE_DONE) {
        (void)helio_text_copy(helio_kube_text(json_object_get(last, "message")), attempt->creation,
                              sizeof attempt->creation);
    }
    attempt->due_ms = 0;
    attempt->confirm = false;
    judge(attempt, true);
}

/*  Why it waits: Kueue's Workload, or the event that tells why it has no pods. False: nothing more can be asked. */
static bool ask_detail(helio_kube_attempt_t *attempt)
{
    char path[HELIO_KUBE_PATH_SIZE];
    helio_text_t uid = helio_kube_text(HELIO_KUBE_AT(attempt->job, "metadata", "uid"));
    bool over = helio_kube_condition(attempt->job, "Complete") || helio_kube_condition(attempt->job, "Failed");
    if (!attempt->job || over)
        return false;
    if (json_is_true(HELIO_KUBE_AT(attempt->job, "spec", "suspend")))
        (void)snprintf(
            path, sizeof path,
            "/apis/kueue.x-k8s.io/v1beta1/namespaces/%s/workloads?labelSelector=kueue.x-k8s.io%%2Fjob-uid%%3D%.*s",
            attempt->backend->space, HELIO_TEXT_ARGS(uid));
    else if (!json_object_size(attempt->pods))
        (void)snprintf(
            path, sizeof path,
            "/api/v1/namespaces/%s/events?fieldSelector=involvedObject.uid%%3D%.*s%%2Creason%%3DFailedCreate",
            attempt->backend->space, HELIO_TEXT_ARGS(uid));
    else
        return false;
    return helio_kube_ask(attempt, "GET", path, (helio_text_t){0}, on_detail);
}

static void on_pods(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_attempt_t *attempt = arg;
    const json_t *items = json_object_get(reply->document, "items");
    if (!helio_kube_heard(attempt, reply) || reply->answer != HELIO_KUBE_DONE)
        return;
    json_object_clear(attempt->pods);
    for (size_t i = 0; i < json_array_size(items); i++)
        helio_kube_set_pod(attempt, json_array_get(items, i), false);
    attempt->due_ms = 0;
    if (ask_detail(attempt))
        return;
    attempt->confirm = false;
    judge(attempt, true);
}

static bool is_ours(const helio_kube_attempt_t *attempt, const json_t *job)
{
    const json_t *labels = HELIO_KUBE_AT(job, "metadata", "labels");
    return helio_text_is(helio_kube_text(json_object_get(labels, "app.kubernetes.io/managed-by")), "heliostat") &&
           helio_text_equal(helio_kube_text(json_object_get(labels, "heliostat/site")), attempt->backend->site->name) &&
           helio_text_is(helio_kube_text(json_object_get(labels, "heliostat/attempt")), attempt->name);
}

static void on_job(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_attempt_t *attempt = arg;
    char path[HELIO_KUBE_PATH_SIZE];
    if (!helio_kube_heard(attempt, reply))
        return;
    if (reply->answer != HELIO_KUBE_DONE && reply->answer != HELIO_KUBE_ABSENT) {
        attempt->due_ms = attempt->backend->now_ms + HELIO_KUBE_AGAIN_MS;
        return;
    }
    if (reply->answer == HELIO_KUBE_DONE && !is_ours(attempt, reply->document)) {
        helio_kube_say_failed(attempt, HELIO_CAUSE_SUBMIT_REFUSED,
                              "a Job of that name exists that does not belong to the federation");
        return;
    }
    helio_kube_set_job(attempt, reply->answer == HELIO_KUBE_DONE ? reply->document : NULL);
    (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods?labelSelector=heliostat%%2Fattempt%%3D%s",
                   attempt->backend->space, attempt->name);
    (void)helio_kube_ask(attempt, "GET", path, (helio_text_t){0}, on_pods);
}

void helio_kube_consider(helio_kube_attempt_t *attempt)
{
    char path[HELIO_KUBE_PATH_SIZE];
    int64_t now_ms = attempt->backend->now_ms;
    bool waits = attempt->word == HELIO_BACKEND_REPORT_WAITING || !attempt->judged;
    if (!attempt->confirm && !(waits && now_ms >= attempt->look_ms)) {
        judge(attempt, false);
        return;
    }
    attempt->look_ms = now_ms + HELIO_KUBE_LOOK_MS;
    attempt->changes_asked = attempt->changes;
    helio_kube_object_path(attempt, "jobs", path);
    (void)helio_kube_ask(attempt, "GET", path, (helio_text_t){0}, on_job);
}
