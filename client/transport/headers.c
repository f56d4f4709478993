/*  headers.c -- what the client reads in the headers of a response. */
#include "client/transport/headers.h"

#include <curl/curl.h>
#include <string.h>
#include <strings.h>

#include "federation/spec/value.h"

static bool header_is(helio_text_t line, const char *name, helio_text_t *ret_value)
{
    uint32_t size = (uint32_t)strlen(name);
    if (line.size <= size || line.data[size] != ':' || strncasecmp(line.data, name, size) != 0)
        return false;
    helio_text_t value = {line.data + size + 1, line.size - size - 1};
    while (value.size && value.data[0] == ' ')
        value = (helio_text_t){value.data + 1, value.size - 1};
    while (value.size && strchr(" \r\n", value.data[value.size - 1]))
        value.size--;
    *ret_value = value;
    return true;
}

void helio_response_take_header(helio_response_t *self, helio_text_t line)
{
    helio_text_t value;
    uint64_t number;
    if (header_is(line, "Retry-After", &value)) {
        if (helio_u64_parse(value, &number) == HELIO_OK && number < 86400)
            self->retry_after_ms = number * 1000;
    } else if (header_is(line, "Date", &value)) {
        char date[64];
        if (helio_text_copy(value, date, sizeof date)) {
            time_t seconds = curl_getdate(date, NULL);
            self->date_wall_ms = seconds > 0 ? (int64_t)seconds * 1000 : 0;
        }
    } else if (header_is(line, "X-Helio-Log-Offset", &value)) {
        if (helio_u64_parse(value, &number) == HELIO_OK && number <= INT64_MAX)
            self->log_offset = number;
    }
}
