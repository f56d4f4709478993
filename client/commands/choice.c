/*  choice.c -- asks for the jobs that options choose, page by page. */
#include "client/commands/choice.h"

#include <stdlib.h>
#include <string.h>

#include "client/commands/listing.h"
#include "client/slurm/times.h"
#include "client/transport/escape.h"
#include "federation/base/clock.h"
#include "federation/base/suggest.h"
#include "federation/model/label.h"

enum { PAGE_ROWS = 1000 };

static const struct {
    uint32_t option;
    const char *key;
} texts[] = {{HELIO_OPTION_STATE, "state"},   {HELIO_OPTION_QUEUE, "queue"}, {HELIO_OPTION_NAME, "name"},
             {HELIO_OPTION_TENANT, "tenant"}, {HELIO_OPTION_USER, "user"},   {HELIO_OPTION_SITE, "site"}};

static const uint32_t others[] = {HELIO_OPTION_MINE, HELIO_OPTION_SINCE, HELIO_OPTION_UNTIL, HELIO_OPTION_LABEL};

bool helio_choice_is_made(const helio_client_t *client)
{
    bool made = false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        made = made || helio_client_has(client, texts[i].option);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        made = made || helio_client_has(client, others[i]);
    return made;
}

static void add(helio_buffer_t *query, const char *key, const char *value)
{
    helio_buffer_printf(query, "&%s=", key);
    helio_url_escape(value, query);
}

/*  "24h", or what Slurm's commands take. */
static bool add_time(const helio_client_t *client, uint32_t option, helio_buffer_t *query)
{
    const char *word = helio_client_value(client, option), *name = helio_client_options.items[option].name;
    int64_t now_ms = client->output.wall_ms ? client->output.wall_ms : helio_clock_wall_ms(), at_ms;
    char text[HELIO_RFC3339_SIZE];
    uint64_t ago_ms;
    if (!word)
        return true;
    if (helio_client_is_duration(word, &ago_ms) && ago_ms < (uint64_t)now_ms) {
        at_ms = now_ms - (int64_t)ago_ms;
    } else if (helio_rfc3339_parse(helio_text_of(word), &at_ms) != HELIO_OK &&
               !helio_slurm_time(word, client->output.zone, now_ms, &at_ms)) {
        (void)helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "--%s: '%.64s' is no time\nhelp: write 2026-11-22, 2026-11-22T07:00, today, or 24h or 7d for so long ago",
            name, word);
        return false;
    }
    helio_rfc3339(at_ms, text);
    add(query, name, text);
    return true;
}

static bool add_labels(const helio_client_t *client, helio_buffer_t *query)
{
    const helio_option_values_t *given = &client->arguments->values[HELIO_OPTION_LABEL];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t list = {0};
    for (uint32_t i = 0; i < given->count; i++) {
        helio_text_t key, value;
        if (!helio_label_split(helio_text_of(given->items[i]), true, &key, &value)) {
            (void)helio_client_fail(
                client, HELIO_EXIT_USAGE,
                "--label: '%.64s' is not a label\nhelp: write KEY or KEY=VALUE, each of at most 63 letters, digits, "
                "'.', '_' and '-' that begin and end with a letter or digit",
                given->items[i]);
            return false;
        }
        helio_buffer_printf(&list, "%s%s", i ? "," : "", given->items[i]);
    }
    if (given->count)
        add(query, "label", list.data);
    return true;
}

bool helio_choice_query(const helio_client_t *client, helio_buffer_t *out)
{
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (helio_client_value(client, texts[i].option))
            add(out, texts[i].key, helio_client_value(client, texts[i].option));
    if (helio_client_has(client, HELIO_OPTION_MINE)) {
        if (helio_client_has(client, HELIO_OPTION_USER)) {
            (void)helio_client_fail(client, HELIO_EXIT_USAGE,
                                    "--mine and --user contradict one another: use one of them");
            return false;
        }
        helio_buffer_text(out, "&mine=true");
    }
    return add_time(client, HELIO_OPTION_SINCE, out) && add_time(client, HELIO_OPTION_UNTIL, out) &&
           add_labels(client, out);
}

/*  Appends one page; *cursor becomes the cursor of the next page, or is emptied. A page may be empty and have a next one. */
static int ask_page(helio_client_t *client, const char *query, uint64_t limit, helio_buffer_t *cursor, json_t *rows,
                    json_t **ret_reply)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path, "/v1/jobs?limit=%llu%s", (unsigned long long)limit, query);
    if (cursor->size)
        add(&path, "cursor", cursor->data);
    json_t *list;
    json_decref(*ret_reply);
    *ret_reply = NULL;
    int code = helio_listing_ask(client, path.data, "jobs", ret_reply, &list);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *next = helio_output_string(*ret_reply, "next");
    bool stuck = cursor->size && strcmp(cursor->data, next) == 0;
    if (json_array_extend(rows, list) != 0)
        abort();
    helio_buffer_reset(cursor);
    if (!stuck)
        helio_buffer_text(cursor, next);
    return HELIO_EXIT_OK;
}

int helio_choice_ask(helio_client_t *client, const char *query, uint64_t limit, json_t *rows, bool *ret_more,
                     json_t **ret_reply)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t cursor = {0};
    *ret_more = false;
    *ret_reply = NULL;
    do {
        uint64_t left = limit - json_array_size(rows);
        int code = ask_page(client, query, left < PAGE_ROWS ? left : PAGE_ROWS, &cursor, rows, ret_reply);
        if (code != HELIO_EXIT_OK)
            return code;
    } while (cursor.size && json_array_size(rows) < limit && !helio_client_interrupts(client->io));
    *ret_more = cursor.size > 0;
    return HELIO_EXIT_OK;
}

/* ---- names -------------------------------------------------------------------------------------------------- */

/*  names: objects with the name under `key`, or texts if key is NULL. */
static void note_name(const helio_client_t *client, const char *what, const char *name, const json_t *names,
                      const char *key, const char *command)
{
    helio_suggestion_t near = {.written = helio_text_of(name)};
    const json_t *one;
    size_t i;
    json_array_foreach(names, i, one)
    {
        const char *known = key ? helio_output_string(one, key) : json_string_value(one);
        if (known && strcmp(known, name) == 0)
            return;
        helio_suggestion_offer(&near, known ? known : "");
    }
    helio_client_say(client, "note: unknown %s '%.64s'%s%.64s%s%s%s%s%s", what, name,
                     near.best ? " (did you mean '" : "", near.best ? near.best : "", near.best ? "'?)" : "",
                     command ? "; `helio " : "", command ? command : "", command ? "` lists the " : "",
                     command ? command : "");
}

static void note_listed(const helio_client_t *client, uint32_t option, const char *path, const char *list,
                        const char *what)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    const char *name = helio_client_value(client, option);
    json_t *known;
    if (name && helio_listing_ask(client, path, list, &reply, &known) == HELIO_EXIT_OK)
        note_name(client, what, name, known, what, list);
}

void helio_choice_note_names(const helio_client_t *client, const json_t *reply)
{
    const json_t *users = json_object_get(reply, "users");
    note_listed(client, HELIO_OPTION_QUEUE, "/v1/queues", "queues", "queue");
    note_listed(client, HELIO_OPTION_SITE, "/v1/sites", "sites", "site");
    if (json_is_array(users) && helio_client_value(client, HELIO_OPTION_USER))
        note_name(client, "user", helio_client_value(client, HELIO_OPTION_USER), users, NULL, NULL);
}
