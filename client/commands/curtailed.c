/*  curtailed.c -- says of sites that they are curtailed now. */
#include "client/commands/curtailed.h"

#include <string.h>

#include "client/output/humanise.h"
#include "client/output/instant.h"
#include "client/output/output.h"

bool helio_curtailed_tell(const helio_client_t *client, const json_t *row, helio_buffer_t *out)
{
    const json_t *percent = json_object_get(row, "curtailed_to_percent");
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t until = {0};
    if (!json_is_number(percent))
        return false;
    helio_instants_in(client->output.zone, client->output.wall_ms, helio_output_string(row, "curtailed_until"), &until);
    helio_buffer_printf(out, "%.64s is curtailed to %.0f %% of its GPU power%s%s", helio_output_string(row, "site"),
                        json_number_value(percent), until.size ? " until " : "", until.size ? until.data : "");
    return true;
}

static bool was_said(const json_t *rows, size_t before, const char *site)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(helio_output_string(json_array_get(rows, i), "site"), site) == 0)
            return true;
    return false;
}

void helio_curtailed_say(const helio_client_t *client, const json_t *rows, FILE *out)
{
    size_t i, said = 0;
    const json_t *row;
    json_array_foreach(rows, i, row)
    {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, safe = {0};
        if (was_said(rows, i, helio_output_string(row, "site")) || !helio_curtailed_tell(client, row, &text))
            continue;
        helio_safe_text(text.data, false, &safe);
        fprintf(out, "%s%s\n", said++ ? "" : "\n", safe.data);
    }
}
