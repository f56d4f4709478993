/*  table.c -- the attempts by key, their events, and requests for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/clock.h"
#include "federation/base/number.h"
#include "site-agent/backends/events.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

enum { SECONDS_MAX = INT32_MAX }; /* of a pod's deadline, by the API's own rules */

helio_kube_attempt_t *helio_kube_find(helio_kube_t *self, helio_job_key_t key, uint32_t epoch)
{
    const helio_attempt_id_t id = {key, epoch};
    helio_kube_attempt_t *attempt;
    HASH_FIND(hh, self->attempts, &id, sizeof id, attempt);
    return attempt;
}

helio_kube_attempt_t *helio_kube_named_attempt(helio_kube_t *self, helio_text_t name)
{
    helio_job_key_t key;
    uint32_t epoch;
    return helio_attempt_name_parse(name, &key, &epoch) ? NULL : helio_kube_find(self, key, epoch);
}

helio_kube_attempt_t *helio_kube_add(helio_kube_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_kube_attempt_t *attempt = helio_new(1, sizeof *attempt);
    attempt->backend = self;
    attempt->id = (helio_attempt_id_t){key, epoch};
    attempt->word = HELIO_BACKEND_REPORT_COUNT;
    attempt->pods = json_object();
    attempt->nodes = 1;
    attempt->dirty = attempt->confirm = true;
    helio_attempt_name(key, epoch, attempt->name);
    HASH_ADD(hh, self->attempts, id, sizeof attempt->id, attempt);
    self->next_ms = 0;
    return attempt;
}

void helio_kube_remove(helio_kube_attempt_t *attempt)
{
    HASH_DEL(attempt->backend->attempts, attempt);
    json_decref(attempt->job);
    json_decref(attempt->pods);
    json_decref(attempt->workload);
    json_decref(attempt->asked_to_end);
    helio_arena_destroy(&attempt->arena);
    free(attempt);
}

/* ---- what was seen ------------------------------------------------------------------------------------- */

/*  A number of a Job: nothing that a Job of the federation has is outside of these bounds, and nothing overflows within. */
static int64_t number_of(const json_t *from, const char *key, int64_t most)
{
    json_int_t value = json_integer_value(json_object_get(from, key));
    return value < 0 ? 0 : value > most ? most : value;
}

/*  What an agent that did not create it needs to know: its size and its limit. */
static void learn(helio_kube_attempt_t *attempt)
{
    const json_t *spec = json_object_get(attempt->job, "spec");
    const json_t *pod = HELIO_KUBE_AT(spec, "template", "spec");
    int64_t nodes = number_of(spec, "completions", HELIO_JOB_NODES_MAX);
    int64_t deadline_s = number_of(spec, "activeDeadlineSeconds", SECONDS_MAX);
    int64_t limit_s = number_of(pod, "activeDeadlineSeconds", SECONDS_MAX);
    int64_t grace_s = number_of(pod, "terminationGracePeriodSeconds", SECONDS_MAX);
    json_t *limits = HELIO_KUBE_AT(json_array_get(json_object_get(pod, "containers"), 0), "resources", "limits");
    const char *name;
    json_t *value;
    attempt->nodes = nodes ? (uint32_t)nodes : 1;
    attempt->deadline_s = (uint64_t)deadline_s;
    json_object_foreach(limits, name, value) if (strncmp(name, "nvidia.com/", 11) == 0) attempt->gpus_per_node =
        (uint32_t)helio_lesser_u64(helio_kube_units(value), HELIO_JOB_GPUS_PER_NODE_MAX);
    attempt->grace_ms = grace_s * 1000;
    if (!attempt->time_limit_ms && limit_s > grace_s + HELIO_KUBE_MARGIN_MS / 1000)
        attempt->time_limit_ms = (uint64_t)(limit_s - grace_s) * 1000 - HELIO_KUBE_MARGIN_MS;
    if (helio_kube_text(HELIO_KUBE_AT(attempt->job, "metadata", "annotations", HELIO_KUBE_BEGUN)).size)
        attempt->begun = attempt->noted = true;
}

/*  What one of ours takes of the site's queue, or has given back, is in its figures from then on. */
static void move_quota(helio_kube_t *self)
{
    if (self->quota.known && self->quota_due_ms > self->now_ms + HELIO_KUBE_QUOTA_MS)
        self->quota_due_ms = self->now_ms + HELIO_KUBE_QUOTA_MS;
}

