/*  message.c -- bodies of notifications. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/notify/core/reply.h"
#include "federation/base/clock.h"
#include "federation/base/json.h"

const char *helio_reply_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

helio_rc helio_reply_time(const json_t *object, const char *key, int64_t *ret_wall_ms)
{
    return helio_rfc3339_parse(helio_text_of(helio_reply_text(object, key)), ret_wall_ms);
}

/*  The id is part of what is signed, where a full stop separates. '_' begins an escape, so that no two keys are alike. */
void helio_message_id(const helio_happening_t *self, helio_notify_event_t event, char ret_id[HELIO_MESSAGE_ID_SIZE])
{
    size_t at = (size_t)snprintf(ret_id, HELIO_MESSAGE_ID_SIZE, "%s_", helio_notify_event_name(event));
    for (const char *c = self->key; *c && at + 4 < HELIO_MESSAGE_ID_SIZE; c++) {
        bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '-';
        at += (size_t)snprintf(ret_id + at, HELIO_MESSAGE_ID_SIZE - at, plain ? "%c" : "_%02x", (unsigned char)*c);
    }
}

static void put_object(helio_json_writer_t *json, const char *name, const json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_PRESERVE_ORDER);
    if (!text)
        abort();
    helio_json_put_raw(json, name, helio_text_of(text));
    free(text);
}

void helio_message_write(const helio_happening_t *self, helio_notify_event_t event, const char *id, helio_buffer_t *out)
{
    helio_json_writer_t json = helio_json_into(out);
    helio_json_begin_object(&json, NULL);
    helio_json_put_string(&json, "id", id);
    helio_json_put_string(&json, "event", helio_notify_event_name(event));
    helio_json_put_time(&json, "at", self->at_wall_ms);
    helio_json_put_string(&json, "text", self->text);
    if (self->job)
        put_object(&json, "job", self->job);
    if (self->more)
        put_object(&json, self->job ? "deadline" : "budget", self->more);
    helio_json_end(&json);
}

/*  Slack reads <!channel> and links in a text. These three characters are all that it takes escaped. */
static void put_for_slack(const char *text, helio_buffer_t *out)
{
    for (const char *c = text; *c; c++) {
        const char *escaped = *c == '&' ? "&amp;" : *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : NULL;
        helio_buffer_append(out, escaped ? escaped : c, escaped ? strlen(escaped) : 1);
    }
}

void helio_message_format(helio_text_t message, helio_notify_format_t format, helio_buffer_t *out)
{
    if (format == HELIO_NOTIFY_JSON) {
        helio_buffer_append(out, message.data, message.size);
        return;
    }
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    json_t *parsed = json_loadb(message.data, message.size, 0, NULL);
    helio_json_writer_t json = helio_json_into(out);
    helio_json_begin_object(&json, NULL);
    put_for_slack(helio_reply_text(parsed, "text"), &text);
    helio_json_put_text(&json, "text", helio_buffer_view(&text));
    helio_json_end(&json);
    json_decref(parsed);
}
