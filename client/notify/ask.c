/*  ask.c -- one GET as a stream, whose pieces are put together. */
#include "client/notify/ask.h"

#include "client/transport/escape.h"

enum { SILENCE_S = 30, REPLY_MAX = 16 << 20 };

void helio_ask_begin(helio_ask_t *self, const char *before, const char *component, const char *after)
{
    helio_ask_clear(self);
    helio_buffer_text(&self->path, before);
    if (component)
        helio_url_escape(component, &self->path);
    helio_buffer_text(&self->path, after);
}

bool helio_ask_is_begun(const helio_ask_t *self)
{
    return self->path.size > 0;
}

void helio_ask_clear(helio_ask_t *self)
{
    helio_stream_destroy(&self->stream);
    helio_buffer_clear(&self->path);
    helio_buffer_clear(&self->body);
    *self = (helio_ask_t){0};
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    helio_ask_t *self = arg;
    helio_buffer_append(&self->body, bytes, size);
}

/*  Another attempt would be refused as well. */
static bool is_refused(long status)
{
    return status == 400 || status == 403 || status == 404 || status == 409 || status == 410;
}

bool helio_ask_turn(helio_ask_t *self, helio_remote_t *remote, int64_t now_ms, json_t **ret_reply)
{
    if (!helio_ask_is_begun(self))
        return false;
    if (!self->stream) {
        if (now_ms < self->again_ms)
            return false;
        helio_buffer_reset(&self->body);
        self->body.max = REPLY_MAX;
        self->stream = helio_stream_new(remote, &(helio_stream_options_t){.path = self->path.data,
                                                                          .accept = "application/json",
                                                                          .idle_timeout_s = SILENCE_S,
                                                                          .on_data = on_data,
                                                                          .arg = self});
        return false;
    }
    if (!helio_stream_is_over(self->stream))
        return false;
    bool refused = is_refused(helio_stream_status(self->stream));
    json_t *reply = NULL;
    if (helio_stream_is_whole(self->stream) && !self->body.overflow)
        reply = json_loadb(self->body.data ? self->body.data : "", self->body.size, 0, NULL);
    helio_stream_destroy(&self->stream);
    if (!reply && !refused) {
        uint64_t wait_ms = helio_remote_backoff_ms(remote, self->failures++);
        self->again_ms = now_ms + (int64_t)wait_ms;
        return false;
    }
    helio_ask_clear(self);
    *ret_reply = reply;
    return true;
}

int64_t helio_ask_due_ms(const helio_ask_t *self)
{
    if (!helio_ask_is_begun(self))
        return INT64_MAX;
    if (!self->stream)
        return self->again_ms;
    return helio_stream_is_over(self->stream) ? 0 : INT64_MAX;
}
