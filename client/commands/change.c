/*  change.c -- adds members to the JSON object of a change, and sends it. */
#include "client/commands/change.h"

#include <stdlib.h>

static const char *name_of(uint32_t option)
{
    return helio_client_options.items[option].name;
}

/*  Takes ownership of the value. It is NULL when json_string found text that is not UTF-8. */
static bool put(json_t *body, const char *key, json_t *value)
{
    return json_object_set_new(body, key, value) == 0;
}

bool helio_change_text(const helio_client_t *client, uint32_t option, const char *key, json_t *body)
{
    const char *value = helio_client_value(client, option);
    if (!value || put(body, key, json_string(value)))
        return true;
    (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--%s is not UTF-8", name_of(option));
    return false;
}

bool helio_change_name(const helio_client_t *client, const char *word, const char *what, const char *key, json_t *body)
{
    if (put(body, key, json_string(word)))
        return true;
    (void)helio_client_fail(client, HELIO_EXIT_USAGE, "%s is not UTF-8", what);
    return false;
}

bool helio_change_texts(const helio_client_t *client, uint32_t option, const char *key, json_t *body)
{
    const helio_option_values_t *given = &client->arguments->values[option];
    json_t *list = json_array();
    for (uint32_t i = 0; i < given->count; i++)
        if (json_array_append_new(list, json_string(given->items[i])) != 0) {
            json_decref(list);
            (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--%s is not UTF-8", name_of(option));
            return false;
        }
    if (!given->count)
        json_decref(list);
    return !given->count || put(body, key, list);
}

static bool put_whole(json_t *body, const char *key, uint64_t number)
{
    return put(body, key, json_integer((json_int_t)(number & INT64_MAX)));
}

bool helio_change_whole(const helio_client_t *client, uint32_t option, const char *key, json_t *body)
{
    uint64_t number;
    if (!helio_client_has(client, option))
        return true;
    return helio_client_number(client, option, 0, &number) && put_whole(body, key, number);
}

bool helio_change_seconds(const helio_client_t *client, uint32_t option, const char *key, json_t *body)
{
    uint64_t ms;
    if (!helio_client_has(client, option))
        return true;
    return helio_client_duration(client, option, 0, &ms) && put_whole(body, key, (ms + 999) / 1000);
}

static bool is_number(const char *text, double *ret_number)
{
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end)
        return false;
    *ret_number = number;
    return true;
}

bool helio_change_number(const helio_client_t *client, uint32_t option, const char *key, json_t *body)
{
    double number = 0;
    const char *value = helio_client_value(client, option);
    if (!value)
        return true;
    if (is_number(value, &number) && number >= 0 && number <= 1e9)
        return put(body, key, json_real(number));
    (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--%s: '%.64s' is not a number", name_of(option), value);
    return false;
}

bool helio_change_weight(const helio_client_t *client, json_t *body)
{
    double weight = 0;
    const char *value = helio_client_value(client, HELIO_OPTION_WEIGHT);
    if (!value)
        return true;
    if (is_number(value, &weight) && weight > 0 && weight <= 1000)
        return put(body, "weight", json_real(weight));
    (void)helio_client_fail(client, HELIO_EXIT_USAGE, "--weight: must be above 0 and at most 1000, not '%.64s'", value);
    return false;
}

/* ---- sending ------------------------------------------------------------------------------------------- */

static int ask(const helio_client_t *client, const char *method, const char *path, const json_t *body,
               json_t **ret_reply)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    if (body)
        helio_output_json(body, false, &text);
    return helio_ask(client, &(helio_request_t){.method = method, .path = path, .body = helio_buffer_view(&text)},
                     ret_reply);
}

int helio_change_send(const helio_client_t *client, const char *method, const char *path, const json_t *body,
                      const char *what)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    int code = ask(client, method, path, body, &reply);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s: %s", what, helio_output_string(reply, "status"));
    return code;
}

int helio_change_remove(const helio_client_t *client, const char *path, const char *name)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    int code = ask(client, "DELETE", path, NULL, &reply);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "removed %s", name);
    return code;
}
