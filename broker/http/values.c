#include "broker/http/values.h"

#include "federation/base/clock.h"

json_t *helio_text_json(helio_text_t text)
{
    return text.size ? json_stringn(text.data, text.size) : json_null();
}

json_t *helio_time_json(int64_t wall_ms)
{
    char text[HELIO_RFC3339_SIZE];
    if (!wall_ms)
        return json_null();
    helio_rfc3339(wall_ms, text);
    return json_string(text);
}
