/*  watcher.c -- prints state changes, and decides how long to wait. */
#include "client/jobs/watcher.h"

#include <string.h>

#include "client/output/humanise.h"
#include "federation/base/clock.h"

enum { TURN_MS = 60000, TURN_WITH_LOG_MS = 1000 };

/*  Queued, offered, accepted: nothing has run in this attempt. */
static bool has_started(const char *state)
{
    return strcmp(state, "queued") != 0 && strcmp(state, "offered") != 0 && strcmp(state, "accepted") != 0 &&
           strcmp(state, "held") != 0;
}

/*  When it came into its state, as far as the reply says that: now, unless the job ended before anybody asked. */
static int64_t state_wall_ms(const helio_followed_t *job)
{
    int64_t now_ms = helio_clock_wall_ms(), ended_ms;
    const char *finished = helio_output_string(job->reply, "finished_at");
    bool known = job->over && helio_rfc3339_parse(helio_text_of(finished), &ended_ms) == HELIO_OK;
    return known ? ended_ms : now_ms;
}

static void say_state(const helio_client_t *client, const helio_followed_t *job)
{
    char at[HELIO_RFC3339_SIZE], id[HELIO_HUMAN_SIZE];
    const char *reason = helio_output_string(job->reply, "reason");
    if (strcmp(reason, job->state) == 0)
        reason = "";
    helio_rfc3339(state_wall_ms(job), at);
    helio_short_id(job->id, id);
    helio_client_say(client, "%.19sZ %s %s%s%s%s%s%s", at, id, job->state, job->site[0] ? " at " : "", job->site,
                     reason[0] ? " (" : "", reason, reason[0] ? ")" : "");
    if (strcmp(job->state, "held") == 0)
        helio_client_say(client, "help: `helio explain %s` says why; `helio release %s` lets it run again", id, id);
}

void helio_watcher_on_change(void *arg, const helio_followed_t *job)
{
    helio_watcher_t *self = arg;
    if (!self->ends_only || job->over || strcmp(job->state, "held") == 0)
        say_state(self->client, job);
    if (self->log)
        helio_joblog_update(self->log, job->epoch, has_started(job->state), job->over);
}

bool helio_watcher_take_deadline(helio_watcher_t *self)
{
    uint64_t timeout_ms;
    if (!helio_client_duration(self->client, HELIO_OPTION_TIMEOUT, 0, &timeout_ms))
        return false;
    bool given = helio_client_has(self->client, HELIO_OPTION_TIMEOUT);
    bool fits = timeout_ms < INT64_MAX / 2;
    self->deadline_ms = given && fits ? helio_clock_boot_ms() + (int64_t)timeout_ms : INT64_MAX;
    return true;
}

uint32_t helio_watcher_wait_ms(const helio_watcher_t *self)
{
    int64_t most_ms = self->log ? TURN_WITH_LOG_MS : TURN_MS;
    /* Wait in smaller steps while a log stream has to be opened again. */
    if (self->log && most_ms > (int64_t)self->client->io->patience_ms * 2)
        most_ms = (int64_t)self->client->io->patience_ms * 2;
    int64_t left_ms = self->deadline_ms == INT64_MAX ? most_ms : self->deadline_ms - helio_clock_boot_ms();
    left_ms = left_ms < 0 ? 0 : left_ms;
    return (uint32_t)(left_ms < most_ms ? left_ms : most_ms);
}

bool helio_watcher_is_late(const helio_watcher_t *self)
{
    return helio_clock_boot_ms() >= self->deadline_ms;
}

int helio_watcher_leave_held(helio_client_t *client, const helio_follow_t *follow)
{
    const helio_followed_t *held =
        helio_client_has(client, HELIO_OPTION_KEEP_WAITING) ? NULL : helio_follow_held(follow);
    if (!held)
        return HELIO_EXIT_OK;
    char id[HELIO_HUMAN_SIZE];
    const char *reason = helio_output_string(held->reply, "reason");
    helio_short_id(held->id, id);
    return helio_client_fail(
        client, HELIO_EXIT_TIMEOUT,
        "%s is held%s%.200s; it must be released\nhelp: `helio release %s`, then `helio wait %s`; `helio "
        "wait --keep-waiting %s` waits also while it is held",
        id, reason[0] ? ": " : "", reason, id, id, id);
}
