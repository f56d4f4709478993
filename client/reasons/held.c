/*  held.c -- reads from the history of a held job how its attempts ended at each site. */
#include "client/reasons/held.h"

#include <string.h>

#include "client/output/output.h"
#include "client/reasons/reply_details.h"
#include "federation/reason/codes.h"

static bool is_state(const json_t *entry, const char *key, const char *state)
{
    return strcmp(helio_output_string(entry, key), state) == 0;
}

bool helio_is_held(const json_t *reply)
{
    return is_state(reply, "state", "held");
}

/*  Without the name of the site, which the row has, and without what the state says already. The caller owns it. */
static json_t *rest_of(const json_t *details)
{
    json_t *rest = json_array(), *detail;
    size_t i;
    json_array_foreach(details, i, detail)
    {
        helio_detail_code_t code = helio_detail_code_of(helio_text_of(helio_output_string(detail, "code")));
        if (code == HELIO_DETAIL_HELD_AFTER_FAILURES || code == HELIO_DETAIL_HELD_AFTER_LOSSES)
            continue;
        json_t *own = json_deep_copy(detail);
        (void)json_object_del(json_object_get(own, "params"), "site");
        (void)json_array_append_new(rest, own);
    }
    return rest;
}

static void put_end(const json_t *entry, helio_buffer_t *out)
{
    json_t *rest = rest_of(json_object_get(entry, "details"));
    size_t before = out->size;
    helio_reply_sentences(rest, out);
    json_decref(rest);
    if (out->size == before)
        helio_buffer_text(out, helio_output_string(entry, "reason"));
}

void helio_held_cause(const json_t *job, helio_buffer_t *out)
{
    put_end(job, out);
}

bool helio_is_held_by_people(const json_t *object)
{
    return helio_reply_has_detail(object, HELIO_DETAIL_HELD_BY_USER) ||
           helio_reply_has_detail(object, HELIO_DETAIL_HELD_BY_OPERATOR);
}

void helio_held_attempts(const json_t *reply, const char *site, helio_buffer_t *out)
{
    const char *placed = ""; /* only the entry of a placement names the site in every case */
    const json_t *last = NULL;
    size_t i, attempts = 0;
    bool by_people = false;
    json_t *entry;
    json_array_foreach(json_object_get(reply, "history"), i, entry)
    {
        const json_t *at = helio_reply_param(json_object_get(entry, "details"), "site");
        bool ends = is_state(entry, "to", "queued") || is_state(entry, "to", "held");
        if (is_state(entry, "to", "offered"))
            placed = json_is_string(at) ? json_string_value(at) : "";
        else if (is_state(entry, "from",
                          "held")) /* released: what ended before no longer counts, unless people held it */
            attempts = by_people ? attempts : 0;
        else if (ends && placed[0] && strcmp(placed, site) == 0) {
            attempts++;
            last = entry;
        }
        by_people = is_state(entry, "to", "held") && helio_is_held_by_people(entry);
        if (ends)
            placed = "";
    }
    if (!attempts)
        return;
    if (attempts > 1)
        helio_buffer_printf(out, "%zu attempts here ended, the last: ", attempts);
    else
        helio_buffer_text(out, "its attempt here ended: ");
    put_end(last, out);
}
