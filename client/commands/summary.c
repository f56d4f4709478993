/*  summary.c -- what a job used, in one line. */
#include "client/commands/summary.h"

void helio_run_say_summary(const helio_client_t *client, const json_t *reply)
{
    static const helio_column_t columns[] = {
        {"ran", "run_seconds", HELIO_CELL_SECONDS, false},
        {"cost", "cost_usd", HELIO_CELL_MONEY, false},
        {"used", "energy_kwh", HELIO_CELL_ENERGY, false},
        {"emitted", "carbon_g", HELIO_CELL_CARBON, false},
    };
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t line = {0}, value = {0};
    if (!helio_output_find(reply, "run_seconds"))
        return; /* it never ran */
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        helio_buffer_reset(&value);
        helio_output_cell(&client->output, reply, &columns[i], &value);
        if (value.size)
            helio_buffer_printf(&line, "%s%s %s", line.size ? ", " : "", columns[i].title, value.data);
    }
    if (line.size)
        helio_client_say(client, "%s", line.data);
}
