/*  Commands that stay with a job: run, wait, logs. */
#include <stdlib.h>
#include <string.h>

#include "client/transport/answer.h"
#include "client/commands/commands.h"
#include "client/jobs/follow.h"
#include "client/output/humanise.h"
#include "client/jobs/joblog.h"
#include "client/jobs/drafts.h"
#include "federation/base/clock.h"

enum { TURN_MS = 60000, TURN_WITH_LOG_MS = 1000 };

typedef struct watcher {
    helio_client_t *client;
    helio_joblog_t *log; /* NULL = states alone */
    bool ends_only;      /* say only what is final or needs somebody */
    int64_t deadline_ms; /* INT64_MAX = none */
} watcher_t;

static void destroy_follow(helio_follow_t **follow_p)
{
    helio_follow_destroy(follow_p);
}

static void destroy_log(helio_joblog_t **log_p)
{
    helio_joblog_destroy(log_p);
}

/*  Queued, offered, accepted: nothing has run in this attempt. */
static bool has_started(const char *state)
{
    return strcmp(state, "queued") != 0 && strcmp(state, "offered") != 0 && strcmp(state, "accepted") != 0 &&
           strcmp(state, "held") != 0;
}

static void say_state(const helio_client_t *client, const helio_followed_t *job)
{
    char at[HELIO_RFC3339_SIZE], id[HELIO_HUMAN_SIZE];
    const char *reason = helio_output_string(job->answer, "reason");
    if (strcmp(reason, job->state) == 0)
        reason = "";
    helio_rfc3339(helio_clock_wall_ms(), at);
    helio_short_id(job->id, id);
    helio_client_say(client, "%.19sZ %s %s%s%s%s%s%s", at, id, job->state, job->site[0] ? " at " : "",
                     job->site, reason[0] ? " (" : "", reason, reason[0] ? ")" : "");
    if (strcmp(job->state, "held") == 0)
        helio_client_say(client, "help: `helio explain %s` says why, `helio release %s` lets it run again",
                         id, id);
}

static void on_change(void *arg, const helio_followed_t *job)
{
    watcher_t *self = arg;
    if (!self->ends_only || job->over || strcmp(job->state, "held") == 0)
        say_state(self->client, job);
    if (self->log)
        helio_joblog_update(self->log, job->epoch, has_started(job->state), job->over);
}

static bool take_deadline(watcher_t *self)
{
    uint64_t timeout_ms;
    if (!helio_client_duration(self->client, HELIO_OPTION_TIMEOUT, 0, &timeout_ms))
        return false;
    bool given = helio_client_has(self->client, HELIO_OPTION_TIMEOUT);
    bool fits = timeout_ms < INT64_MAX / 2;
    self->deadline_ms = given && fits ? helio_clock_boot_ms() + (int64_t)timeout_ms : INT64_MAX;
    return true;
}

static uint32_t wait_ms(const watcher_t *self)
{
    int64_t most_ms = self->log ? TURN_WITH_LOG_MS : TURN_MS;
    /* A log stream that has to be opened again is waited for in smaller steps. */
    if (self->log && most_ms > (int64_t)self->client->io->patience_ms * 2)
        most_ms = (int64_t)self->client->io->patience_ms * 2;
    int64_t left_ms = self->deadline_ms == INT64_MAX ? most_ms : self->deadline_ms - helio_clock_boot_ms();
    left_ms = left_ms < 0 ? 0 : left_ms;
    return (uint32_t)(left_ms < most_ms ? left_ms : most_ms);
}

static bool is_late(const watcher_t *self)
{
    return helio_clock_boot_ms() >= self->deadline_ms;
}

/*  A held job stands until somebody releases it: nothing for a program to wait for, unless it is told to. Why
 * it is held, and what releases it, was said when it became so. OK: goes on. */
static int leave_held(helio_client_t *client, const helio_follow_t *follow)
{
    const helio_followed_t *held =
        helio_client_has(client, HELIO_OPTION_KEEP_WAITING) ? NULL : helio_follow_held(follow);
    if (!held)
        return HELIO_EXIT_OK;
    char id[HELIO_HUMAN_SIZE];
    const char *reason = helio_output_string(held->answer, "reason");
    helio_short_id(held->id, id);
    return helio_client_fail(
        client, HELIO_EXIT_TIMEOUT,
        "%s is held%s%.200s, and waits for somebody\nhelp: `helio release %s`, then `helio wait %s`; "
        "`helio wait --keep-waiting %s` stays until it has ended",
        id, reason[0] ? ": " : "", reason, id, id, id);
}

/*  ---- wait ---- */

