/*  risks.c -- when a deadline is at risk, and when a budget is near its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/notify/core/reply.h"
#include "federation/base/clock.h"
#include "federation/reason/codes.h"

enum { NEAR_PERCENT = 80, FULL_PERCENT = 100 };
#define KEPT_MS (INT64_C(30) * 86400000) /* after it cannot be seen again, for clocks that differ */

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

int64_t helio_deadline_of(const json_t *job)
{
    static const char *const over[] = {"succeeded", "failed", "timeout", "lost", "cancelled", NULL};
    int64_t deadline_ms = 0;
    if (is_one_of(helio_reply_text(job, "state"), over) || helio_reply_time(job, "deadline", &deadline_ms) != HELIO_OK)
        return 0;
    return deadline_ms;
}

/*  When the job ends if it takes as long as nine of ten similar runs, or its time limit; 0 = unknown. */
static int64_t expected_end_of(const json_t *job, const json_t *run, int64_t now_ms)
{
    static const char *const waiting[] = {"queued", "held", NULL};
    const json_t *seconds = json_object_get(run, "duration_p90_s");
    if (!json_is_number(seconds))
        seconds = json_object_get(job, "time_limit_s");
    double s = json_is_number(seconds) ? json_number_value(seconds) : 0;
    if (!(s > 0 && s < 1e9))
        return 0;
    int64_t begin_ms = now_ms, end_ms;
    bool waits = is_one_of(helio_reply_text(job, "state"), waiting);
    if (helio_reply_time(job, waits ? "expected_start" : "started_at", &begin_ms) != HELIO_OK ||
        (waits && begin_ms < now_ms))
        begin_ms = now_ms;
    end_ms = begin_ms + (int64_t)(s * 1000);
    return end_ms > now_ms ? end_ms : now_ms;
}

static void put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        abort();
}

static json_t *json_of_time(int64_t wall_ms)
{
    char text[HELIO_RFC3339_SIZE];
    helio_rfc3339(wall_ms, text);
    return json_string(text);
}

/*  Without thousandths that are none, for people. */
static const char *moment(const json_t *object, const char *key, char ret_text[HELIO_RFC3339_SIZE])
{
    (void)helio_text_copy(helio_text_of(helio_reply_text(object, key)), ret_text, HELIO_RFC3339_SIZE);
    char *point = strchr(ret_text, '.');
    if (point)
        (void)memmove(point, "Z", 2);
    return ret_text;
}

static void say_deadline(helio_happening_t *self, const char *risk)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    char end[HELIO_RFC3339_SIZE], deadline[HELIO_RFC3339_SIZE];
    const char *name = helio_reply_text(self->job, "name");
    helio_buffer_printf(&text, "Job %s%s%s%s of tenant %s ", name, *name ? " (" : "", helio_reply_text(self->job, "id"),
                        *name ? ")" : "", helio_reply_text(self->job, "tenant"));
    (void)moment(self->more, "deadline", deadline);
    if (strcmp(risk, "passed") == 0)
        helio_buffer_printf(&text, "has missed its deadline, %s, and is %s.", deadline,
                            helio_reply_text(self->job, "state"));
    else if (strcmp(risk, "no_site") == 0)
        helio_buffer_printf(&text, "waits, and no site is expected to meet its deadline, %s.", deadline);
    else
        helio_buffer_printf(&text, "may miss its deadline, %s: it can last until %s.", deadline,
                            moment(self->more, "expected_end", end));
    helio_happening_say(self, &text);
}

