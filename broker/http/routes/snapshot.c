/*  snapshot.c -- /v1/snapshot: the live state, for a rehearsal. */
#include <assert.h>

#include "broker/http/request/request_context.h"
#include "broker/http/routes/routes.h"
#include "broker/snapshot/snapshot.h"
#include "federation/base/clock.h"

/*  One that is still being sent after this time keeps no other out: its client has stopped reading. */
enum { SENT_WITHIN_MS = 60000 };

static void refuse(helio_request_context_t *self)
{
    helio_response_problem(self, 503, "Busy", HELIO_DETAIL0(HELIO_DETAIL_SNAPSHOT_UNDER_WAY));
}

/*  A snapshot has tens of megabytes, from its reading until it is sent: one at a time, whoever asks. */
static bool take_place(helio_request_context_t *self)
{
    int64_t now_ms = helio_clock_boot_ms(), since_ms = atomic_load(&self->http->snapshot_since_ms);
    bool free_ = !since_ms || now_ms - since_ms >= SENT_WITHIN_MS;
    if (!free_ || !atomic_compare_exchange_strong(&self->http->snapshot_since_ms, &since_ms, now_ms)) {
        refuse(self);
        return false;
    }
    self->snapshot_since_ms = now_ms;
    return true;
}

static void on_read(helio_request_context_t *self, const helio_result_t *result)
{
    if (result->rc != HELIO_OK)
        helio_request_context_leave_snapshot(self); /* before its caller has the answer, and asks again */
    if (result->rc == HELIO_BUSY) {                 /* the database still works on one whose caller has gone */
        refuse(self);
        return;
    }
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
    if (!helio_request_context_number(self, "hours", past_hours, &hours) || !take_place(self))
        return;
    if (!helio_request_context_query(self, "hours")) {
        helio_await_read(self, on_read, HELIO_READ_SNAPSHOT, 0, NULL);
        return;
    }
    const char *text = helio_arena_printf(self->arena, "%u", (unsigned)hours).data;
    helio_await_read(self, on_read, HELIO_READ_SNAPSHOT, 1, &text);
}