int helio_cmd_wait(helio_client_t *client)
{
    watcher_t watcher = {.client = client, .ends_only = true};
    if (!take_deadline(&watcher))
        return HELIO_EXIT_USAGE;
    HELIO_AUTO(destroy_follow) helio_follow_t *follow = helio_follow_new(client, false, on_change, &watcher);
    for (uint32_t i = 0; i < client->arguments->word_count; i++)
        helio_follow_add(follow, client->arguments->words[i]);
    int interrupts = helio_client_interrupts(client->io);
    while (!helio_follow_is_done(follow)) {
        int code = helio_follow_turn(follow, wait_ms(&watcher));
        if (code == HELIO_EXIT_OK)
            code = leave_held(client, follow);
        if (code != HELIO_EXIT_OK)
            return code;
        if (helio_client_interrupts(client->io) != interrupts)
            return HELIO_EXIT_INTERRUPTED;
        if (is_late(&watcher) && !helio_follow_is_done(follow))
            return helio_client_fail(client, HELIO_EXIT_TIMEOUT, "not over in time; the jobs go on");
    }
    return helio_follow_exit(follow);
}

/*  ---- run ---- */

typedef struct presses {
    int first; /* the count when it began */
    int handled;
    bool cancelled;
} presses_t;

/*  False when it is time to leave. */
static bool handle_press(helio_client_t *client, const char *id, presses_t *presses)
{
    int now = helio_client_interrupts(client->io) - presses->first;
    if (now == presses->handled)
        return true;
    presses->handled = now;
    if (now == 1) {
        helio_client_say(client,
                         "press Ctrl-C again to cancel %s; it goes on otherwise. Ctrl-\\ leaves it running "
                         "(`helio wait %s` comes back to it)",
                         id, id);
        return true;
    }
    if (presses->cancelled)
        return false;
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    helio_client_say(client, "cancelling %s; press Ctrl-C again to leave before it has ended", id);
    presses->cancelled = true;
    int code = helio_ask(
        client, &(helio_request_t){.method = "DELETE", .path = helio_path(client, "/v1/jobs/", id, "")},
        &answer);
    if (code != HELIO_EXIT_OK)
        helio_client_say(client, "the cancel did not reach the broker: `helio cancel %s` tries again", id);
    return true;
}

static void say_summary(const helio_client_t *client, const helio_followed_t *job)
{
    static const helio_column_t columns[] = {
        {"ran", "run_seconds", HELIO_CELL_SECONDS, false},
        {"cost", "cost_usd", HELIO_CELL_MONEY, false},
        {"used", "energy_kwh", HELIO_CELL_ENERGY, false},
        {"emitted", "carbon_g", HELIO_CELL_CARBON, false},
    };
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t line = {0}, value = {0};
    if (!helio_output_find(job->answer, "run_seconds"))
        return; /* it never ran */
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        helio_buffer_reset(&value);
        helio_output_cell(&client->output, job->answer, &columns[i], &value);
        if (value.size)
            helio_buffer_printf(&line, "%s%s %s", line.size ? ", " : "", columns[i].title, value.data);
    }
    if (line.size)
        helio_client_say(client, "%s", line.data);
}

static int follow_run(watcher_t *watcher, const char *id, bool is_array)
{
    helio_client_t *client = watcher->client;
    HELIO_AUTO(destroy_follow) helio_follow_t *follow = helio_follow_new(client, true, on_change, watcher);
    HELIO_AUTO(destroy_log) helio_joblog_t *log = is_array ? NULL : helio_joblog_new(client, id, true);
    presses_t presses = {.first = helio_client_interrupts(client->io)};
    watcher->log = log;
    helio_follow_add(follow, id);
    while (!helio_follow_is_done(follow) || (log && !helio_joblog_is_done(log))) {
        int code = HELIO_EXIT_OK;
        if (!helio_follow_is_done(follow))
            code = helio_follow_turn(follow, wait_ms(watcher));
        else
            helio_remote_pump(client->remote, wait_ms(watcher));
        if (code == HELIO_EXIT_OK)
            code = leave_held(client, follow);
        if (code != HELIO_EXIT_OK)
            return code;
        if (log)
            helio_joblog_turn(log);
        if (!handle_press(client, id, &presses))
            return HELIO_EXIT_INTERRUPTED;
        if (is_late(watcher))
            return helio_client_fail(client, HELIO_EXIT_TIMEOUT, "not over in time; %s goes on", id);
    }
    say_summary(client, helio_follow_job(follow, 0));
    return helio_follow_exit(follow);
}

int helio_cmd_run(helio_client_t *client)
{
    watcher_t watcher = {.client = client};
    helio_drafts_t drafts;
    if (!take_deadline(&watcher))
        return HELIO_EXIT_USAGE;
    int code = helio_drafts_read(client, client->arguments->words, 1, &drafts);
    if (code != HELIO_EXIT_OK)
        return code;
    if (drafts.count != 1)
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "%u jobs; `run` follows one\nhelp: `helio submit -o name` and `helio wait` take many",
            drafts.count);
    code = helio_drafts_send(client, &drafts);
    if (code != HELIO_EXIT_OK)
        return code;
    const helio_draft_t *draft = &drafts.items[0];
    helio_client_say(client, "submitted %s%s%s%s", draft->id, draft->name[0] ? " " : "", draft->name,
                     draft->existed ? " (it was there already)" : "");
    return follow_run(&watcher, draft->id, draft->is_array);
}

/*  ---- logs ---- */

