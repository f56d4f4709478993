/*  start_estimate.c -- prints the start estimate of a reply, the jobs ahead, and its hints. */
#include "client/reasons/start_estimate.h"

#include <string.h>

#include "client/output/humanise.h"
#include "client/output/instant.h"
#include "client/reasons/reply_details.h"
#include "federation/reason/codes.h"

void helio_print_line(const helio_client_t *client, const char *title, const char *text)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0}, told = {0};
    helio_instants_in(client->output.zone, client->output.wall_ms, text, &told);
    helio_safe_text(told.data ? told.data : "", false, &safe);
    fprintf(client->io->out, "%-16s  %s\n", title, safe.data ? safe.data : "");
}

static long long whole(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

/*  Without a latest time: what it rests on says more than "now at the earliest", and names a later time itself. */
static bool says_all(const json_t *expected)
{
    const char *earliest = helio_output_string(expected, "earliest"), *at = helio_output_string(expected, "at");
    return helio_output_string(expected, "basis")[0] &&
           (strcmp(earliest, at) <= 0 || helio_reply_has_detail(expected, HELIO_DETAIL_BEGIN_TIME));
}

static void print_expected(const helio_client_t *client, const json_t *expected)
{
    char earliest[HELIO_HUMAN_SIZE], latest[HELIO_HUMAN_SIZE];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_human_time(helio_output_string(expected, "earliest"), earliest);
    helio_human_time(helio_output_string(expected, "latest"), latest);
    const char *basis = helio_output_string(expected, "basis");
    if (!earliest[0])
        helio_buffer_text(&text, "unknown");
    else if (!latest[0] && !says_all(expected))
        helio_buffer_printf(&text, "%s at the earliest", earliest);
    else if (latest[0] && strcmp(earliest, latest) == 0)
        helio_buffer_printf(&text, "%s", earliest);
    else if (latest[0])
        helio_buffer_printf(&text, "%s to %s", earliest, latest);
    if (basis[0])
        helio_buffer_printf(&text, "%s%s", text.size ? ": " : "", basis);
    helio_print_line(client, "Expected start", text.data);
}

static void amount(helio_buffer_t *out, const json_t *object)
{
    long long jobs = whole(object, "jobs"), gpus = whole(object, "gpus");
    helio_buffer_printf(out, "%lld job%s", jobs, jobs == 1 ? "" : "s");
    if (gpus)
        helio_buffer_printf(out, " (%lld GPU%s)", gpus, gpus == 1 ? "" : "s");
}

static void print_ahead(const helio_client_t *client, const json_t *ahead)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    double shown = 0, all = helio_output_number(ahead, "jobs", 0); /* no sum of doubles overflows */
    size_t i;
    json_t *row;
    if (all == 0)
        return;
    amount(&text, ahead);
    json_array_foreach(json_object_get(ahead, "first"), i, row)
    {
        const char *tenant = helio_output_string(row, "tenant");
        bool sole = all == helio_output_number(row, "jobs", 0); /* else its figures differ from those of all */
        helio_buffer_text(&text, sole ? ": " : i ? ", then " : ": first ");
        if (!sole)
            amount(&text, row);
        helio_buffer_printf(&text, sole ? "%.32s, queue %.32s" : " of %.32s in queue %.32s",
                            tenant[0] ? tenant : "another tenant", helio_output_string(row, "queue"));
        shown += helio_output_number(row, "jobs", 0);
    }
    if (shown > 0 && shown < all)
        helio_buffer_printf(&text, ", and %.0f more", all - shown);
    helio_print_line(client, "Jobs ahead", text.data);
}

/*  Hints that `helio edit` can carry out: the option, and the parameter that holds its value. A hint without a
 *  parameter removes a limit. */
static const struct {
    const char *kind, *option, *param, *unit;
} edits[] = {
    {"flexible", "flexible", NULL, ""},
    {"deadline", "deadline", NULL, ""},
    {"max_cost", "max-cost", "max_cost_usd", " USD"},
    {"max_carbon", "max-carbon", "max_carbon_g_per_kwh", " g/kWh"},
    {"queue", "queue", "queue", ""},
    {"priority", "priority", "priority", ""},
};

/*  Money to the cent, whole numbers and names as they are. False = the hint does not give the value. */
static bool edit_value(const json_t *hint, size_t edit, char ret_value[64])
{
    const char *param = edits[edit].param, *unit = edits[edit].unit;
    const json_t *value = param ? helio_reply_param(helio_output_find(hint, "change_details|details"), param) : NULL;
    if (!param)
        (void)snprintf(ret_value, 64, "none");
    else if (json_is_string(value))
        (void)snprintf(ret_value, 64, "%.40s%s", json_string_value(value), unit);
    else if (json_is_number(value))
        (void)snprintf(ret_value, 64, "%.*f%s", strcmp(unit, " USD") == 0 ? 2 : 0, json_number_value(value), unit);
    return !param || json_is_string(value) || json_is_number(value);
}

/*  The same change as a command, if a waiting job can be edited so. */
static void print_edit(const json_t *hint, const char *id, helio_buffer_t *out)
{
    char value[64], short_id[HELIO_HUMAN_SIZE];
    for (size_t i = 0; id[0] && i < sizeof edits / sizeof edits[0]; i++) {
        if (strcmp(helio_output_string(hint, "kind"), edits[i].kind) != 0 || !edit_value(hint, i, value))
            continue;
        const char *quote = strchr(value, ' ') ? "'" : "";
        helio_short_id(id, short_id);
        helio_buffer_printf(out, " (`helio edit %s --%s %s%s%s`)", short_id, edits[i].option, quote, value, quote);
    }
}

/*  Details after which no wait helps. */
static const helio_detail_code_t never[] = {HELIO_DETAIL_QUOTA_TOO_SMALL, HELIO_DETAIL_BUDGET_TOO_SMALL,
                                            HELIO_DETAIL_BUDGET_LIMIT_TOO_LONG};

const char *helio_hint_title(const json_t *reply)
{
    const char *reason = helio_output_string(reply, "reason");
    bool cannot = strcmp(reason, helio_reason_name(HELIO_REASON_NEVER_FITS)) == 0 ||
                  strcmp(reason, helio_rejection_name(HELIO_REJECTION_DEADLINE)) == 0;
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
        cannot = cannot || helio_reply_has_detail(reply, never[i]);
    return cannot ? "To make it run" : "To start sooner";
}

void helio_print_silence(const helio_client_t *client, const json_t *reply)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_reply_sentences(json_object_get(reply, "silence_details"), &text);
    if (text.size)
        helio_print_line(client, "Note", text.data);
}

bool helio_start_estimate_print(const helio_client_t *client, const json_t *reply, const char *id)
{
    const json_t *expected = json_object_get(reply, "expected"), *ahead = json_object_get(reply, "ahead");
    size_t i;
    json_t *hint;
    if (json_is_object(expected))
        print_expected(client, expected);
    if (json_is_object(ahead))
        print_ahead(client, ahead);
    json_array_foreach(json_object_get(reply, "hints"), i, hint)
    {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        const char *effect = helio_output_string(hint, "effect");
        helio_buffer_printf(&text, "%s%s%s", helio_output_string(hint, "change"), effect[0] ? ": " : "", effect);
        print_edit(hint, id, &text);
        helio_print_line(client, i ? "" : helio_hint_title(reply), text.data);
    }
    return json_array_size(json_object_get(reply, "hints")) > 0;
}
