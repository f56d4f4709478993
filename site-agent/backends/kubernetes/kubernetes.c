/*  kubernetes.c -- the backend: what the core asks, what the cluster shows, and the loop's side. */
#include "site-agent/backends/kubernetes/kubernetes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/clock.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

enum {
    BEAT_MS = 15000,
    SILENT_MS = 30000,
    SURVEY_PATIENCE_MS = 10000,
    OWN_PODS_MS = 600000, /* before the rights to list all pods are tried again */
    ALERT_MS = 1000
};

static helio_kube_t *kube_of(const helio_backend_t *base)
{
    return (helio_kube_t *)(uintptr_t)base;
}

/* ---- what the core asks -------------------------------------------------------------------------------- */

static helio_kube_attempt_t *claim(helio_kube_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_kube_attempt_t *attempt = helio_kube_find(self, key, epoch);
    if (!attempt)
        attempt = helio_kube_add(self, key, epoch);
    attempt->claimed = true;
    attempt->due_ms = 0;
    self->next_ms = 0;
    self->offer = true;
    return attempt;
}

static void take_order(helio_kube_attempt_t *attempt, const helio_backend_task_t *task)
{
    const helio_order_t *order = task->order;
    bool known_order = order->pool.size > 0; /* of what was found without one only the name is known */
    (void)helio_text_copy(order->pool, attempt->pool, sizeof attempt->pool);
    if (!known_order)
        return;
    attempt->nodes = order->nodes ? order->nodes : 1;
    attempt->gpus_per_node = order->gpus_per_node;
    attempt->cpus_per_node = order->cpus_per_node;
    attempt->memory_bytes_per_node = order->memory_bytes_per_node;
    attempt->time_limit_ms = order->time_limit_ms;
    attempt->leased = attempt->leased || order->on_site_loss != HELIO_SITE_LOSS_STRICT;
    attempt->grace_ms = (int64_t)helio_kube_grace_ms(task->spec);
}

static void kube_start(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_kube_attempt_t *attempt = claim(kube_of(base), task->order->key, task->order->epoch);
    bool absent = attempt->over && attempt->word == HELIO_BACKEND_REPORT_ABSENT;
    if (attempt->create || (!absent && (attempt->known || attempt->over))) {
        attempt->repeat = true;
        return;
    }
    take_order(attempt, task);
    helio_arena_destroy(&attempt->arena);
    attempt->arena = helio_arena_new();
    helio_record_copy(&helio_order_type, attempt->arena, task->order, &attempt->order);
    helio_record_copy(&helio_job_spec_type, attempt->arena, task->spec, &attempt->spec);
    attempt->create = true;
    attempt->over = attempt->posted = attempt->confirm = attempt->forgotten = false;
    attempt->word = HELIO_BACKEND_REPORT_COUNT;
}

static void kube_adopt(helio_backend_t *base, const helio_backend_task_t *task)
{
    helio_kube_attempt_t *attempt = claim(kube_of(base), task->order->key, task->order->epoch);
    take_order(attempt, task);
    attempt->confirm = !attempt->over;
    attempt->repeat = true;
}

static void kube_stop(helio_backend_t *base, const helio_stop_t *stop)
{
    helio_kube_attempt_t *attempt = claim(kube_of(base), stop->key, stop->epoch);
    attempt->stop = true;
    if (stop->mode == HELIO_STOP_MODE_KILL && !attempt->kill) { /* pods that were given their grace have none now */
        attempt->kill = true;
        attempt->killed = false;
        (void)json_object_clear(attempt->asked_to_end);
    }
    attempt->repeat = attempt->over;
}

static void kube_forget(helio_backend_t *base, helio_job_key_t key, uint32_t epoch)
{
    helio_kube_attempt_t *attempt = helio_kube_find(kube_of(base), key, epoch);
    if (attempt)
        attempt->forgotten = true;
    kube_of(base)->next_ms = 0;
}

