/*  ls.c -- `ls`: lists of jobs, once or again and again. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/commands/choice.h"
#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/commands/screen.h"
#include "client/reasons/reply_details.h"
#include "client/reasons/start_estimate.h"
#include "federation/base/clock.h"

enum { ROWS_BY_DEFAULT = 100, PERIOD_MS = 2000, HEAD_LINES = 2 };

/*  Why a job is held takes several sentences, of which the first names the cause; `helio explain` has them all. */
static void shorten_reason(json_t *row)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    json_t *first = json_array_get(json_object_get(row, "details"), 0), *list = first ? json_pack("[O]", first) : NULL;
    helio_reply_sentences(list, &text);
    json_decref(list);
    if (text.size && json_object_set_new(row, "reason", json_string(text.data)) != 0)
        abort();
}

/*  Of an array in one row: how many of its tasks are in which state. */
static void show_states(json_t *row)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const json_t *tasks = json_object_get(row, "tasks");
    const char *state;
    json_t *count;
    json_object_foreach((json_t *)(uintptr_t)tasks, state, count)
        helio_buffer_printf(&text, "%s%s %lld", text.size ? ", " : "", state, (long long)json_integer_value(count));
    if (text.size && json_object_set_new(row, "state", json_string(text.data)) != 0)
        abort();
}

/*  A running job needs no reason, and a job without GPUs has no GPU model of its own, only its pool has. */
static void leave_out_what_says_nothing(const helio_client_t *client, json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        if (client->output.format > HELIO_FORMAT_WIDE)
            return;
        if (strcmp(helio_output_string(row, "state"), "running") == 0)
            (void)json_object_del(row, "reason");
        if (helio_output_number(row, "gpus", 1) < 1)
            (void)json_object_del(row, "gpu_model");
        if (strcmp(helio_output_string(row, "state"), "held") == 0)
            shorten_reason(row);
        show_states(row);
    }
}

/*  The tenant column is shown only when the jobs belong to several tenants. */
static helio_rc print_jobs(const helio_output_t *output, const json_t *rows)
{
    helio_columns_t columns = helio_columns_of_jobs;
    helio_column_t shown[32];
    assert(columns.count <= sizeof shown / sizeof shown[0]);
    const char *first = helio_output_string(json_array_get(rows, 0), "tenant");
    bool several = false;
    for (size_t i = 1; !several && i < json_array_size(rows); i++)
        several = strcmp(helio_output_string(json_array_get(rows, i), "tenant"), first) != 0;
    for (size_t i = 0; i < columns.count; i++) {
        shown[i] = columns.items[i];
        if (strcmp(shown[i].key, "tenant") == 0)
            shown[i].wide = !several;
    }
    return helio_output_rows(output, rows, (helio_columns_t){shown, columns.count, columns.name_key});
}

/*  The query of the list: filters, order, and arrays in one row each where the order allows it. */
static bool query_of(const helio_client_t *client, helio_buffer_t *query)
{
    const char *sort = helio_client_value(client, HELIO_OPTION_SORT);
    bool newest_first = !sort || strcmp(sort, "submitted") == 0;
    if (!helio_choice_query(client, query))
        return false;
    if (!newest_first)
        helio_buffer_printf(query, "&sort=%s", sort);
    else if (!helio_client_has(client, HELIO_OPTION_TASKS))
        helio_buffer_text(query, "&arrays=whole");
    return true;
}

static void note_what_is_left_out(const helio_client_t *client, const json_t *rows, bool more, const json_t *reply)
{
    const char *looked_to = helio_output_string(reply, "looked_to");
    if (!json_array_size(rows))
        helio_choice_note_names(client, reply);
    if (more && !helio_client_has(client, HELIO_OPTION_LIMIT))
        helio_client_say(client, "There are more jobs: use --limit N or --all.");
    if (looked_to[0])
        helio_client_say(client, "Sorted among the newest jobs, back to %s: narrow them with filters or --since.",
                         looked_to);
}

/*  ---- again and again ---- */

static int show_frame(helio_client_t *client, const char *query, uint64_t limit, helio_screen_t *screen)
{
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array(), *reply = NULL;
    bool more;
    int code = helio_choice_ask(client, query, limit, rows, &more, &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    leave_out_what_says_nothing(client, rows);
    helio_output_t output = client->output;
    output.wall_ms = helio_clock_wall_ms();
    char *text = NULL;
    size_t size = 0;
    output.stream = open_memstream(&text, &size);
    if (!output.stream)
        abort(); /* memory */
    helio_rc rc = print_jobs(&output, rows);
    if (fclose(output.stream) != 0)
        abort();
    rc = rc == HELIO_OK ? helio_screen_show(screen, text) : rc;
    free(text);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

static int watch(helio_client_t *client, const char *query, uint64_t limit)
{
    bool live = client->io->in_tty && client->io->out_tty;
    if (client->output.format > HELIO_FORMAT_WIDE)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--watch shows tables\nhelp: `helio events -f -o json` streams what happens");
    helio_screen_t *screen = helio_screen_new(client->io, live);
    uint32_t height = helio_screen_size(screen).height;
    if (live && height > HEAD_LINES && limit > height - HEAD_LINES)
        limit = height - HEAD_LINES;
    int code;
    do
        code = show_frame(client, query, limit, screen);
    while (code == HELIO_EXIT_OK && live && helio_screen_wait(screen, PERIOD_MS) != HELIO_SCREEN_QUIT);
    helio_screen_destroy(&screen);
    return code;
}

int helio_cmd_ls(helio_client_t *client)
{
    uint64_t limit;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t query = {0};
    if (!helio_listing_limit(client, ROWS_BY_DEFAULT, &limit) || !query_of(client, &query))
        return HELIO_EXIT_USAGE;
    if (helio_client_has(client, HELIO_OPTION_WATCH))
        return watch(client, query.data ? query.data : "", limit);
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array(), *reply = NULL;
    bool more;
    int code = helio_choice_ask(client, query.data ? query.data : "", limit, rows, &more, &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    leave_out_what_says_nothing(client, rows);
    helio_rc rc = print_jobs(&client->output, rows);
    note_what_is_left_out(client, rows, more, reply);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}
