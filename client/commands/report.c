/*  report: what jobs used, compared with two baselines. */
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/output/humanise.h"

/*  The two baselines cover different sets of jobs. Their lines are comparable only with the number of jobs left out. */
static void say_not_at_home(const helio_client_t *client, const json_t *totals)
{
    json_int_t jobs = json_integer_value(json_object_get(totals, "jobs_not_at_home"));
    if (jobs > 0)
        fprintf(
            client->io->out,
            "\nThe lines against home leave out %lld job%s without a run at home (no home site, no suitable pool "
            "there, or home is not among the job's sites).\n",
            (long long)jobs, jobs == 1 ? "" : "s");
}

/*  The sums cover jobs. The ledger also has what fenced attempts used. */
static void say_fenced(const helio_client_t *client, const json_t *totals)
{
    double fenced_s = 0;
    size_t i;
    json_t *day;
    json_array_foreach(json_object_get(totals, "usage"), i, day)
        fenced_s += helio_output_number(day, "fenced_gpu_seconds", 0);
    if (fenced_s < 1)
        return;
    char time[HELIO_HUMAN_SIZE];
    helio_human_run(fenced_s, time);
    fprintf(client->io->out,
            "\nFenced attempts used %s of GPU time in %lld days: the ledger counts it, the sums above do not.\n", time,
            (long long)json_integer_value(json_object_get(totals, "days")));
}

static int report_balance(helio_client_t *client, const char *days)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path, "/v1/balance%s%s", days ? "?days=" : "", days ? days : "");
    int code = helio_ask_get(client, path.data, &reply);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!json_is_array(reply))
        return helio_client_fail(client, HELIO_EXIT_OWN, "the broker's answer is not a balance; do the versions of "
            "helio and the broker differ?");
    return helio_listing_print(client, reply, helio_columns_of_balance);
}

int helio_cmd_report(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *totals = NULL;
    const char *days = helio_client_value(client, HELIO_OPTION_DAYS);
    if (days && (!days[0] || strspn(days, "0123456789") != strlen(days) || strlen(days) > 3))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--days: must be a whole number from 1 to 400, not '%s'",
                                 days);
    if (helio_client_has(client, HELIO_OPTION_BALANCE))
        return report_balance(client, days);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path, "/v1/report%s%s", days ? "?days=" : "", days ? days : "");
    int code = helio_ask_get(client, path.data, &totals);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!json_is_object(totals))
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer is not a report; do the versions of helio and the broker "
                                 "differ?");
    helio_rc rc = helio_output_object(&client->output, totals, helio_columns_of_report);
    const json_t *states = json_object_get(totals, "jobs");
    const char *state;
    json_t *count;
    if (client->output.format <= HELIO_FORMAT_WIDE && json_is_object(states))
        json_object_foreach((json_t *)(uintptr_t)states, state, count)
            fprintf(client->io->out, "  %-14s  %lld\n", state, (long long)json_integer_value(count));
    if (client->output.format <= HELIO_FORMAT_WIDE)
        say_fenced(client, totals);
    const json_t *baselines = json_object_get(totals, "baselines");
    if (rc == HELIO_OK && client->output.format <= HELIO_FORMAT_WIDE && json_array_size(baselines)) {
        fputc('\n', client->io->out);
        rc = helio_output_rows(&client->output, baselines, helio_columns_of_baselines);
        say_not_at_home(client, totals);
    }
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}