static void kube_survey(helio_backend_t *base)
{
    helio_kube_t *self = kube_of(base);
    self->surveying = true;
    self->survey_ms = helio_clock_boot_ms();
    self->next_ms = 0;
}

/*  What is named before it is started is kept with its deadline until the next names come. */
static void drop_unstarted(helio_kube_t *self)
{
    helio_kube_attempt_t *attempt, *after;
    HASH_ITER(hh, self->attempts, attempt, after) if (!attempt->claimed && !attempt->found) helio_kube_remove(attempt);
}

static helio_rc kube_lease(helio_backend_t *base, const helio_afx_lease_t *lease, helio_error_t *err)
{
    helio_kube_t *self = kube_of(base);
    (void)err;
    drop_unstarted(self);
    for (uint32_t i = 0; i < lease->attempts.count; i++) {
        const helio_attempt_ref_t *named = &lease->attempts.items[i];
        helio_kube_attempt_t *attempt = helio_kube_find(self, named->key, named->epoch);
        if (!attempt) {
            attempt = helio_kube_add(self, named->key, named->epoch);
            attempt->dirty = attempt->confirm = false;
        }
        attempt->lease_boot_ms = lease->deadline_boot_ms;
        attempt->leased = true;
    }
    self->next_ms = 0;
    return HELIO_OK;
}

static helio_rc kube_log_read(helio_backend_t *base, helio_job_key_t key, uint32_t epoch, uint64_t offset, size_t max,
                              helio_buffer_t *out, uint64_t *ret_next, bool *ret_end, helio_error_t *err)
{
    helio_kube_t *self = kube_of(base);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    helio_attempt_name(key, epoch, name);
    const helio_kube_attempt_t *attempt = helio_kube_find(self, key, epoch);
    bool over = !attempt || helio_kube_output_over(attempt);
    helio_rc rc = helio_kube_output_read(self, name, over, offset, max, out, ret_next, ret_end, err);
    if (rc != HELIO_NOT_FOUND || !attempt)
        return rc;
    *ret_next = offset; /* it has written nothing yet */
    *ret_end = over;
    return HELIO_OK;
}

/* ---- what is due --------------------------------------------------------------------------------------- */

static bool has_job(const helio_kube_attempt_t *attempt)
{
    return attempt->job && !helio_kube_condition(attempt->job, "Complete") &&
           !helio_kube_condition(attempt->job, "Failed");
}

/*  True: it is no more. */
static bool serve_over(helio_kube_attempt_t *attempt)
{
    if (has_job(attempt) && !attempt->deleted) { /* a create that had no answer came late */
        helio_kube_delete(attempt);
        return false;
    }
    helio_kube_follow(attempt);
    bool nobodys = attempt->found && !attempt->claimed && !attempt->job;
    if (attempt->out || !helio_kube_output_over(attempt) ||
        !(attempt->forgotten || nobodys || attempt->word == HELIO_BACKEND_REPORT_ABSENT))
        return false;
    if (attempt->job && attempt->forgotten) {
        helio_kube_acknowledge(attempt);
        return false;
    }
    helio_kube_output_drop(attempt);
    helio_kube_remove(attempt);
    return true;
}

static void say_stopped(helio_kube_attempt_t *attempt)
{
    const helio_kube_verdict_t verdict = {
        .kind = HELIO_KUBE_REPORT, .word = HELIO_BACKEND_REPORT_ENDED, .stopped = true};
    helio_kube_say(attempt, &verdict);
}

