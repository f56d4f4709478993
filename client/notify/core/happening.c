/*  happening.c -- what transitions and jobs say, as happenings. */
#include "client/notify/core/happening.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/notify/core/reply.h"
#include "federation/base/clock.h"
#include "federation/base/duration.h"
#include "federation/base/utf8.h"
#include "federation/reason/detail.h"

/*  The members of a job that a body has: all are texts, numbers or null. */
static const char *const job_members[] = {
    "id",         "name",        "tenant",   "user",     "queue",      "state",    "site",         "pool",
    "epoch",      "attempts",    "gpus",     "nodes",    "exit_code",  "reason",   "detail",       "submitted_at",
    "started_at", "finished_at", "deadline", "cost_usd", "energy_kwh", "carbon_g", "wait_seconds", "run_seconds",
};

/*  What a transition says itself: the job's own reply can be newer. */
static const char *const told_members[] = {"state", "site", "epoch", "reason"};

static const struct {
    const char *state;
    helio_notify_event_t event;
    const char *verb;
} ends[] = {
    {"succeeded", HELIO_NOTIFY_JOB_ENDED, "succeeded"},
    {"failed", HELIO_NOTIFY_JOB_FAILED, "failed"},
    {"timeout", HELIO_NOTIFY_JOB_FAILED, "was ended at its time limit"},
    {"lost", HELIO_NOTIFY_JOB_FAILED, "was lost"},
    {"cancelled", HELIO_NOTIFY_JOB_ENDED, "was cancelled"},
};

void helio_happening_clear(helio_happening_t *self)
{
    json_decref(self->job);
    json_decref(self->more);
    *self = (helio_happening_t){0};
}

helio_notify_subject_t helio_happening_subject(const helio_happening_t *self)
{
    const json_t *of = self->job ? self->job : self->more;
    return (helio_notify_subject_t){.tenant = helio_text_of(helio_reply_text(of, "tenant")),
                                    .user = helio_text_of(helio_reply_text(of, "user")),
                                    .queue = helio_text_of(helio_reply_text(of, "queue")),
                                    .name = helio_text_of(self->job ? helio_reply_text(of, "name") : "")};
}

static bool event_of(const char *state, helio_notify_event_t *ret_event)
{
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(ends[i].state, state) == 0) {
            *ret_event = ends[i].event;
            return true;
        }
    bool held = strcmp(state, "held") == 0;
    *ret_event = held ? HELIO_NOTIFY_JOB_HELD : HELIO_NOTIFY_JOB_STARTED;
    return held || strcmp(state, "running") == 0;
}

static bool is_end(helio_notify_event_t event)
{
    return event == HELIO_NOTIFY_JOB_ENDED || event == HELIO_NOTIFY_JOB_FAILED;
}

/*  A job that people hold on purpose waits for them, and they know. */
static bool is_held_by_people(const json_t *object)
{
    size_t i;
    const json_t *detail;
    json_array_foreach(json_object_get(object, "details"), i, detail)
    {
        helio_detail_code_t code = helio_detail_code_of(helio_text_of(helio_reply_text(detail, "code")));
        if (code == HELIO_DETAIL_HELD_BY_USER || code == HELIO_DETAIL_HELD_BY_OPERATOR)
            return true;
    }
    return false;
}

/* ---- the sentence ------------------------------------------------------------------------------------------- */

static void put_whose(const json_t *job, helio_buffer_t *out)
{
    const char *name = helio_reply_text(job, "name"), *user = helio_reply_text(job, "user");
    helio_buffer_printf(out, "Job %s%s%s%s", name, *name ? " (" : "", helio_reply_text(job, "id"), *name ? ")" : "");
    helio_buffer_printf(out, "%s%s of tenant %s", *user ? " of " : "", user, helio_reply_text(job, "tenant"));
}

static void put_end(const json_t *job, helio_buffer_t *out)
{
    const char *state = helio_reply_text(job, "state"), *site = helio_reply_text(job, "site");
    const json_t *exit_code = json_object_get(job, "exit_code"), *ran = json_object_get(job, "run_seconds");
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (strcmp(ends[i].state, state) == 0)
            helio_buffer_printf(out, " %s", ends[i].verb);
    if (*site)
        helio_buffer_printf(out, " at %s", site);
    if (strcmp(state, "failed") == 0 && json_is_integer(exit_code))
        helio_buffer_printf(out, " with exit code %lld", (long long)json_integer_value(exit_code));
    if (json_is_number(ran) && json_number_value(ran) > 0 && json_number_value(ran) < 1e9) {
        char text[HELIO_DURATION_SIZE];
        helio_duration_text_brief_seconds((uint64_t)(json_number_value(ran) * 1000), text);
        helio_buffer_printf(out, " after %s", text);
    }
}

/*  Control characters have no place in a chat or in a mail, nor have those that turn the direction of writing. */
void helio_happening_say(helio_happening_t *self, const helio_buffer_t *sentence)
{
    size_t size = sentence->size < sizeof self->text ? sentence->size : sizeof self->text - 1;
    while (size && size < sentence->size && ((unsigned char)sentence->data[size] & 0xc0) == 0x80)
        size--; /* whole characters */
    size_t used = 0;
    for (size_t i = 0, step; i < size; i += step) {
        const char *at = sentence->data + i;
        step = helio_utf8_sequence(at, size - i);
        bool shows = step && !helio_utf8_is_control(at, step);
        step = step ? step : 1;
        memcpy(self->text + used, shows ? at : " ", shows ? step : 1);
        used += shows ? step : 1;
    }
    self->text[used] = '\0';
}

