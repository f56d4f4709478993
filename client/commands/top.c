/*  top.c -- `top`: the federation on one screen: sites, queues with their waiting tenants, and the largest running
 *  jobs.
 *
 *  Every two seconds it sends four bounded requests, whatever the size of the federation. This file makes a frame;
 *  screen.c shows frames.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/curtailed.h"
#include "client/commands/listing.h"
#include "client/commands/screen.h"
#include "client/invocation/settings.h"
#include "client/output/columns.h"
#include "client/output/humanise.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"

enum { REFRESH_MS = 2000, ROWS_ASKED = 200, ROWS_LEAST = 3, NAMED_MAX = 3, COLUMNS_MAX = 16, ROOMY_COLUMNS = 90 };

#define AT_SITES "offered,accepted,starting,running,suspended,stopping,suspect"

typedef struct question {
    const char *key, *path, *list;
} question_t;

static const question_t questions[] = {
    {"sites", "/v1/sites", "sites"},
    {"queues", "/v1/queues", "queues"},
    {"running", "/v1/jobs?state=" AT_SITES "&limit=200", "jobs"},
    {"waiting", "/v1/jobs?state=queued,held&limit=200", "jobs"},
};

static void put(json_t *object, const char *key, json_t *value)
{
    if (!value || json_object_set_new(object, key, value) != 0)
        abort(); /* memory */
}

