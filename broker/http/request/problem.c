/*  problem.c -- the tables of status codes, and the JSON of errors. */
#include "broker/http/request/problem.h"

#include <string.h>

#include "federation/base/json.h"
#include "federation/reason/detail_json.h"
#include "federation/reason/sentence.h"

static const struct {
    uint32_t status;
    const char *title;
    const char *reason;
} statuses[HELIO_STATUS_COUNT] = {
#define X(status, title, reason) {status, title, reason},
    HELIO_STATUS_TABLE(X)
#undef X
};

uint32_t helio_status_of_rc(helio_rc rc)
{
    switch (rc) {
    case HELIO_OK:
        return 200;
    case HELIO_INVALID:
        return 400;
    case HELIO_FORBIDDEN:
        return 403;
    case HELIO_NOT_FOUND:
        return 404;
    case HELIO_CONFLICT:
        return 409;
    case HELIO_TOO_BIG:
        return 413;
    case HELIO_INFEASIBLE:
        return 422;
    case HELIO_BUSY:
        return 429;
    case HELIO_UNAVAILABLE:
    case HELIO_FENCED: /* another broker leads now: the caller can try again there */
    case HELIO_IO:
        return 503;
    case HELIO_TIMEOUT:
        return 504;
    case HELIO_PROTOCOL:
    case HELIO_VERSION:
    default:
        return 500;
    }
}

uint32_t helio_status_index(uint32_t status)
{
    for (uint32_t i = 0; i < HELIO_STATUS_COUNT; i++)
        if (statuses[i].status == status)
            return i;
    return HELIO_STATUS_INDEX_500;
}

uint32_t helio_status_at(uint32_t index)
{
    return statuses[index].status;
}

const char *helio_status_title(uint32_t status)
{
    return statuses[helio_status_index(status)].title;
}

const char *helio_status_reason(uint32_t status)
{
    return statuses[helio_status_index(status)].reason;
}

uint32_t helio_status_retry_after_s(uint32_t status)
{
    return status == 429 ? 1 : status == 503 ? 2 : 0;
}

uint32_t helio_problem_retry_after_s(uint32_t status, const helio_details_t *details)
{
    uint32_t retry_after_s = helio_status_retry_after_s(status);
    const helio_detail_t *first = details->items.count ? &details->items.items[0] : NULL;
    const helio_detail_entry_t *entry = first && retry_after_s ? helio_detail_entry(first->code) : NULL;
    for (uint32_t i = 0; entry && i < entry->param_count; i++) {
        int64_t wait_ms = helio_detail_value(first, i).number;
        if (strcmp(entry->params[i].name, "wait_s") == 0 && wait_ms > 0 && wait_ms < INT32_MAX)
            retry_after_s = (uint32_t)((wait_ms + 999) / 1000);
    }
    return retry_after_s;
}

/*  Begins the object; the caller ends it. */
static helio_json_writer_t begin(uint32_t status, const char *reason, const char *detail, helio_buffer_t *out)
{
    helio_json_writer_t json = helio_json_into(out);
    helio_json_begin_object(&json, NULL);
    helio_json_put_string(&json, "type", "about:blank");
    helio_json_put_string(&json, "title", helio_status_title(status));
    helio_json_put_u64(&json, "status", status);
    helio_json_put_string(&json, "reason", reason && *reason ? reason : helio_status_reason(status));
    helio_json_put_string(&json, "detail", detail && *detail ? detail : helio_status_title(status));
    return json;
}

static void end(helio_json_writer_t *json)
{
    helio_json_end(json);
    helio_buffer_text(json->out, "\n");
}

void helio_problem_of_details(uint32_t status, const char *reason, const helio_details_t *details, helio_text_t object,
                              helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_sentences(details, &text);
    helio_json_writer_t json = begin(status, reason, text.data, out);
    helio_details_write(&json, "details", details);
    if (object.size)
        helio_json_put_members(&json, object);
    end(&json);
}

/*  One InputInvalid for each error, as far as they fit. */
static void put_details(const helio_diagnostics_t *wrong, helio_json_writer_t *json)
{
    helio_arena_t *arena = helio_arena_new();
    helio_details_t details = {0};
    for (uint32_t i = 0; i < wrong->count; i++)
        helio_details_add(
            &details, arena,
            HELIO_DETAIL(arena, HELIO_DETAIL_INPUT_INVALID, helio_value_string(wrong->items[i].path),
                         helio_value_string(wrong->items[i].message), helio_value_string(wrong->items[i].hint)));
    helio_details_write(json, "details", &details);
    helio_arena_destroy(&arena);
}

static void put_diagnostic(const helio_diagnostic_t *diagnostic, helio_json_writer_t *json)
{
    helio_json_put_string(json, "code", helio_spec_problem_name(diagnostic->problem));
    if (diagnostic->line) {
        helio_json_put_u64(json, "line", diagnostic->line);
        helio_json_put_u64(json, "column", diagnostic->column);
    }
    if (diagnostic->path[0])
        helio_json_put_string(json, "path", diagnostic->path);
    if (diagnostic->hint[0])
        helio_json_put_string(json, "hint", diagnostic->hint);
}

void helio_problem_of_diagnostics(uint32_t status, const helio_diagnostics_t *wrong, int document, helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_diagnostic_brief(&wrong->items[0], &text);
    helio_json_writer_t json = begin(status, status == 413 ? "TooBig" : "Invalid", text.data, out);
    put_details(wrong, &json);
    if (document >= 0)
        helio_json_put_i64(&json, "document", document);
    put_diagnostic(&wrong->items[0], &json);
    helio_json_begin_array(&json, "errors");
    for (uint32_t i = 0; i < wrong->count; i++) {
        helio_json_begin_object(&json, NULL);
        helio_json_put_string(&json, "message", wrong->items[i].message);
        put_diagnostic(&wrong->items[i], &json);
        helio_json_end(&json);
    }
    helio_json_end(&json);
    helio_buffer_reset(&text);
    helio_diagnostics_text(wrong, false, &text);
    helio_json_put_text(&json, "diagnostic", helio_buffer_view(&text));
    end(&json);
}
