/*  audit: who changed what, and whether an entry was changed or removed. */
#include <stdlib.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"

enum { PAGE_ROWS = 1000, ROWS_BY_DEFAULT = 100 };

static int audit_page(helio_client_t *client, uint64_t limit, json_int_t *before, json_t *rows)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    json_t *list;
    helio_buffer_printf(&path, "/v1/audit?limit=%llu", (unsigned long long)limit);
    if (*before)
        helio_buffer_printf(&path, "&cursor=%lld", (long long)*before);
    int code = helio_listing_ask(client, path.data, "entries", &reply, &list);
    if (code != HELIO_EXIT_OK)
        return code;
    json_int_t next = json_integer_value(json_object_get(reply, "next"));
    *before = json_array_size(list) && next != *before ? next : 0;
    if (json_array_extend(rows, list) != 0)
        abort();
    return HELIO_EXIT_OK;
}

int helio_cmd_audit(helio_client_t *client)
{
    uint64_t limit;
    if (!helio_client_number(client, HELIO_OPTION_LIMIT, ROWS_BY_DEFAULT, &limit))
        return HELIO_EXIT_USAGE;
    if (limit == 0)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--limit: must be at least 1");
    if (helio_client_has(client, HELIO_OPTION_ALL))
        limit = UINT64_MAX;
    HELIO_AUTO(helio_json_clear) json_t *rows = json_array();
    json_int_t before = 0;
    do {
        uint64_t left = limit - json_array_size(rows);
        int code = audit_page(client, left < PAGE_ROWS ? left : PAGE_ROWS, &before, rows);
        if (code != HELIO_EXIT_OK)
            return code;
    } while (before && json_array_size(rows) < limit);
    helio_rc rc = helio_output_rows(&client->output, rows, helio_columns_of_audit);
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

int helio_cmd_audit_verify(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    int code = helio_ask_get(client, "/v1/audit/verify", &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    if (helio_output_object(&client->output, reply, helio_columns_of_audit_chain) != HELIO_OK)
        return HELIO_EXIT_OWN;
    const json_t *broken_at = json_object_get(reply, "broken_at");
    if (!json_is_null(broken_at))
        return helio_client_fail(client, HELIO_EXIT_FAILURE,
                                 "entry %lld does not match the entry before it: one of the two was changed, or an "
                                 "entry between them was removed",
                                 (long long)json_integer_value(broken_at));
    helio_client_say(client, "no entry was changed or removed");
    return HELIO_EXIT_OK;
}
