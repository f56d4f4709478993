/*  events.c -- `events`: prints the events of jobs, one per line. */
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/invocation/settings.h"
#include "client/output/columns.h"
#include "client/transport/response.h"
#include "client/transport/retry.h"
#include "client/transport/events.h"
#include "federation/base/clock.h"

enum {
    IDLE_S = 45,
    QUIET = 4,           /* in units of the client's patience, without a byte: all recorded events have arrived */
    QUIET_AT_FIRST = 12, /* the same before the first byte: the database may be busy */
    BATCH_ROWS = 10000   /* printed at once */
};

typedef struct watch {
    helio_client_t *client;
    helio_events_t *events;
    helio_stream_t *stream;
    json_t *rows;
    int64_t heard_ms;   /* the last byte */
    int64_t give_up_ms; /* how long to retry a broker that never answered */
    bool reached, lost, missed;
    bool waits; /* of a broker that did not answer at the start; the user was told */
} watch_t;

static void on_event(void *arg, const helio_event_t *event)
{
    watch_t *self = arg;
    if (strcmp(event->type, "resync") == 0) {
        self->missed = true;
        return;
    }
    json_t *row = json_loads(event->data, 0, NULL);
    if (!json_is_object(row)) {
        json_decref(row);
        return;
    }
    if (json_array_append_new(self->rows, row) != 0)
        abort();
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    watch_t *self = arg;
    self->heard_ms = helio_clock_boot_ms();
    helio_events_feed(self->events, bytes, size);
}

/*  Aligned columns would need all rows at once. So each event is one line, with fixed widths for values of bounded
 *  size. */
static void print_event(const helio_client_t *client, const json_t *row)
{
    helio_columns_t columns = helio_columns_of_events;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const char *separator = "";
    for (size_t i = 0; i < columns.count; i++) {
        const helio_column_t *column = &columns.items[i];
        if (column->wide && client->output.format != HELIO_FORMAT_WIDE)
            continue;
        helio_buffer_reset(&text);
        helio_output_cell(&client->output, row, column, &text);
        bool word = column->cell == HELIO_CELL_STATE || strcmp(column->title, "FROM") == 0;
        fprintf(client->io->out, "%s%-*s", separator, word ? 9 : 1, text.size ? text.data : "-");
        separator = "  ";
    }
    fputs("\n", client->io->out);
}