void helio_kube_set_job(helio_kube_attempt_t *attempt, const json_t *job)
{
    json_decref(attempt->job);
    attempt->job = json_incref((json_t *)(uintptr_t)job);
    attempt->dirty = true;
    if (job) {
        attempt->known = true;
        learn(attempt);
    }
    if (job && !attempt->admitted_ms && !json_is_true(HELIO_KUBE_AT(job, "spec", "suspend"))) {
        attempt->admitted_ms = attempt->backend->now_ms;
        move_quota(attempt->backend);
    }
}

void helio_kube_set_pod(helio_kube_attempt_t *attempt, const json_t *pod, bool gone)
{
    helio_text_t uid = helio_kube_text(HELIO_KUBE_AT(pod, "metadata", "uid"));
    char key[64];
    (void)helio_text_copy(uid, key, sizeof key);
    attempt->dirty = true;
    if (gone)
        (void)json_object_del(attempt->pods, key);
    else
        (void)json_object_set(attempt->pods, key, (json_t *)(uintptr_t)pod);
}

/* ---- events -------------------------------------------------------------------------------------------- */

static void send(helio_kube_attempt_t *attempt, uint32_t word, const helio_kube_verdict_t *verdict)
{
    helio_kube_t *self = attempt->backend;
    helio_aev_backend_t event = {.key = attempt->id.key,
                                 .epoch = attempt->id.epoch,
                                 .word = word,
                                 .cause = verdict->cause,
                                 .exit_code = verdict->exit_code,
                                 .stopped = verdict->stopped,
                                 .limit_reached = verdict->limit_reached,
                                 .started_wall_ms = attempt->started_ms,
                                 .explanation = helio_text_of(attempt->said),
                                 .local_id = helio_text_of(attempt->name),
                                 .gpus = attempt->nodes * attempt->gpus_per_node};
    bool ended = word == HELIO_BACKEND_REPORT_ENDED || word == HELIO_BACKEND_REPORT_VANISHED;
    if (ended && attempt->started_ms) {
        event.estimated = !attempt->ended_ms;
        event.ended_wall_ms = attempt->ended_ms ? attempt->ended_ms : helio_kube_server_ms(self);
        event.run_ms =
            event.ended_wall_ms > event.started_wall_ms ? (uint64_t)(event.ended_wall_ms - event.started_wall_ms) : 0;
    }
    self->sink.on_event(self->sink.arg, &event);
}

static bool is_end(uint32_t word)
{
    return word == HELIO_BACKEND_REPORT_ENDED || word == HELIO_BACKEND_REPORT_FAILED_TO_START ||
           word == HELIO_BACKEND_REPORT_VANISHED || word == HELIO_BACKEND_REPORT_ABSENT;
}

void helio_kube_say(helio_kube_attempt_t *attempt, const helio_kube_verdict_t *verdict)
{
    char said[HELIO_KUBE_WHY_SIZE];
    (void)snprintf(said, sizeof said, "%s", verdict->why);
    helio_explanation_flatten(said);
    bool same = verdict->word == attempt->word && strcmp(said, attempt->said) == 0;
    if (same || attempt->over)
        return;
    attempt->word = verdict->word;
    (void)snprintf(attempt->said, sizeof attempt->said, "%s", said);
    attempt->over = is_end(verdict->word);
    attempt->backend->offer = true;
    if (attempt->over) {
        move_quota(attempt->backend);
        attempt->verdict = *verdict;
        attempt->create = false;
        if (attempt->found && !attempt->claimed && attempt->started_ms && !attempt->told)
            send(attempt, HELIO_BACKEND_REPORT_STARTED, verdict); /* else no attempt would hold what ended */
        helio_arena_destroy(&attempt->arena);
    }
    if (verdict->word == HELIO_BACKEND_REPORT_STARTED)
        attempt->begun = attempt->told = true;
    send(attempt, verdict->word, verdict);
}

void helio_kube_say_failed(helio_kube_attempt_t *attempt, helio_cause_t cause, const char *why)
{
    helio_kube_verdict_t verdict = {
        .kind = HELIO_KUBE_REPORT, .word = HELIO_BACKEND_REPORT_FAILED_TO_START, .cause = cause};
    (void)snprintf(verdict.why, sizeof verdict.why, "%s", why);
    helio_kube_say(attempt, &verdict);
}

