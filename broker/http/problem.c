#include "broker/http/problem.h"

#include "federation/base/utf8.h"

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
    case HELIO_FENCED: /* another broker leads now: try again, there */
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

void helio_json_string(helio_text_t text, helio_buffer_t *out)
{
    helio_buffer_text(out, "\"");
    for (uint32_t i = 0; i < text.size;) {
        const unsigned char *at = (const unsigned char *)text.data + i;
        uint32_t size = (uint32_t)helio_utf8_sequence(at, text.size - i);
        if (size == 0) {
            helio_buffer_text(out, "\\ufffd");
            size = 1;
        } else if (*at == '"' || *at == '\\') {
            helio_buffer_printf(out, "\\%c", *at);
        } else if (*at == '\n') {
            helio_buffer_text(out, "\\n");
        } else if (*at < 0x20 || *at == 0x7f) {
            helio_buffer_printf(out, "\\u%04x", *at);
        } else {
            helio_buffer_append(out, at, size);
        }
        i += size;
    }
    helio_buffer_text(out, "\"");
}

void helio_json_member(helio_buffer_t *out, const char *name, const char *value)
{
    helio_buffer_printf(out, ",\"%s\":", name);
    helio_json_string(helio_text_of(value), out);
}

static void head(uint32_t status, const char *reason, const char *detail, helio_buffer_t *out)
{
    helio_buffer_printf(out, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%u",
                        helio_status_title(status), status);
    helio_json_member(out, "reason", reason && *reason ? reason : helio_status_reason(status));
    helio_json_member(out, "detail", detail && *detail ? detail : helio_status_title(status));
}

void helio_problem_json(uint32_t status, const char *reason, const char *detail, helio_buffer_t *out)
{
    head(status, reason, detail, out);
    helio_buffer_text(out, "}\n");
}

static void put_diagnostic(const helio_diagnostic_t *diagnostic, helio_buffer_t *out)
{
    helio_json_member(out, "code", helio_spec_problem_word(diagnostic->problem));
    if (diagnostic->line)
        helio_buffer_printf(out, ",\"line\":%u,\"column\":%u", diagnostic->line, diagnostic->column);
    if (diagnostic->path[0])
        helio_json_member(out, "path", diagnostic->path);
    if (diagnostic->hint[0])
        helio_json_member(out, "hint", diagnostic->hint);
}

void helio_problem_of_diagnostics(uint32_t status, const helio_diagnostics_t *wrong, int document,
                                  helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_diagnostic_brief(&wrong->items[0], &text);
    head(status, status == 413 ? "TooBig" : "Invalid", text.data, out);
    if (document >= 0)
        helio_buffer_printf(out, ",\"document\":%d", document);
    put_diagnostic(&wrong->items[0], out);
    helio_buffer_text(out, ",\"errors\":[");
    for (uint32_t i = 0; i < wrong->count; i++) {
        helio_buffer_text(out, i ? ",{\"message\":" : "{\"message\":");
        helio_json_string(helio_text_of(wrong->items[i].message), out);
        put_diagnostic(&wrong->items[i], out);
        helio_buffer_text(out, "}");
    }
    helio_buffer_text(out, "]");
    helio_buffer_reset(&text);
    helio_diagnostics_text(wrong, false, &text);
    helio_json_member(out, "diagnostic", text.data ? text.data : "");
    helio_buffer_text(out, "}\n");
}