static int print_rows(watch_t *self, bool follow)
{
    helio_output_t output = self->client->output;
    helio_rc rc = HELIO_OK;
    if (follow && output.format <= HELIO_FORMAT_WIDE) {
        size_t i;
        json_t *row;
        json_array_foreach(self->rows, i, row) print_event(self->client, row);
        rc = fflush(output.stream) == 0 ? HELIO_OK : HELIO_IO;
    } else {
        if (follow && output.format == HELIO_FORMAT_JSON)
            output.format = HELIO_FORMAT_JSONL;
        rc = helio_output_rows(&output, self->rows, helio_columns_of_events);
    }
    (void)json_array_clear(self->rows);
    if (self->missed)
        helio_client_say(self->client, "some events are missing: the broker keeps no older ones");
    self->missed = false;
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

static void open_stream(watch_t *self, const char *after)
{
    const char *last = helio_events_last_id(self->events);
    helio_events_restart(self->events);
    self->stream =
        helio_stream_new(self->client->remote, &(helio_stream_options_t){.path = "/v1/events",
                                                                         .accept = "text/event-stream",
                                                                         .last_event_id = last[0] ? last : after,
                                                                         .idle_timeout_s = IDLE_S,
                                                                         .on_data = on_data,
                                                                         .arg = self});
    self->heard_ms = helio_clock_boot_ms();
}

/*  The stream has ended: returns whether to continue. */
static int stream_ended(watch_t *self, bool follow, uint32_t *failures)
{
    helio_client_t *client = self->client;
    long status = helio_stream_status(self->stream);
    bool transient = status < 300 || helio_status_is_transient(status);
    *failures += 1;
    bool enough = *failures >= HELIO_REMOTE_ATTEMPTS;
    if (transient && follow && !self->reached && (status || helio_clock_boot_ms() < self->give_up_ms)) {
        if (!self->waits)
            helio_client_say(client, "the broker at %s is not ready; retrying %s", client->settings->broker,
                             status ? "until it answers" : "for up to a minute");
        self->waits = true;
        return HELIO_EXIT_OK;
    }
    if (!transient || (!self->reached && enough && status))
        return helio_response_print_error(client, status, helio_stream_problem(self->stream),
                                          helio_stream_retry_after_ms(self->stream));
    if (!self->reached && enough)
        return helio_client_fail(client, HELIO_EXIT_UNREACHABLE, "cannot reach the broker at %s: %s",
                                 client->settings->broker, helio_stream_error(self->stream));
    if (self->reached && !self->lost)
        helio_client_say(client, "lost the connection to the broker at %s; retrying until it answers",
                         client->settings->broker);
    self->lost |= self->reached;
    return HELIO_EXIT_OK;
}

static int watch_stream(watch_t *self, const char *after, bool follow)
{
    const helio_client_io_t *io = self->client->io;
    int interrupts = helio_client_interrupts(io), code = HELIO_EXIT_OK;
    uint32_t failures = 0;
    self->give_up_ms = helio_clock_boot_ms() + (int64_t)io->patience_ms * HELIO_REMOTE_PATIENCE;
    open_stream(self, after);
    for (;;) {
        helio_remote_pump(self->client->remote, follow ? 60000 : io->patience_ms);
        bool open = helio_stream_is_open(self->stream);
        if (open && self->lost)
            helio_client_say(self->client, "the broker at %s answers again", self->client->settings->broker);
        self->lost &= !open;
        /* Also a stream that opened and broke since the last check. */
        long status = helio_stream_status(self->stream);
        bool answered = status >= 200 && status < 300;
        self->reached |= answered;
        failures = answered ? 0 : failures;
        if ((follow && json_array_size(self->rows)) || json_array_size(self->rows) >= BATCH_ROWS || self->missed)
            code = print_rows(self, true);
        if (code != HELIO_EXIT_OK)
            return code;
        if (helio_client_interrupts(io) != interrupts)
            return HELIO_EXIT_INTERRUPTED;
        int64_t units = helio_events_last_id(self->events)[0] ? QUIET : QUIET_AT_FIRST;
        bool quiet = helio_clock_boot_ms() > self->heard_ms + units * io->patience_ms;
        bool over = helio_stream_is_over(self->stream);
        if (!follow && ((open && quiet) || (over && helio_stream_is_whole(self->stream))))
            return print_rows(self, false);
        if (!over)
            continue;
        code = stream_ended(self, follow, &failures);
        if (code != HELIO_EXIT_OK)
            return code;
        helio_stream_destroy(&self->stream);
        helio_remote_pump(self->client->remote, helio_remote_backoff_ms(self->client->remote, failures));
        open_stream(self, after);
    }
}

int helio_cmd_events(helio_client_t *client)
{
    uint64_t number;
    bool follow = helio_client_has(client, HELIO_OPTION_FOLLOW);
    const char *after = helio_client_value(client, HELIO_OPTION_AFTER);
    if (!helio_client_number(client, HELIO_OPTION_AFTER, 0, &number))
        return HELIO_EXIT_USAGE;
    if (follow && client->output.format == HELIO_FORMAT_CSV)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "`helio events -f` prints table, wide, jsonl, name or yaml, not csv");
    if (!after && !follow)
        after = "0";
    watch_t watch = {.client = client, .rows = json_array()};
    watch.events = helio_events_new(on_event, &watch);
    int code = watch_stream(&watch, after, follow);
    helio_stream_destroy(&watch.stream);
    helio_events_destroy(&watch.events);
    json_decref(watch.rows);
    return code;
}