/*  One step for one attempt; true: it is no more. */
static bool serve(helio_kube_attempt_t *attempt)
{
    const helio_kube_t *self = attempt->backend;
    if (attempt->repeat)
        helio_kube_repeat(attempt);
    if (attempt->out || self->now_ms < attempt->due_ms || self->asked >= HELIO_KUBE_ASKED_MAX)
        return false;
    if (attempt->over)
        return serve_over(attempt);
    helio_kube_follow(attempt);
    bool end = attempt->stop || attempt->given_up, pods = json_object_size(attempt->pods) > 0;
    if (attempt->create && !attempt->known && !attempt->posted) {
        if (attempt->stop)
            say_stopped(attempt);
        else
            helio_kube_create(attempt);
    } else if (end && !attempt->deleted && has_job(attempt))
        helio_kube_delete(attempt);
    else if (attempt->stop && !attempt->killed && pods && (attempt->kill || !attempt->job))
        helio_kube_kill(attempt);
    else if (attempt->nodes > 1 && !attempt->service && !end && has_job(attempt) && !attempt->confirm)
        helio_kube_create_service(attempt);
    else if (helio_kube_patch_due(attempt))
        helio_kube_patch(attempt);
    else if (attempt->claimed || attempt->found)
        if (attempt->dirty || attempt->confirm ||
            (self->now_ms >= attempt->look_ms && attempt->word == HELIO_BACKEND_REPORT_WAITING))
            helio_kube_consider(attempt);
    if (attempt->confirm && !attempt->out && attempt->due_ms <= self->now_ms)
        attempt->backend->next_ms = 0; /* the look wants more */
    return false;
}

static int64_t due_ms(const helio_kube_attempt_t *attempt)
{
    int64_t due = INT64_MAX, limit = helio_kube_deadline_due_ms(attempt);
    if (attempt->out)
        return INT64_MAX;
    bool work = attempt->over
                    ? attempt->forgotten || !helio_kube_output_over(attempt) || has_job(attempt)
                    : (attempt->create && !attempt->known) || attempt->dirty || attempt->confirm || attempt->stop;
    if (work && attempt->due_ms > attempt->backend->now_ms)
        due = attempt->due_ms;
    else if (work)
        due = attempt->backend->now_ms + ALERT_MS; /* requests are bounded; an answer comes first */
    if (!attempt->over && attempt->word == HELIO_BACKEND_REPORT_WAITING && attempt->look_ms < due)
        due = attempt->look_ms;
    if (!attempt->over && attempt->outputs && !helio_kube_output_over(attempt) &&
        due > attempt->backend->now_ms + 5 * ALERT_MS)
        due = attempt->backend->now_ms + 5 * ALERT_MS; /* logs that were cut off */
    return limit < due ? limit : due;
}

/*  Without the right to list all pods the federation's own are listed; the right can come later. */
static void serve_pods(helio_kube_t *self)
{
    if (!self->own_pods && self->pods.denials >= HELIO_KUBE_DENIALS) {
        self->own_pods = true;
        self->own_pods_until_ms = self->now_ms + OWN_PODS_MS;
        self->pods.path = self->own_pods_path;
        helio_kube_mirror_again(&self->pods);
    } else if (self->own_pods && self->now_ms >= self->own_pods_until_ms && !self->pods.out) {
        self->own_pods = false;
        self->pods.path = "/api/v1/pods";
        helio_kube_mirror_again(&self->pods);
    }
    helio_kube_mirror_serve(&self->pods, self->now_ms);
}

static void on_beat(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_t *self = arg;
    self->beating = false;
    helio_kube_hear(self, reply);
}

/*  A question now and then: a watch that is cut off without a word looks like one of a quiet cluster. */
static void serve_beat(helio_kube_t *self)
{
    helio_error_t err = {0};
    if (!self->beating && self->now_ms >= self->beat_ms) {
        self->beat_ms = self->now_ms + BEAT_MS;
        self->beating = !helio_kube_api_ask(self->api, "GET", "/version", (helio_text_t){0}, on_beat, self, &err);
        if (!self->beating && !self->failing_ms)
            self->failing_ms = self->now_ms;
    }
}

/*  An API that does not answer, or whose lists have no end. Said once when it begins, and once when it is over. */
static void serve_silence(helio_kube_t *self)
{
    bool fails = self->failing_ms && self->now_ms - self->failing_ms >= SILENT_MS;
    int64_t from_ms = fails ? self->failing_ms : self->excess_ms;
    bool silent = from_ms != 0;
    if (silent == self->silent)
        return;
    self->silent = silent;
    self->offer = true;
    int64_t since_ms = silent ? from_ms : self->silent_ms;
    self->silent_ms = from_ms;
    if (self->sink.on_silence)
        self->sink.on_silence(self->sink.arg, silent, (uint64_t)(self->now_ms - since_ms));
}

