/*  rounds.c -- one round after another, one question at a time. */
#include "client/notify/rounds.h"

#include <stdlib.h>
#include <string.h>

#include "client/notify/ask.h"
#include "client/notify/core/reply.h"
#include "federation/base/clock.h"
#include "federation/base/id.h"

enum {
    EVERY_MS = 60000,
    JOBS_MAX = 5000,
    PAGE_ROWS = 1000,
    NEW_MAX = 500,   /* of a round */
    JUDGED_MAX = 100 /* of a round: those whose deadlines are nearest */
};

typedef struct watched {
    char id[HELIO_KEY_SIZE];
    bool known; /* whether it has a deadline */
    int64_t deadline_ms;
} watched_t;

typedef struct jobs {
    watched_t *items; /* ordered by id, but for those that are being read */
    uint32_t count;
} jobs_t;

typedef enum phase { REST, BUDGETS, LIST, LEARN, JUDGE, EXPLAIN } phase_t;

struct helio_rounds {
    helio_remote_t *remote;
    helio_intake_hooks_t hooks;
    bool wants_deadlines, wants_budgets;
    phase_t phase;
    int64_t next_ms;
    helio_ask_t ask;
    jobs_t jobs, read;
    uint32_t at;      /* LEARN: in jobs; JUDGE: in judged */
    uint32_t learned; /* in this round */
    uint32_t judged[JUDGED_MAX];
    uint32_t judged_count;
    json_t *job; /* EXPLAIN: of this one */
};

helio_rounds_t *helio_rounds_new(helio_remote_t *remote, const helio_notify_settings_t *settings,
                                 const helio_intake_hooks_t *hooks)
{
    helio_rounds_t *self = helio_new(1, sizeof *self);
    self->remote = remote;
    self->hooks = *hooks;
    self->wants_deadlines = helio_notify_any_wants(settings, HELIO_NOTIFY_DEADLINE_AT_RISK);
    self->wants_budgets = helio_notify_any_wants(settings, HELIO_NOTIFY_BUDGET_NEAR);
    self->jobs.items = helio_new(JOBS_MAX, sizeof *self->jobs.items);
    self->read.items = helio_new(JOBS_MAX, sizeof *self->read.items);
    return self;
}

void helio_rounds_destroy(helio_rounds_t **self_p)
{
    helio_rounds_t *self = *self_p;
    if (!self)
        return;
    helio_ask_clear(&self->ask);
    json_decref(self->job);
    free(self->jobs.items);
    free(self->read.items);
    free(self);
    *self_p = NULL;
}

static int by_id(const void *a, const void *b)
{
    return strcmp(((const watched_t *)a)->id, ((const watched_t *)b)->id);
}

static watched_t *find(const jobs_t *jobs, const char *id)
{
    watched_t key = {.known = false};
    if (!jobs->count || !helio_text_copy(helio_text_of(id), key.id, sizeof key.id))
        return NULL;
    return bsearch(&key, jobs->items, jobs->count, sizeof *jobs->items, by_id);
}

/*  A task has the deadline of its array. */
static void cut_task(char *id)
{
    id[strcspn(id, ".")] = '\0';
}

void helio_rounds_forget(helio_rounds_t *self, const char *id)
{
    char array[HELIO_KEY_SIZE];
    if (!helio_text_copy(helio_text_of(id), array, sizeof array))
        return;
    cut_task(array);
    watched_t *job = find(&self->jobs, array);
    if (job)
        job->known = false;
}

/* ---- which jobs are open ------------------------------------------------------------------------------------ */

static void read_jobs(helio_rounds_t *self, const json_t *reply)
{
    size_t i;
    const json_t *job;
    json_array_foreach(json_object_get(reply, "jobs"), i, job)
    {
        watched_t *added = &self->read.items[self->read.count];
        if (self->read.count == JOBS_MAX ||
            !helio_text_copy(helio_text_of(helio_reply_text(job, "id")), added->id, sizeof added->id))
            continue;
        cut_task(added->id);
        added->known = false;
        if (self->read.count && strcmp(added[-1].id, added->id) == 0)
            continue; /* the same array */
        self->read.count++;
    }
}

/*  What was known of them is known still. */
static void take_read(helio_rounds_t *self)
{
    qsort(self->read.items, self->read.count, sizeof *self->read.items, by_id);
    for (uint32_t i = 0; i < self->read.count; i++) {
        const watched_t *before = find(&self->jobs, self->read.items[i].id);
        if (before)
            self->read.items[i] = *before;
    }
    jobs_t old = self->jobs;
    self->jobs = self->read;
    self->read = (jobs_t){.items = old.items};
}

static void ask_page(helio_rounds_t *self, const char *cursor)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path,
                        "/v1/jobs?limit=%d&state=queued,held,offered,accepted,starting,running,suspended,stopping,"
                        "suspect%s",
                        PAGE_ROWS, cursor ? "&cursor=" : "");
    helio_ask_begin(&self->ask, path.data, cursor, "");
}

/* ---- the nearest deadlines ---------------------------------------------------------------------------------- */

static void choose(helio_rounds_t *self)
{
    self->judged_count = 0;
    for (uint32_t i = 0; i < self->jobs.count; i++) {
        int64_t deadline_ms = self->jobs.items[i].deadline_ms;
        if (!self->jobs.items[i].known || !deadline_ms)
            continue;
        uint32_t at = self->judged_count < JUDGED_MAX ? self->judged_count++ : JUDGED_MAX;
        for (; at && self->jobs.items[self->judged[at - 1]].deadline_ms > deadline_ms; at--)
            if (at < JUDGED_MAX)
                self->judged[at] = self->judged[at - 1];
        if (at < JUDGED_MAX)
            self->judged[at] = i;
    }
}

