/*  snapshot.c -- /v1/snapshot: the live state, for a rehearsal. */
#include <assert.h>

#include "broker/http/request/request_context.h"
#include "broker/http/routes/routes.h"
#include "broker/snapshot/snapshot.h"

static void on_read(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK) {
        helio_response_failure(self, result, NULL);
        return;
    }
    const helio_broker_options_t *core = &self->http->ports.core;
    const helio_snapshot_options_t options = {.release = HELIO_TEXT(HELIO_PROGRAM_VERSION),
                                              .lease_ms = core->lease_ms,
                                              .renew_ms = core->renew_ms,
                                              .silent_after_ms = core->silent_after_ms,
                                              .offers_unanswered_max = core->offers_unanswered_max};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    helio_error_t err = {0};
    helio_buffer_append(&bytes, result->data.data, result->data.size);
    helio_rc rc = helio_snapshot_add(HELIO_SNAPSHOT_OPTIONS, &options, &bytes, &err);
    assert(rc == HELIO_OK);
    (void)rc;
    helio_response_bytes(self, 200, "application/octet-stream", helio_buffer_view(&bytes));
}

static const helio_query_bounds_t past_hours = {1, 31 * 24, 1};

void helio_snapshot_show(helio_request_context_t *self)
{
    uint64_t hours;
    if (!helio_request_context_number(self, "hours", past_hours, &hours))
        return;
    if (!helio_request_context_query(self, "hours")) {
        helio_await_read(self, on_read, HELIO_READ_SNAPSHOT, 0, NULL);
        return;
    }
    const char *text = helio_arena_printf(self->arena, "%u", (unsigned)hours).data;
    helio_await_read(self, on_read, HELIO_READ_SNAPSHOT, 1, &text);
}