void helio_kube_repeat(helio_kube_attempt_t *attempt)
{
    static const helio_kube_verdict_t none = {0};
    attempt->repeat = false;
    if (attempt->told)
        send(attempt, HELIO_BACKEND_REPORT_STARTED, &none);
    if (attempt->over)
        send(attempt, attempt->word, &attempt->verdict);
    else if (attempt->word == HELIO_BACKEND_REPORT_WAITING)
        attempt->word = HELIO_BACKEND_REPORT_COUNT;
    attempt->dirty = true;
}

/* ---- requests ------------------------------------------------------------------------------------------ */

int64_t helio_kube_server_ms(const helio_kube_t *self)
{
    return self->server_ahead_ms ? helio_clock_boot_ms() + self->server_ahead_ms : helio_clock_wall_ms();
}

/*  Any answer of the API itself shows that it is there; credentials that it refuses do not. */
void helio_kube_hear(void *backend, const helio_kube_reply_t *reply)
{
    helio_kube_t *self = backend;
    bool good = reply->answer != HELIO_KUBE_UNKNOWN && reply->answer != HELIO_KUBE_STRANGER;
    self->refused = self->refused || reply->answer == HELIO_KUBE_STRANGER;
    if (good && reply->server_wall_ms) /* a load balancer's clock is not the API's */
        self->server_ahead_ms = reply->server_wall_ms - helio_clock_boot_ms();
    if (!good && !self->failing_ms)
        self->failing_ms = helio_clock_boot_ms();
    if (good)
        self->failing_ms = 0;
    if (!good || reply->answer == HELIO_KUBE_DENIED)
        (void)helio_text_copy(reply->message.size ? reply->message : HELIO_TEXT("the API does not answer"),
                              self->trouble, sizeof self->trouble);
    self->next_ms = 0;
}

bool helio_kube_ask(helio_kube_attempt_t *attempt, const char *method, const char *path, helio_text_t body,
                    helio_kube_reply_fn *reply)
{
    helio_kube_t *self = attempt->backend;
    helio_error_t err = {0};
    if (helio_kube_api_ask(self->api, method, path, body, reply, attempt, &err)) {
        (void)snprintf(self->trouble, sizeof self->trouble, "%.*s", HELIO_KUBE_WHY_SIZE - 1, err.text);
        attempt->due_ms = self->now_ms + HELIO_KUBE_AGAIN_MS;
        return false;
    }
    attempt->out++;
    self->asked++;
    return true;
}

bool helio_kube_heard(helio_kube_attempt_t *attempt, const helio_kube_reply_t *reply)
{
    helio_kube_t *self = attempt->backend;
    attempt->out--;
    self->asked--;
    helio_kube_hear(self, reply);
    switch (reply->answer) {
    case HELIO_KUBE_BUSY:
    case HELIO_KUBE_UNKNOWN:
    case HELIO_KUBE_STRANGER:
    case HELIO_KUBE_EXPIRED:
        attempt->due_ms =
            self->now_ms + (int64_t)(reply->answer == HELIO_KUBE_BUSY ? reply->pause_ms : HELIO_KUBE_AGAIN_MS);
        return false;
    case HELIO_KUBE_DENIED:
        attempt->due_ms = self->now_ms + HELIO_KUBE_AGAIN_MS;
        if (!attempt->denied_ms)
            attempt->denied_ms = self->now_ms;
        return false;
    case HELIO_KUBE_DONE:
    case HELIO_KUBE_EXISTS:
    case HELIO_KUBE_CONFLICT:
    case HELIO_KUBE_ABSENT:
    case HELIO_KUBE_REFUSED:
        break;
    }
    attempt->denied_ms = 0;
    return true;
}

void helio_kube_object_path(const helio_kube_attempt_t *attempt, const char *kind, char ret_path[HELIO_KUBE_PATH_SIZE])
{
    (void)snprintf(ret_path, HELIO_KUBE_PATH_SIZE, "%s/namespaces/%s/%s/%s",
                   strcmp(kind, "jobs") == 0 ? "/apis/batch/v1" : "/api/v1", attempt->backend->space, kind,
                   attempt->name);
}