/* ---- a round ------------------------------------------------------------------------------------------------ */

static helio_rc take(helio_rounds_t *self, helio_happening_t *happening, helio_error_t *err)
{
    helio_rc rc = self->hooks.take(self->hooks.arg, happening, err);
    helio_happening_clear(happening);
    return rc;
}

static helio_rc judge_budgets(helio_rounds_t *self, const json_t *quotas, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    size_t i, j;
    const json_t *quota, *budget;
    json_array_foreach(quotas, i, quota)
    {
        json_array_foreach(json_object_get(quota, "budgets"), j, budget)
        {
            helio_happening_t happening;
            if (rc == HELIO_OK && helio_happening_of_budget(quota, budget, helio_clock_wall_ms(), &happening))
                rc = take(self, &happening, err);
        }
    }
    return rc;
}

/*  Begins a phase, or the next one if it has nothing to do. */
static void enter(helio_rounds_t *self, phase_t phase, int64_t now_ms)
{
    self->phase = phase;
    if (phase == BUDGETS && !self->wants_budgets)
        self->phase = LIST;
    if (self->phase == LIST && !self->wants_deadlines)
        self->phase = REST;
    if (self->phase == BUDGETS)
        helio_ask_begin(&self->ask, "/v1/quotas", NULL, "");
    else if (self->phase == LIST)
        ask_page(self, NULL);
    else if (self->phase == REST)
        self->next_ms = now_ms + EVERY_MS;
}

/*  The next job whose deadline is not known, or the end of that phase. */
static void learn_next(helio_rounds_t *self, int64_t now_ms)
{
    while (self->at < self->jobs.count && self->jobs.items[self->at].known)
        self->at++;
    if (self->at < self->jobs.count && self->learned < NEW_MAX) {
        self->learned++;
        helio_ask_begin(&self->ask, "/v1/jobs/", self->jobs.items[self->at].id, "");
        return;
    }
    choose(self);
    self->at = 0;
    enter(self, JUDGE, now_ms);
}

static void judge_next(helio_rounds_t *self, int64_t now_ms)
{
    self->phase = JUDGE;
    if (self->at < self->judged_count)
        helio_ask_begin(&self->ask, "/v1/jobs/", self->jobs.items[self->judged[self->at++]].id, "");
    else
        enter(self, REST, now_ms);
}

static void took_page(helio_rounds_t *self, const json_t *reply)
{
    const char *next = json_string_value(json_object_get(reply, "next"));
    read_jobs(self, reply);
    if (next && self->read.count < JOBS_MAX) {
        ask_page(self, next);
        return;
    }
    take_read(self);
    self->phase = LEARN;
    self->at = self->learned = 0;
}

static helio_rc took_explanation(helio_rounds_t *self, const json_t *reply, helio_error_t *err)
{
    helio_happening_t happening;
    helio_rc rc = HELIO_OK;
    if (helio_happening_of_deadline(self->job, json_object_get(reply, "run"), helio_clock_wall_ms(), &happening))
        rc = take(self, &happening, err);
    json_decref(self->job);
    self->job = NULL;
    return rc;
}

static helio_rc took(helio_rounds_t *self, json_t *reply, int64_t now_ms, helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    switch (self->phase) {
    case REST:
        break;
    case BUDGETS:
        rc = judge_budgets(self, reply, err);
        enter(self, LIST, now_ms);
        break;
    case LIST:
        took_page(self, reply);
        break;
    case LEARN:
        self->jobs.items[self->at].known = true;
        self->jobs.items[self->at].deadline_ms = helio_deadline_of(reply);
        break;
    case JUDGE:
        if (helio_deadline_of(reply)) {
            self->job = json_incref(reply);
            self->phase = EXPLAIN;
            helio_ask_begin(&self->ask, "/v1/jobs/", helio_reply_text(reply, "id"), "/explain");
        }
        break;
    case EXPLAIN:
        rc = took_explanation(self, reply, err);
        self->phase = JUDGE;
        break;
    }
    return rc;
}

helio_rc helio_rounds_turn(helio_rounds_t *self, int64_t now_ms, helio_error_t *err)
{
    json_t *reply = NULL;
    helio_rc rc = HELIO_OK;
    if (!self->wants_budgets && !self->wants_deadlines)
        return HELIO_OK;
    if (self->phase == REST && now_ms >= self->next_ms)
        enter(self, BUDGETS, now_ms);
    if (helio_ask_turn(&self->ask, self->remote, now_ms, &reply)) {
        rc = took(self, reply, now_ms, err);
        json_decref(reply);
    }
    if (!helio_ask_is_begun(&self->ask) && self->phase == LEARN)
        learn_next(self, now_ms);
    if (!helio_ask_is_begun(&self->ask) && self->phase == JUDGE)
        judge_next(self, now_ms);
    return rc;
}

int64_t helio_rounds_due_ms(const helio_rounds_t *self)
{
    if (!self->wants_budgets && !self->wants_deadlines)
        return INT64_MAX;
    return self->phase == REST ? self->next_ms : helio_ask_due_ms(&self->ask);
}
