/*  logs.c -- `logs`: the output of a job. */
#include "client/commands/commands.h"
#include "client/jobs/watcher.h"
#include "client/transport/response.h"
#include "client/transport/retry.h"

enum { TURN_MS = 60000, TAIL_MOST = 10000 };

/*  The part of a log that has been printed. */
typedef struct printed {
    const helio_client_t *client;
    uint64_t *offset;
    helio_safe_stream_t stream;
} printed_t;

static void write_log(void *arg, const char *bytes, size_t size)
{
    printed_t *self = arg;
    helio_client_print_foreign(self->client, &self->stream, bytes, size);
    *self->offset += size;
}

/*  Nobody reads on, as after `| head`, or the disk is full: the caller of the command says which. */
static bool is_unread(const helio_client_t *client)
{
    return ferror(client->io->out) != 0;
}

/*  Prints one reply's part of the log: its last lines first, if *tail says how many, and then from *offset on. OK also when the connection broke after some bytes. */
static int read_log(helio_client_t *client, const char *id, uint64_t epoch, uint64_t *tail, uint64_t *offset,
                    uint32_t *failures)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t after = {0};
    uint64_t before = *offset;
    printed_t printed = {.client = client, .offset = offset};
    helio_buffer_printf(&after, "/logs?%s=%llu", *tail ? "tail" : "offset",
                        (unsigned long long)(*tail ? *tail : *offset));
    if (epoch)
        helio_buffer_printf(&after, "&epoch=%llu", (unsigned long long)epoch);
    helio_stream_t *stream = helio_stream_new(
        client->remote, &(helio_stream_options_t){.path = helio_path(client, "/v1/jobs/", id, after.data),
                                                  .accept = "text/plain",
                                                  .idle_timeout_s = 60,
                                                  .on_data = write_log,
                                                  .arg = &printed});
    int interrupts = helio_client_interrupts(client->io), code = HELIO_EXIT_OK;
    while (!helio_stream_is_over(stream) && helio_client_interrupts(client->io) == interrupts && !is_unread(client))
        helio_remote_pump(client->remote, TURN_MS);
    long status = helio_stream_status(stream);
    if (*tail && (*offset || helio_stream_is_whole(stream))) { /* the last lines were told, and where they began */
        *offset += helio_stream_log_offset(stream);
        *tail = 0;
    }
    if (is_unread(client)) {
        *failures = 0;
    } else if (!helio_stream_is_over(stream)) {
        code = HELIO_EXIT_INTERRUPTED;
    } else if (!helio_stream_is_whole(stream)) {
        bool retry = !status || (status >= 200 && status < 300) || helio_status_is_transient(status);
        *failures = *offset > before ? 1 : *failures + 1;
        if (!retry || (*failures >= HELIO_REMOTE_ATTEMPTS && status > 299))
            code = helio_response_print_error(client, status, helio_stream_problem(stream),
                                              helio_stream_retry_after_ms(stream));
        else if (*failures >= HELIO_REMOTE_ATTEMPTS)
            code = helio_client_fail(client, HELIO_EXIT_UNREACHABLE, "lost the connection to the broker: %s",
                                     helio_stream_error(stream));
        else
            helio_remote_pump(client->remote, helio_remote_backoff_ms(client->remote, *failures));
    } else {
        *failures = 0;
    }
    helio_stream_destroy(&stream);
    return code;
}

static int print_log(helio_client_t *client, const char *id, uint64_t epoch, uint64_t tail)
{
    uint64_t offset = 0;
    uint32_t failures = 0;
    for (;;) {
        uint64_t before = offset;
        int code = read_log(client, id, epoch, &tail, &offset, &failures);
        if (code != HELIO_EXIT_OK)
            return code;
        if (is_unread(client) || (failures == 0 && offset == before))
            return HELIO_EXIT_OK;
    }
}

/*  Names an existing task as the example: the one that `explain` would show. */
static int refuse_array(helio_client_t *client, const char *id)
{
    HELIO_AUTO(helio_json_clear) json_t *explained = NULL;
    int code = helio_ask_get(client, helio_path(client, "/v1/jobs/", id, "/explain"), &explained);
    const char *task = helio_output_string(explained, "id");
    if (code != HELIO_EXIT_OK)
        return code;
    return helio_client_fail(client, HELIO_EXIT_USAGE, "%.64s is an array; name one of its tasks, such as %.64s", id,
                             task);
}

static int follow_log(helio_client_t *client, const char *id, uint64_t tail)
{
    helio_watcher_t watcher = {.client = client, .ends_only = true, .deadline_ms = INT64_MAX};
    HELIO_AUTO(helio_follow_destroy)
    helio_follow_t *follow = helio_follow_new(client, false, helio_watcher_on_change, &watcher);
    HELIO_AUTO(helio_joblog_destroy) helio_joblog_t *log = watcher.log = helio_joblog_new(client, id, false);
    int interrupts = helio_client_interrupts(client->io);
    helio_joblog_tail(log, tail);
    helio_follow_add(follow, id);
    while (!helio_follow_is_done(follow) || !helio_joblog_is_done(log)) {
        int code = HELIO_EXIT_OK;
        if (!helio_follow_is_done(follow))
            code = helio_follow_turn(follow, helio_watcher_wait_ms(&watcher));
        else
            helio_remote_pump(client->remote, helio_watcher_wait_ms(&watcher));
        if (code != HELIO_EXIT_OK)
            return code;
        if (helio_follow_job(follow, 0)->is_array)
            return refuse_array(client, id);
        helio_joblog_turn(log);
        if (is_unread(client))
            return HELIO_EXIT_OK;
        if (helio_client_interrupts(client->io) != interrupts)
            return HELIO_EXIT_INTERRUPTED;
    }
    return helio_joblog_is_cut(log) ? HELIO_EXIT_FAILURE : HELIO_EXIT_OK;
}

int helio_cmd_logs(helio_client_t *client)
{
    const char *id = client->arguments->words[0];
    uint64_t epoch, tail;
    if (!helio_client_number(client, HELIO_OPTION_EPOCH, 0, &epoch) ||
        !helio_client_number(client, HELIO_OPTION_TAIL, 0, &tail))
        return HELIO_EXIT_USAGE;
    if (helio_client_has(client, HELIO_OPTION_TAIL) && (!tail || tail > TAIL_MOST))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--tail: must be 1 to %d lines", TAIL_MOST);
    if (helio_client_has(client, HELIO_OPTION_EPOCH) && !epoch)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--epoch: attempts are counted from 1; without --epoch, it is the latest");
    if (helio_client_has(client, HELIO_OPTION_FOLLOW) && epoch)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--epoch and -f exclude each other: -f follows the latest attempt");
    return helio_client_has(client, HELIO_OPTION_FOLLOW) ? follow_log(client, id, tail)
                                                         : print_log(client, id, epoch, tail);
}
