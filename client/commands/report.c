/*  report.c -- `report`: what jobs used, compared with two baselines. */
#include "client/commands/commands.h"
#include "client/commands/listing.h"
#include "client/output/humanise.h"

/*  The two baselines cover different sets of jobs. Their lines are comparable only if they state how many jobs are left
 *  out. */
static void say_not_at_home(const helio_client_t *client, const json_t *totals)
{
    json_int_t jobs = json_integer_value(json_object_get(totals, "jobs_not_at_home"));
    if (jobs > 0)
        fprintf(client->io->out,
                "\nThe lines against home leave out %lld job%s without a run at home (no home site, no suitable pool "
                "there, or home is not among the job's sites).\n",
                (long long)jobs, jobs == 1 ? "" : "s");
}

static double sum_of_days(const json_t *totals, const char *column)
{
    double sum = 0;
    size_t i;
    json_t *day;
    json_array_foreach(json_object_get(totals, "usage"), i, day) sum += helio_output_number(day, column, 0);
    return sum;
}

/*  One line on a part of the ledger's GPU time. */
static void say_part(const helio_client_t *client, const json_t *totals, const char *column, const char *before,
                     const char *after)
{
    double seconds = sum_of_days(totals, column);
    if (seconds < 1)
        return;
    char time[HELIO_HUMAN_SIZE];
    helio_human_run(seconds, time);
    fprintf(client->io->out, "\n%s %s of GPU time in %lld days: %s\n", before, time,
            (long long)json_integer_value(json_object_get(totals, "days")), after);
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
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer is not a balance; do the versions of "
                                 "helio and the broker differ?");
    return helio_listing_print(client, reply, helio_columns_of_balance);
}

int helio_cmd_report(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *totals = NULL;
    const char *days = helio_client_value(client, HELIO_OPTION_DAYS);
    uint64_t number;
    if (!helio_client_number(client, HELIO_OPTION_DAYS, 7, &number))
        return HELIO_EXIT_USAGE;
    if (number < 1 || number > 400)
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
    if (client->output.format == HELIO_FORMAT_CSV && json_is_array(json_object_get(totals, "baselines")))
        return helio_listing_print(client, json_object_get(totals, "baselines"), helio_columns_of_baselines);
    helio_rc rc = helio_output_object(&client->output, totals, helio_columns_of_report);
    const json_t *states = json_object_get(totals, "jobs");
    if (client->output.format <= HELIO_FORMAT_WIDE && json_is_object(states))
        helio_output_counts(&client->output, states, 2);
    if (client->output.format <= HELIO_FORMAT_WIDE) {
        /* The sums cover jobs. The ledger also has what fenced attempts used. */
        say_part(client, totals, "fenced_gpu_seconds", "Fenced attempts used",
                 "the ledger counts it, the sums above do not.");
        say_part(client, totals, "estimated_gpu_seconds", "Estimated:",
                 "the end of those attempts was not observed, so they are charged until their last sign of life.");
    }
    const json_t *baselines = json_object_get(totals, "baselines");
    if (rc == HELIO_OK && client->output.format <= HELIO_FORMAT_WIDE && json_array_size(baselines)) {
        fputc('\n', client->io->out);
        rc = helio_output_rows(&client->output, baselines, helio_columns_of_baselines);
        say_not_at_home(client, totals);
    }
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}
