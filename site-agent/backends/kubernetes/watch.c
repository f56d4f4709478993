/*  watch.c -- lines of a watch. */
#include <string.h>

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/watch.h"

static const char *const words[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK"};

static helio_rc read_event(const json_t *line, helio_kube_event_t *ret_event)
{
    helio_text_t type = helio_kube_text(json_object_get(line, "type"));
    uint32_t place;
    *ret_event = (helio_kube_event_t){.object = json_object_get(line, "object")};
    if (!json_is_object(ret_event->object))
        return HELIO_INVALID;
    if (helio_text_is(type, "ERROR")) {
        json_int_t code = json_integer_value(json_object_get(ret_event->object, "code"));
        ret_event->change = code == 410 ? HELIO_KUBE_STALE : HELIO_KUBE_TROUBLE;
        return HELIO_OK;
    }
    if (helio_text_among(type, words, sizeof words / sizeof words[0], &place))
        return HELIO_INVALID;
    ret_event->change = (helio_kube_change_t)place;
    ret_event->version = helio_kube_text(HELIO_KUBE_AT(ret_event->object, "metadata", "resourceVersion"));
    return ret_event->version.size ? HELIO_OK : HELIO_INVALID;
}

static helio_rc take_line(helio_text_t text, helio_kube_event_fn *each, void *arg, helio_error_t *err)
{
    helio_kube_event_t event;
    json_t *line = json_loadb(text.data ? text.data : "", text.size, JSON_REJECT_DUPLICATES, NULL);
    helio_rc rc = line ? read_event(line, &event) : HELIO_INVALID;
    if (rc == HELIO_OK)
        each(arg, &event);
    else
        (void)helio_fail(err, rc, "a line of a watch is not an event: %.60s", text.data ? text.data : "");
    json_decref(line);
    return rc;
}

helio_rc helio_kube_stream_take(helio_kube_stream_t *self, helio_text_t piece, helio_kube_event_fn *each, void *arg,
                                helio_error_t *err)
{
    self->line.max = HELIO_KUBE_LINE_MAX;
    while (piece.size) {
        const char *end = memchr(piece.data, '\n', piece.size);
        uint32_t size = end ? (uint32_t)(end - piece.data) : piece.size, used = end ? size + 1 : size;
        helio_buffer_append(&self->line, piece.data, size);
        piece = (helio_text_t){piece.data + used, piece.size - used};
        if (self->line.overflow)
            return helio_fail(err, HELIO_TOO_BIG, "a watch has a line of more than %d bytes", HELIO_KUBE_LINE_MAX);
        if (!end)
            return HELIO_OK;
        helio_rc rc = self->line.size ? take_line(helio_buffer_view(&self->line), each, arg, err) : HELIO_OK;
        helio_buffer_reset(&self->line);
        if (rc)
            return rc;
    }
    return HELIO_OK;
}

void helio_kube_stream_clear(helio_kube_stream_t *self)
{
    helio_buffer_clear(&self->line);
}