static bool knows_all(const helio_kube_t *self)
{
    for (const helio_kube_attempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next)
        if (attempt->found && !attempt->claimed && !attempt->told && !attempt->over)
            return false;
    return self->jobs.synced && self->pods.synced;
}

static void serve_survey(helio_kube_t *self)
{
    if (!self->surveying || !self->sink.on_survey)
        return;
    if (knows_all(self)) {
        self->surveying = false;
        self->sink.on_survey(self->sink.arg, NULL);
    } else if (!self->hindrance_said && self->now_ms - self->survey_ms >= SURVEY_PATIENCE_MS) {
        self->hindrance_said = true;
        self->sink.on_survey(self->sink.arg,
                             self->trouble[0] ? self->trouble : "the state of some Jobs is not known yet");
    }
}

static void serve_cluster(helio_kube_t *self)
{
    helio_kube_attempt_t *attempt, *after;
    serve_beat(self);
    helio_kube_mirror_serve(&self->nodes, self->now_ms);
    helio_kube_mirror_serve(&self->jobs, self->now_ms);
    serve_pods(self);
    helio_kube_serve_queue(self);
    HASH_ITER(hh, self->attempts, attempt, after)(void) serve(attempt);
    helio_kube_read_logs(self);
}

static void kube_process(helio_backend_t *base, int64_t now_boot_ms, int64_t now_wall_ms)
{
    helio_kube_t *self = kube_of(base);
    self->now_ms = now_boot_ms;
    self->wall_ms = now_wall_ms;
    self->next_ms = INT64_MAX;
    helio_kube_serve_access(self);
    helio_kube_api_process(self->api, now_boot_ms);
    if (self->access_ready)
        serve_cluster(self);
    helio_kube_serve_doubt(self);
    serve_silence(self);
    serve_survey(self);
    helio_kube_offer(self);
    helio_kube_output_sweep(self);
}