bool helio_happening_of_deadline(const json_t *job, const json_t *run, int64_t now_wall_ms,
                                 helio_happening_t *ret_happening)
{
    int64_t deadline_ms = helio_deadline_of(job), end_ms = expected_end_of(job, run, now_wall_ms);
    const char *id = helio_reply_text(job, "id"), *risk;
    if (!deadline_ms || !*id)
        return false;
    if (now_wall_ms >= deadline_ms)
        risk = "passed";
    else if (strcmp(helio_reply_text(job, "state"), "queued") == 0 &&
             strcmp(helio_reply_text(job, "reason"), helio_rejection_name(HELIO_REJECTION_DEADLINE)) == 0)
        risk = "no_site";
    else if (end_ms > deadline_ms)
        risk = "late";
    else
        return false;
    helio_happening_t self = {.event = HELIO_NOTIFY_DEADLINE_AT_RISK,
                              .at_wall_ms = now_wall_ms,
                              .once = true,
                              .forget_wall_ms = (deadline_ms > now_wall_ms ? deadline_ms : now_wall_ms) + KEPT_MS,
                              .job = helio_happening_copy_job(job),
                              .more = json_object()};
    put(self.more, "deadline", json_of_time(deadline_ms));
    put(self.more, "risk", json_string(risk));
    put(self.more, "expected_end", end_ms ? json_of_time(end_ms) : json_null());
    (void)snprintf(self.about, sizeof self.about, "%s", id);
    (void)snprintf(self.key, sizeof self.key, "%s-%lld-%s", id, (long long)deadline_ms, risk);
    say_deadline(&self, risk);
    *ret_happening = self;
    return true;
}

/* ---- budgets ------------------------------------------------------------------------------------------------ */

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : 0;
}

static void say_budget(helio_happening_t *self, double share)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const json_t *more = self->more;
    char again[HELIO_RFC3339_SIZE];
    const char *queue = helio_reply_text(more, "queue");
    helio_buffer_printf(&text, "Tenant %s%s%s has used %.0f %% of its budget of %.6g %s per %s",
                        helio_reply_text(more, "tenant"), *queue ? " in queue " : "", queue, share * 100,
                        number(more, "budget"), helio_reply_text(more, "unit"), helio_reply_text(more, "period"));
    helio_buffer_text(&text, ", with what its running jobs are expected to use");
    helio_buffer_printf(&text, "; the next period begins at %s.", moment(more, "begins_again", again));
    helio_happening_say(self, &text);
}

bool helio_happening_of_budget(const json_t *quota, const json_t *budget, int64_t now_wall_ms,
                               helio_happening_t *ret_happening)
{
    static const char *const copied[] = {"kind", "period",    "unit", "budget",
                                         "used", "committed", "left", "begins_again"};
    const char *tenant = helio_reply_text(quota, "tenant"), *queue = helio_reply_text(quota, "queue");
    double whole = number(budget, "budget"), used = number(budget, "used") + number(budget, "committed");
    int64_t ends_ms = 0;
    if (!*tenant || strcmp(tenant, "*") == 0 || !(whole > 0) || !(used >= whole * NEAR_PERCENT / 100))
        return false;
    if (helio_reply_time(budget, "begins_again", &ends_ms) != HELIO_OK)
        return false;
    int percent = used >= whole ? FULL_PERCENT : NEAR_PERCENT;
    helio_happening_t self = {.event = HELIO_NOTIFY_BUDGET_NEAR,
                              .at_wall_ms = now_wall_ms,
                              .once = true,
                              .forget_wall_ms = ends_ms + KEPT_MS,
                              .more = json_object()};
    put(self.more, "tenant", json_string(tenant));
    put(self.more, "queue", *queue ? json_string(queue) : json_null());
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        const json_t *value = json_object_get(budget, copied[i]);
        put(self.more, copied[i], value ? json_copy((json_t *)(uintptr_t)value) : json_null());
    }
    put(self.more, "threshold_percent", json_integer(percent));
    const char *kind = helio_reply_text(budget, "kind");
    (void)snprintf(self.about, sizeof self.about, "%.40s/%.60s", tenant, kind);
    (void)snprintf(self.key, sizeof self.key, "%.40s/%.70s/%.40s/%lld-%d", tenant, queue, kind, (long long)ends_ms,
                   percent);
    say_budget(&self, used / whole);
    *ret_happening = self;
    return true;
}