static double number(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(row, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static double sum(const json_t *rows, const char *key, const char *times)
{
    double total = 0;
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        double value = number(row, key) * (times ? number(row, times) : 1);
        total += isnan(value) ? 0 : value;
    }
    return total;
}

/*  ---- data --------------------------------------------------------------------------------------------------- */

static int by_gpus(const void *a_, const void *b_)
{
    const json_t *a = *(json_t *const *)a_, *b = *(json_t *const *)b_;
    double more = number(b, "gpus") - number(a, "gpus");
    return more > 0 ? 1 : more < 0 ? -1 : strcmp(helio_output_string(a, "id"), helio_output_string(b, "id"));
}

static json_t *sorted(const json_t *rows)
{
    size_t count = json_array_size(rows);
    json_t **items = helio_new(count + 1, sizeof *items), *list = json_array();
    for (size_t i = 0; i < count; i++)
        items[i] = json_array_get(rows, i);
    qsort(items, count, sizeof *items, by_gpus);
    for (size_t i = 0; i < count; i++)
        if (json_array_append(list, items[i]) != 0)
            abort();
    free(items);
    return list;
}

/*  The waiting jobs of a queue by tenant, most first, counted over the newest jobs: "acme 12, other 3". */
static void name_waiting(json_t *queue, const json_t *waiting)
{
    json_t *tenants = json_object();
    size_t i;
    const json_t *job;
    json_array_foreach(waiting, i, job)
    {
        const char *tenant = helio_output_string(job, "tenant");
        if (strcmp(helio_output_string(job, "queue"), helio_output_string(queue, "queue")) != 0)
            continue;
        put(tenants, tenant, json_integer(json_integer_value(json_object_get(tenants, tenant)) + 1));
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (json_array_size(waiting) >= ROWS_ASKED && json_object_size(tenants))
        helio_buffer_printf(&text, "of the newest %d: ", ROWS_ASKED);
    for (int named = 0; named < NAMED_MAX && json_object_size(tenants); named++) {
        const char *tenant, *most = NULL;
        json_t *count;
        json_object_foreach(tenants, tenant, count) if (!most || json_integer_value(count) >
                                                                     json_integer_value(json_object_get(tenants, most)))
            most = tenant;
        helio_buffer_text(&text, named ? ", " : "");
        helio_short_name(most, 32, &text);
        helio_buffer_printf(&text, " %lld", (long long)json_integer_value(json_object_get(tenants, most)));
        (void)json_object_del(tenants, most);
    }
    if (json_object_size(tenants))
        helio_buffer_text(&text, ", …");
    put(queue, "who", json_string(text.size ? text.data : ""));
    json_decref(tenants);
}

static void put_totals(json_t *snapshot)
{
    const json_t *sites = json_object_get(snapshot, "sites"), *queues = json_object_get(snapshot, "queues");
    json_t *totals = json_object();
    put(totals, "gpus_total", json_integer((json_int_t)sum(sites, "gpus_total", NULL)));
    HELIO_AUTO(helio_json_clear) json_t *usable = json_deep_copy(sites);
    helio_listing_hide_stale_room(usable);
    put(totals, "gpus_free", json_integer((json_int_t)sum(usable, "gpus_free", NULL)));
    put(totals, "gpus_allocated", json_integer((json_int_t)sum(sites, "gpus_allocated", NULL)));
    put(totals, "jobs_running", json_integer((json_int_t)sum(queues, "running", NULL)));
    put(totals, "jobs_queued", json_integer((json_int_t)sum(queues, "queued", NULL)));
    put(totals, "jobs_held", json_integer((json_int_t)sum(queues, "held", NULL)));
    put(totals, "usd_per_h", json_real(sum(sites, "gpus_allocated", "price_usd_per_gpu_h")));
    put(totals, "carbon_g_per_h", json_real(sum(sites, "power_watts", "carbon_g_per_kwh") / 1000));
    put(snapshot, "totals", totals);
}

/*  Prints the first request that failed, or puts the message into `why` if that is given. */
static int ask(helio_client_t *client, const question_t *question, json_t **ret_reply, helio_error_t *why)
{
    if (!why)
        return helio_ask_get(client, question->path, ret_reply);
    HELIO_AUTO(helio_response_clear) helio_response_t response = {0};
    helio_rc rc =
        helio_remote_call(client->remote, &(helio_request_t){.path = question->path, .once = true}, &response, why);
    if (rc != HELIO_OK)
        return rc == HELIO_BUSY ? HELIO_EXIT_INTERRUPTED : HELIO_EXIT_UNREACHABLE;
    *ret_reply = response.status == 200 && response.body.size
                     ? json_loadb(response.body.data, response.body.size, 0, NULL)
                     : NULL;
    if (*ret_reply)
        return HELIO_EXIT_OK;
    (void)snprintf(why->text, sizeof why->text, "the broker answers with status %ld", response.status);
    return response.status == 200 ? HELIO_EXIT_OWN : helio_response_exit(response.status);
}

static int look(helio_client_t *client, json_t **ret_snapshot, helio_error_t *why)
{
    char now[HELIO_RFC3339_SIZE];
    json_t *snapshot = json_object();
    helio_rfc3339(helio_clock_wall_ms(), now);
    put(snapshot, "time", json_string(now));
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
        json_t *list = NULL;
        int code = ask(client, &questions[i], &reply, why);
        if (code == HELIO_EXIT_OK)
            code = helio_response_list(client, reply, questions[i].list, &list);
        if (code != HELIO_EXIT_OK) {
            json_decref(snapshot);
            return code;
        }
        put(snapshot, questions[i].key, strcmp(questions[i].key, "running") == 0 ? sorted(list) : json_incref(list));
    }
    size_t i;
    json_t *queue;
    json_array_foreach(json_object_get(snapshot, "queues"), i, queue)
        name_waiting(queue, json_object_get(snapshot, "waiting"));
    put_totals(snapshot);
    *ret_snapshot = snapshot;
    return HELIO_EXIT_OK;
}

/*  ---- a frame ------------------------------------------------------------------------------------------------ */

static helio_columns_t columns_of_sites(void)
{
    static const helio_column_t columns[] = {
        {"SITE", "site", HELIO_CELL_TEXT, false},
        {"STATE", "state", HELIO_CELL_STATE, false},
        {"FREE", "gpus_free", HELIO_CELL_COUNT, false},
        {"GPUS", "gpus_total", HELIO_CELL_COUNT, false},
        {"RESERVED", "gpus_reserved", HELIO_CELL_COUNT, true},
        {"JOBS", "jobs_running", HELIO_CELL_COUNT, false},
        {"USD/GPU-H", "price_usd_per_gpu_h", HELIO_CELL_NUMBER, false},
        {"G/KWH", "carbon_g_per_kwh", HELIO_CELL_NUMBER, false},
        {"PUE", "pue", HELIO_CELL_NUMBER, true},
        {"BACKEND", "backend", HELIO_CELL_TEXT, true},
        {"REGION", "region", HELIO_CELL_TEXT, true},
    };
    return HELIO_COLUMNS(columns, "site");
}

static helio_columns_t columns_of_queues(void)
{
    static const helio_column_t columns[] = {
        /* clang-format off */
        {"QUEUE", "queue", HELIO_CELL_TEXT, false},
        {"PRIORITY", "priority", HELIO_CELL_COUNT, false},
        {"RUN", "running", HELIO_CELL_COUNT, false},
        {"GPUS", "gpus_running", HELIO_CELL_COUNT, false},
        {"WAIT", "queued", HELIO_CELL_COUNT, false},
        {"GPUS", "gpus_queued", HELIO_CELL_COUNT, false},
        {"HELD", "held", HELIO_CELL_COUNT, true},
        {"WAITING TENANTS", "who", HELIO_CELL_TEXT, false},
        /* clang-format on */
    };
    return HELIO_COLUMNS(columns, "queue");
}

static helio_columns_t columns_of_running(void)
{
    static const helio_column_t columns[] = {
        /* clang-format off */
        {"GPUS", "gpus", HELIO_CELL_COUNT, false},
        {"ID", "id", HELIO_CELL_ID, false},
        {"NAME", "name", HELIO_CELL_TEXT, false},
        {"TENANT", "tenant", HELIO_CELL_TEXT, false},
        {"SITE", "site", HELIO_CELL_TEXT, false},
        {"STATE", "state", HELIO_CELL_STATE, false},
        {"RAN", "run_seconds", HELIO_CELL_SECONDS, false},
        {"QUEUE", "queue", HELIO_CELL_TEXT, true},
        {"MODEL", "gpu_model", HELIO_CELL_TEXT, true},
        /* clang-format on */
    };
    return HELIO_COLUMNS(columns, "id");
}

/*  Prints at most `most` rows, and how many more exist. roomy: all columns; ids stay short. */
static helio_rc section(const helio_output_t *output, bool roomy, const json_t *rows, size_t most,
                        helio_columns_t columns)
{
    helio_column_t all[COLUMNS_MAX];
    for (size_t i = 0; i < columns.count; i++) {
        all[i] = columns.items[i];
        all[i].wide = all[i].wide && !roomy;
    }
    columns.items = all;
    size_t count = json_array_size(rows), shown = count < most ? count : most;
    HELIO_AUTO(helio_json_clear) json_t *some = json_array();
    for (size_t i = 0; i < shown; i++)
        if (json_array_append(some, json_array_get(rows, i)) != 0)
            abort();
    helio_rc rc = helio_output_rows(output, some, columns);
    if (shown < count)
        fprintf(output->stream, "… and %zu%s more\n", count - shown, count >= ROWS_ASKED ? "+" : "");
    return rc;
}

static void head(const helio_client_t *client, const json_t *snapshot, FILE *out, const char *trouble)
{
    const json_t *totals = json_object_get(snapshot, "totals");
    char now[HELIO_HUMAN_SIZE], money[HELIO_HUMAN_SIZE], mass[HELIO_HUMAN_SIZE];
    helio_human_time(helio_output_string(snapshot, "time"), now);
    helio_human_money(number(totals, "usd_per_h"), money);
    helio_human_mass(number(totals, "carbon_g_per_h"), mass);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
    helio_safe_text(trouble, false, &safe);
    fprintf(out, "helio top  %s  %s\n", now, client->settings->broker);
    fprintf(out, "GPUs %.0f of %.0f in use, %.0f free   jobs %.0f running, %.0f waiting, %.0f held   %s/h",
            number(totals, "gpus_allocated"), number(totals, "gpus_total"), number(totals, "gpus_free"),
            number(totals, "jobs_running"), number(totals, "jobs_queued"), number(totals, "jobs_held"), money);
    if (number(totals, "carbon_g_per_h") > 0)
        fprintf(out, "   %s CO2e/h", mass);
    fprintf(out, "\n%s\n", safe.size ? safe.data : ""); /* in place of a blank line */
}

/*  One line for all of them; empty if none is curtailed. */
static void tell_curtailed(const helio_client_t *client, const json_t *sites, helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    size_t i;
    const json_t *site;
    json_array_foreach(sites, i, site)
    {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t one = {0};
        if (helio_curtailed_tell(client, site, &one))
            helio_buffer_printf(&text, "%s%s", text.size ? "; " : "", one.data);
    }
    helio_safe_text(text.data ? text.data : "", false, out);
}

/*  height 0: unlimited. Six lines are headers and blanks. */
static helio_rc draw(const helio_client_t *client, const json_t *snapshot, helio_screen_size_t size, FILE *out,
                     const char *trouble)
{
    helio_output_t output = client->output;
    HELIO_AUTO(helio_json_clear) json_t *sites = json_deep_copy(json_object_get(snapshot, "sites"));
    const json_t *queues = json_object_get(snapshot, "queues");
    helio_listing_hide_stale_room(sites);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t curtailed = {0};
    tell_curtailed(client, sites, &curtailed);
    size_t heads = curtailed.size ? 10 : 9;
    size_t left = size.height > 12 ? size.height - heads : ROWS_LEAST,
           most = left / 3 > ROWS_LEAST ? left / 3 : ROWS_LEAST;
    if (!size.height)
        left = most = ROWS_ASKED;
    size_t of_sites = json_array_size(sites) < most ? json_array_size(sites) : most;
    size_t of_queues = json_array_size(queues) < most ? json_array_size(queues) : most;
    size_t of_jobs = left > of_sites + of_queues + ROWS_LEAST ? left - of_sites - of_queues : ROWS_LEAST;
    output.stream = out;
    output.format = HELIO_FORMAT_TABLE;
    bool roomy = !size.width || size.width >= ROOMY_COLUMNS;
    head(client, snapshot, out, trouble);
    helio_rc rc = section(&output, roomy, sites, of_sites, columns_of_sites());
    fprintf(out, curtailed.size ? "%s\n\n" : "%s\n", curtailed.size ? curtailed.data : "");
    if (rc == HELIO_OK)
        rc = section(&output, roomy, queues, of_queues, columns_of_queues());
    fputs("\n", out);
    if (json_array_size(json_object_get(snapshot, "running")) >= ROWS_ASKED)
        fprintf(out, "The largest of the newest %d jobs at sites, by GPUs:\n", ROWS_ASKED);
    return rc == HELIO_OK ? section(&output, roomy, json_object_get(snapshot, "running"), of_jobs, columns_of_running())
                          : rc;
}

/*  ---- the command -------------------------------------------------------------------------------------------- */

static int show(helio_client_t *client, helio_screen_t *screen, const json_t *snapshot, const char *trouble)
{
    char *text = NULL;
    size_t bytes;
    FILE *frame = open_memstream(&text, &bytes);
    helio_rc rc = frame ? draw(client, snapshot, helio_screen_size(screen), frame, trouble) : HELIO_IO;
    if (frame && fclose(frame) != 0)
        rc = HELIO_IO;
    if (rc == HELIO_OK)
        rc = helio_screen_show(screen, text);
    free(text);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

/*  While the broker cannot be reached, the last frame stays on the screen. */
static int watch(helio_client_t *client, helio_screen_t *screen, json_t **snapshot)
{
    char trouble[320] = "";
    for (;;) {
        int code = show(client, screen, *snapshot, trouble);
        if (code != HELIO_EXIT_OK)
            return code;
        helio_screen_event_t event = helio_screen_wait(screen, REFRESH_MS);
        if (event != HELIO_SCREEN_REFRESH && event != HELIO_SCREEN_RESIZED)
            return HELIO_EXIT_OK;
        if (event == HELIO_SCREEN_RESIZED)
            continue;
        json_t *next = NULL;
        helio_error_t why = {0};
        code = look(client, &next, &why);
        if (code == HELIO_EXIT_INTERRUPTED)
            return HELIO_EXIT_OK;
        (void)snprintf(trouble, sizeof trouble, "%s%.300s",
                       code == HELIO_EXIT_OK ? "" : "Not up to date: ", code == HELIO_EXIT_OK ? "" : why.text);
        if (code == HELIO_EXIT_OK) {
            json_decref(*snapshot);
            *snapshot = next;
        }
    }
}

int helio_cmd_top(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *snapshot = NULL;
    helio_format_t format = client->output.format;
    if (format != HELIO_FORMAT_TABLE && format != HELIO_FORMAT_WIDE && format != HELIO_FORMAT_JSON)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "`helio top` prints a screen, or json\nhelp: `helio sites`, `helio queues` and "
                                 "`helio ls` print lists in every format");
    int code = look(client, &snapshot, NULL);
    if (code != HELIO_EXIT_OK)
        return code;
    if (format == HELIO_FORMAT_JSON) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_output_json(snapshot, true, &text);
        fprintf(client->io->out, "%s\n", text.data);
        return HELIO_EXIT_OK;
    }
    bool live = client->io->out_tty && client->io->in_tty && !helio_client_has(client, HELIO_OPTION_ONCE);
    helio_screen_t *screen = helio_screen_new(client->io, live);
    code = live ? watch(client, screen, &snapshot) : show(client, screen, snapshot, "");
    helio_screen_destroy(&screen);
    return code;
}