static void say(helio_happening_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    put_whose(self->job, &text);
    if (is_end(self->event))
        put_end(self->job, &text);
    else if (self->event == HELIO_NOTIFY_JOB_STARTED)
        helio_buffer_printf(&text, " runs at %s", helio_reply_text(self->job, "site"));
    else
        helio_buffer_text(&text, " is held until somebody releases it");
    const char *detail = helio_reply_text(self->job, "detail");
    if (self->event == HELIO_NOTIFY_JOB_HELD && *detail)
        helio_buffer_printf(&text, ": %s", detail);
    if (text.size && text.data[text.size - 1] != '.')
        helio_buffer_text(&text, ".");
    helio_happening_say(self, &text);
}

/* ---- what was read ------------------------------------------------------------------------------------------ */

static void set(json_t *object, const char *key, const json_t *value)
{
    if (json_object_set_new(object, key, value ? json_copy((json_t *)(uintptr_t)value) : json_null()) != 0)
        abort();
}

json_t *helio_happening_copy_job(const json_t *job)
{
    json_t *copy = json_object();
    for (size_t i = 0; i < sizeof job_members / sizeof job_members[0]; i++) {
        const json_t *value = json_object_get(job, job_members[i]);
        if (value && !json_is_object(value) && !json_is_array(value))
            set(copy, job_members[i], value);
    }
    return copy;
}

/*  What a job starts or is held for can come again, with another epoch. It ends once. */
static void name_it(helio_happening_t *self)
{
    const char *id = helio_reply_text(self->job, "id");
    (void)snprintf(self->about, sizeof self->about, "%s", id);
    if (is_end(self->event))
        (void)snprintf(self->key, sizeof self->key, "%s", id);
    else
        (void)snprintf(self->key, sizeof self->key, "%s-%lld", id,
                       (long long)json_integer_value(json_object_get(self->job, "epoch")));
}

static bool has_id(const json_t *object)
{
    size_t size = strlen(helio_reply_text(object, "id"));
    return size > 0 && size < HELIO_KEY_SIZE;
}

bool helio_happening_of_transition(const json_t *transition, helio_happening_t *ret_happening)
{
    static const char *const copied[] = {"id", "name", "tenant", "queue", "epoch", "reason", "site"};
    const char *to = helio_reply_text(transition, "to"), *from = helio_reply_text(transition, "from");
    helio_happening_t self = {0};
    if (!has_id(transition) || strcmp(to, from) == 0 || !event_of(to, &self.event) ||
        helio_reply_time(transition, "time", &self.at_wall_ms) != HELIO_OK)
        return false;
    if (self.event == HELIO_NOTIFY_JOB_HELD && is_held_by_people(transition))
        return false;
    /* it ran already */
    if (self.event == HELIO_NOTIFY_JOB_STARTED && (strcmp(from, "suspended") == 0 || strcmp(from, "suspect") == 0))
        return false;
    self.job = json_object();
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++)
        set(self.job, copied[i], json_object_get(transition, copied[i]));
    if (json_object_set_new(self.job, "state", json_string(to)) != 0)
        abort();
    name_it(&self);
    say(&self);
    *ret_happening = self;
    return true;
}

void helio_happening_add_job(helio_happening_t *self, const json_t *job)
{
    if (!json_is_object(job) || json_object_get(job, "tasks_total"))
        return;
    json_t *all = helio_happening_copy_job(job);
    if (strcmp(helio_reply_text(all, "state"), helio_reply_text(self->job, "state")) != 0)
        (void)json_object_del(all, "detail"); /* of what it became since */
    for (size_t i = 0; i < sizeof told_members / sizeof told_members[0]; i++)
        set(all, told_members[i], json_object_get(self->job, told_members[i]));
    json_decref(self->job);
    self->job = all;
    say(self);
}

bool helio_happening_of_job(const json_t *job, int64_t since_wall_ms, helio_happening_t *ret_happening)
{
    helio_happening_t self = {0};
    if (!has_id(job) || !event_of(helio_reply_text(job, "state"), &self.event))
        return false;
    bool held = self.event == HELIO_NOTIFY_JOB_HELD;
    const char *when = held ? "submitted_at" : is_end(self.event) ? "finished_at" : "started_at";
    if (helio_reply_time(job, when, &self.at_wall_ms) != HELIO_OK)
        return false;
    if (held ? is_held_by_people(job) : self.at_wall_ms < since_wall_ms)
        return false;
    if (held && self.at_wall_ms < since_wall_ms)
        self.at_wall_ms = since_wall_ms; /* when exactly is not known */
    self.job = helio_happening_copy_job(job);
    name_it(&self);
    say(&self);
    *ret_happening = self;
    return true;
}

void helio_happening_test(const char *target, int64_t now_wall_ms, helio_happening_t *ret_happening)
{
    helio_happening_t self = {.event = HELIO_NOTIFY_TEST, .at_wall_ms = now_wall_ms};
    (void)snprintf(self.key, sizeof self.key, "%s-%lld", target, (long long)now_wall_ms);
    (void)snprintf(self.text, sizeof self.text, "This is a test of the target %s by `helio notify --check`.", target);
    *ret_happening = self;
}