static void write_log(void *arg, const char *bytes, size_t size)
{
    helio_client_t *client = ((void **)arg)[0];
    uint64_t *offset = ((void **)arg)[1];
    (void)fwrite(bytes, 1, size, client->io->out);
    *offset += size;
}

/*  One answer's worth of log from *offset on. OK also when it broke after having brought something. */
static int read_log(helio_client_t *client, const char *id, uint64_t epoch, uint64_t *offset,
                    uint32_t *failures)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t after = {0};
    uint64_t before = *offset;
    void *arg[2] = {client, offset};
    helio_buffer_printf(&after, "/logs?offset=%llu", (unsigned long long)*offset);
    if (epoch)
        helio_buffer_printf(&after, "&epoch=%llu", (unsigned long long)epoch);
    helio_stream_t *stream = helio_stream_new(
        client->remote, &(helio_stream_options_t){.path = helio_path(client, "/v1/jobs/", id, after.data),
                                                  .accept = "text/plain",
                                                  .idle_timeout_s = 60,
                                                  .on_data = write_log,
                                                  .arg = arg});
    int interrupts = helio_client_interrupts(client->io), code = HELIO_EXIT_OK;
    while (!helio_stream_is_over(stream) && helio_client_interrupts(client->io) == interrupts)
        helio_remote_pump(client->remote, TURN_MS);
    long status = helio_stream_status(stream);
    if (!helio_stream_is_over(stream)) {
        code = HELIO_EXIT_INTERRUPTED;
    } else if (!helio_stream_is_whole(stream)) {
        bool retry = !status || (status >= 200 && status < 300) || helio_remote_is_transient(status);
        *failures = *offset > before ? 1 : *failures + 1;
        if (!retry || (*failures >= HELIO_REMOTE_ATTEMPTS && status > 299))
            code = helio_answer_complain(client, status, helio_stream_problem(stream),
                                         helio_stream_retry_after_ms(stream));
        else if (*failures >= HELIO_REMOTE_ATTEMPTS)
            code = helio_client_fail(client, HELIO_EXIT_UNREACHABLE, "the broker went away: %s",
                                     helio_stream_error(stream));
        else
            helio_remote_pump(client->remote, helio_remote_backoff_ms(client->remote, *failures));
    } else {
        *failures = 0;
    }
    helio_stream_destroy(&stream);
    return code;
}

static int print_log(helio_client_t *client, const char *id, uint64_t epoch)
{
    uint64_t offset = 0;
    uint32_t failures = 0;
    for (;;) {
        uint64_t before = offset;
        int code = read_log(client, id, epoch, &offset, &failures);
        if (code != HELIO_EXIT_OK)
            return code;
        if (failures == 0 && offset == before)
            return HELIO_EXIT_OK;
    }
}

/*  With a task that there is: the one that `explain` would show. */
static int refuse_array(helio_client_t *client, const char *id)
{
    HELIO_AUTO(helio_json_clear) json_t *explained = NULL;
    int code = helio_ask_get(client, helio_path(client, "/v1/jobs/", id, "/explain"), &explained);
    const char *task = helio_output_string(explained, "id");
    if (code != HELIO_EXIT_OK)
        return code;
    return helio_client_fail(client, HELIO_EXIT_USAGE, "%.64s is an array; say which task, such as %.64s", id, task);
}

static int follow_log(helio_client_t *client, const char *id)
{
    watcher_t watcher = {.client = client, .ends_only = true, .deadline_ms = INT64_MAX};
    HELIO_AUTO(destroy_follow) helio_follow_t *follow = helio_follow_new(client, false, on_change, &watcher);
    HELIO_AUTO(destroy_log) helio_joblog_t *log = watcher.log = helio_joblog_new(client, id, false);
    int interrupts = helio_client_interrupts(client->io);
    helio_follow_add(follow, id);
    while (!helio_follow_is_done(follow) || !helio_joblog_is_done(log)) {
        int code = HELIO_EXIT_OK;
        if (!helio_follow_is_done(follow))
            code = helio_follow_turn(follow, wait_ms(&watcher));
        else
            helio_remote_pump(client->remote, wait_ms(&watcher));
        if (code != HELIO_EXIT_OK)
            return code;
        if (helio_follow_job(follow, 0)->is_array)
            return refuse_array(client, id);
        helio_joblog_turn(log);
        if (helio_client_interrupts(client->io) != interrupts)
            return HELIO_EXIT_INTERRUPTED;
    }
    return helio_joblog_is_cut(log) ? HELIO_EXIT_FAILURE : HELIO_EXIT_OK;
}

int helio_cmd_logs(helio_client_t *client)
{
    const char *id = client->arguments->words[0];
    uint64_t epoch;
    if (!helio_client_number(client, HELIO_OPTION_EPOCH, 0, &epoch))
        return HELIO_EXIT_USAGE;
    if (helio_client_has(client, HELIO_OPTION_FOLLOW) && epoch)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--epoch names an attempt that is over; -f follows the latest");
    return helio_client_has(client, HELIO_OPTION_FOLLOW) ? follow_log(client, id)
                                                         : print_log(client, id, epoch);
}
