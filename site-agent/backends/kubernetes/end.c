/*  end.c -- what ends an attempt's objects: the deletion of its Job, and of its pods, and the mark of an end that the
 *  broker knows. */
#include <stdio.h>

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

static void on_deleted(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_attempt_t *attempt = arg;
    if (!helio_kube_heard(attempt, reply))
        return;
    attempt->deleted = reply->answer == HELIO_KUBE_DONE || reply->answer == HELIO_KUBE_ABSENT;
    attempt->confirm = true;
    attempt->due_ms = attempt->deleted ? 0 : attempt->backend->now_ms + HELIO_KUBE_AGAIN_MS;
}

/*  In the foreground: the Job is there as long as one of its pods is. Only the object that was seen. */
void helio_kube_delete(helio_kube_attempt_t *attempt)
{
    char path[HELIO_KUBE_PATH_SIZE], body[256];
    helio_text_t uid = helio_kube_text(HELIO_KUBE_AT(attempt->job, "metadata", "uid"));
    helio_kube_object_path(attempt, "jobs", path);
    int size =
        snprintf(body, sizeof body, "{\"propagationPolicy\":\"Foreground\",\"preconditions\":{\"uid\":\"%.*s\"}}",
                 (int)(uid.size < 64 ? uid.size : 0), uid.size ? uid.data : "");
    (void)helio_kube_ask(attempt, "DELETE", path, (helio_text_t){body, (uint32_t)size}, on_deleted);
}

static void on_killed(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_attempt_t *attempt = arg;
    if (!helio_kube_heard(attempt, reply)) { /* which one is not known: all that are left are asked again */
        attempt->killed = false;
        (void)json_object_clear(attempt->asked_to_end);
    }
    attempt->confirm = true;
}

/*  Its pods, at once, or with their own grace where only they are left; as many as can be asked for now. */
void helio_kube_kill(helio_kube_attempt_t *attempt)
{
    char path[HELIO_KUBE_PATH_SIZE];
    const char *uid;
    json_t *pod;
    helio_text_t body = attempt->kill ? HELIO_TEXT("{\"gracePeriodSeconds\":0}") : HELIO_TEXT("{}");
    attempt->killed = true;
    if (!attempt->asked_to_end)
        attempt->asked_to_end = json_object();
    json_object_foreach(attempt->pods, uid, pod)
    {
        helio_text_t name = helio_kube_text(HELIO_KUBE_AT(pod, "metadata", "name"));
        if (json_object_get(attempt->asked_to_end, uid))
            continue;
        if (attempt->out >= HELIO_KUBE_KILLS_MAX || attempt->backend->asked >= HELIO_KUBE_ASKED_MAX) {
            attempt->killed = false;
            return;
        }
        (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%.*s", attempt->backend->space,
                       HELIO_TEXT_ARGS(name));
        if (helio_kube_ask(attempt, "DELETE", path, body, on_killed))
            (void)json_object_set_new(attempt->asked_to_end, uid, json_true());
        else
            attempt->killed = false;
    }
}

static void on_acknowledged(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_attempt_t *attempt = arg;
    if (helio_kube_heard(attempt, reply))
        helio_kube_set_job(attempt, NULL);
}

/*  Later agents need not report it. */
void helio_kube_acknowledge(helio_kube_attempt_t *attempt)
{
    static const char body[] = "{\"metadata\":{\"labels\":{\"" HELIO_KUBE_ACKNOWLEDGED "\":\"true\"}}}";
    char path[HELIO_KUBE_PATH_SIZE];
    helio_kube_object_path(attempt, "jobs", path);
    (void)helio_kube_ask(attempt, "PATCH", path, HELIO_TEXT(body), on_acknowledged);
}