static int kube_fd(const helio_backend_t *base)
{
    return kube_of(base)->epoll;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t kube_next_ms(const helio_backend_t *base)
{
    const helio_kube_t *self = kube_of(base);
    int64_t next = least(self->next_ms, helio_kube_api_next_ms(self->api));
    if (self->next_ms == 0)
        return 0;
    next = least(next, helio_kube_access_next_ms(self));
    next = least(next, self->failing_ms && !self->silent ? self->failing_ms + SILENT_MS : INT64_MAX);
    if (!self->access_ready)
        return next < 0 ? 0 : next;
    next = least(next, helio_kube_mirror_next_ms(&self->nodes));
    next = least(next, helio_kube_mirror_next_ms(&self->jobs));
    next = least(next, helio_kube_mirror_next_ms(&self->pods));
    next = least(next, self->beating ? INT64_MAX : self->beat_ms);
    next = least(next, helio_kube_queue_next_ms(self));
    next = least(next, helio_kube_offer_due_ms(self));
    next = least(next, self->surveying && !self->hindrance_said ? self->survey_ms + SURVEY_PATIENCE_MS : INT64_MAX);
    for (const helio_kube_attempt_t *attempt = self->attempts; attempt; attempt = attempt->hh.next)
        next = least(next, due_ms(attempt));
    return next < 0 ? 0 : next;
}

/* ---- creation and end ---------------------------------------------------------------------------------- */

static void kube_destroy(helio_backend_t *base)
{
    helio_kube_t *self = kube_of(base);
    helio_kube_attempt_t *attempt, *after;
    helio_kube_api_destroy(&self->api);
    HASH_ITER(hh, self->attempts, attempt, after)
    {
        helio_kube_output_drop(attempt);
        helio_kube_remove(attempt);
    }
    helio_kube_mirror_clear(&self->nodes);
    helio_kube_mirror_clear(&self->jobs);
    helio_kube_mirror_clear(&self->pods);
    helio_kube_fleet_destroy(&self->fleet);
    json_decref(self->local_queue);
    helio_kube_clear_line(self);
    helio_kube_close_access(self);
    if (self->epoll >= 0)
        (void)close(self->epoll);
    helio_arena_destroy(&self->arena);
    free(self);
}

static const helio_backend_class_t kube_class = {
    .name = "kubernetes",
    .allocates = false,
    .start = kube_start,
    .adopt = kube_adopt,
    .stop = kube_stop,
    .forget = kube_forget,
    .survey = kube_survey,
    .lease = kube_lease,
    .log_read = kube_log_read,
    .fd = kube_fd,
    .next_ms = kube_next_ms,
    .process = kube_process,
    .destroy = kube_destroy,
};

/*  A check makes none. */
static helio_rc make_folder(helio_kube_t *self, const char *state_dir, helio_error_t *err)
{
    if (!state_dir)
        return HELIO_OK;
    self->folder = helio_arena_printf(self->arena, "%s/logs", state_dir).data;
    if ((mkdir(state_dir, 0711) && errno != EEXIST) || (mkdir(self->folder, 0700) && errno != EEXIST))
        return helio_fail(err, HELIO_IO, "%s: %s", self->folder, strerror(errno));
    return HELIO_OK;
}

static void set_tolerations(helio_kube_t *self)
{
    self->tolerated_count = self->settings->tolerations.count ? self->settings->tolerations.count : 1;
    self->tolerated = helio_arena_alloc(self->arena, self->tolerated_count, sizeof *self->tolerated);
    self->tolerated[0] = "nvidia.com/gpu";
    for (uint32_t i = 0; i < self->settings->tolerations.count; i++)
        self->tolerated[i] = helio_arena_string(self->arena, self->settings->tolerations.items[i].text);
}

static helio_rc listen_to_both(const helio_kube_t *self, helio_error_t *err)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(self->epoll, EPOLL_CTL_ADD, helio_kube_api_fd(self->api), &event) ||
        epoll_ctl(self->epoll, EPOLL_CTL_ADD, helio_commands_fd(self->commands), &event))
        return helio_fail(err, HELIO_IO, "epoll: %s", strerror(errno));
    return HELIO_OK;
}

helio_rc helio_kubernetes_new(const helio_kubernetes_options_t *options, helio_backend_t **ret_backend,
                              helio_error_t *err)
{
    helio_kube_t *self = helio_new(1, sizeof *self);
    self->base.class = &kube_class;
    self->arena = helio_arena_new();
    self->site = options->site;
    self->rules = options->rules;
    self->settings = options->settings;
    self->sink = options->sink;
    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    helio_rc rc = helio_kube_open_access(self, err);
    if (!rc)
        rc = make_folder(self, options->state_dir, err);
    if (!rc)
        rc = helio_kube_api_new(&self->access, &self->api, err);
    if (!rc)
        rc = listen_to_both(self, err);
    set_tolerations(self);
    self->fleet = helio_kube_fleet_new(self->site, self->tolerated, self->tolerated_count);
    helio_kube_watch_all(self);
    helio_backend_t *backend = &self->base;
    if (rc)
        helio_backend_destroy(&backend);
    else
        *ret_backend = backend;
    return rc;
}

void helio_kubernetes_check(const helio_kubernetes_options_t *options,
                            void (*line)(void *arg, const char *what, helio_rc rc, const char *detail), void *arg)
{
    helio_backend_t *backend = NULL;
    helio_error_t err = {0};
    helio_kubernetes_options_t dry = *options;
    dry.state_dir = NULL;
    helio_rc rc = helio_kubernetes_new(&dry, &backend, &err);
    if (rc)
        line(arg, "backend", rc, err.text);
    else
        helio_kube_inquire(kube_of(backend), line, arg);
    helio_backend_destroy(&backend);
}
