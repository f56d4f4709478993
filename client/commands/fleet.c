/*  Commands on sites and GPUs, and what operators do to sites. */
#include <stdlib.h>
#include <string.h>

#include "client/transport/answer.h"
#include "client/output/columns.h"
#include "client/commands/commands.h"
#include "client/output/humanise.h"

static int list(helio_client_t *client, const char *path, const char *key, helio_columns_t columns)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *rows;
    int code = helio_ask_get(client, path, &answer);
    if (code == HELIO_EXIT_OK)
        code = helio_answer_list(client, answer, key, &rows);
    if (code != HELIO_EXIT_OK)
        return code;
    return helio_output_rows(&client->output, rows, columns) == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

/*  Too long for a column, and too important for a wide one. */
static void say_refused(const helio_client_t *client, const json_t *sites)
{
    size_t i;
    const json_t *site;
    json_array_foreach(sites, i, site)
    {
        const char *why = helio_output_string(site, "refused");
        if (!why[0])
            continue;
        char since[HELIO_HUMAN_SIZE];
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
        helio_human_time(helio_output_string(site, "refused_at"), since);
        helio_buffer_printf(&text, "%s is refused since %s: %s", helio_output_string(site, "site"), since, why);
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t safe = {0};
        helio_safe_text(text.data, false, &safe);
        fprintf(client->io->out, "\n%s\n", safe.data);
    }
}

int helio_cmd_sites(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    json_t *sites;
    int code = helio_ask_get(client, "/v1/sites", &answer);
    if (code == HELIO_EXIT_OK)
        code = helio_answer_list(client, answer, "sites", &sites);
    if (code != HELIO_EXIT_OK)
        return code;
    if (helio_output_rows(&client->output, sites, helio_columns_of_sites()) != HELIO_OK)
        return HELIO_EXIT_OWN;
    if (client->output.format <= HELIO_FORMAT_WIDE)
        say_refused(client, sites);
    return HELIO_EXIT_OK;
}

int helio_cmd_gpus(helio_client_t *client)
{
    return list(client, "/v1/gpus", "gpus", helio_columns_of_gpus());
}

int helio_cmd_token_ls(helio_client_t *client)
{
    return list(client, "/v1/tokens", "tokens", helio_columns_of_tokens());
}

int helio_cmd_user_ls(helio_client_t *client)
{
    return list(client, "/v1/principals", "principals", helio_columns_of_principals());
}

/*  The two baselines hold different sets of jobs: their lines are not to be compared without knowing by how many. */
static void say_not_at_home(const helio_client_t *client, const json_t *totals)
{
    json_int_t jobs = json_integer_value(json_object_get(totals, "jobs_not_at_home"));
    if (jobs > 0)
        fprintf(
            client->io->out,
            "\n%lld job%s without a run at home to compare with (no home site, no pool there for it, or home is not "
            "among its sites): not in the lines against home.\n",
            (long long)jobs, jobs == 1 ? "" : "s");
}

/*  The sums are of jobs; the ledger has what attempts used that were fenced, too. */
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
            "\nFenced attempts used %s of GPU time in %lld days: the ledger has it, the sums above do not.\n", time,
            (long long)json_integer_value(json_object_get(totals, "days")));
}

static int report_balance(helio_client_t *client, const char *days)
{
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path, "/v1/balance%s%s", days ? "?days=" : "", days ? days : "");
    int code = helio_ask_get(client, path.data, &answer);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!json_is_array(answer))
        return helio_client_fail(client, HELIO_EXIT_OWN, "the broker's answer is no balance; versions differ?");
    return helio_output_rows(&client->output, answer, helio_columns_of_balance()) == HELIO_OK ? HELIO_EXIT_OK
                                                                                             : HELIO_EXIT_OWN;
}

int helio_cmd_report(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *totals = NULL;
    const char *days = helio_client_value(client, HELIO_OPTION_DAYS);
    if (days && (!days[0] || strspn(days, "0123456789") != strlen(days) || strlen(days) > 3))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--days %s is no whole number from 1 to 400", days);
    if (helio_client_has(client, HELIO_OPTION_BALANCE))
        return report_balance(client, days);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t path = {0};
    helio_buffer_printf(&path, "/v1/report%s%s", days ? "?days=" : "", days ? days : "");
    int code = helio_ask_get(client, path.data, &totals);
    if (code != HELIO_EXIT_OK)
        return code;
    if (!json_is_object(totals))
        return helio_client_fail(client, HELIO_EXIT_OWN,
                                 "the broker's answer is no report; versions differ?");
    helio_rc rc = helio_output_object(&client->output, totals, helio_columns_of_report());
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
        rc = helio_output_rows(&client->output, baselines, helio_columns_of_baselines());
        say_not_at_home(client, totals);
    }
    return rc == HELIO_OK ? HELIO_EXIT_OK : HELIO_EXIT_OWN;
}

static int change_site(helio_client_t *client, const char *action, json_t *body, const char *done)
{
    const char *site = client->arguments->words[0];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t after = {0};
    HELIO_AUTO(helio_json_clear) json_t *answer = NULL;
    helio_buffer_printf(&after, "/%s", action);
    const char *reason = helio_client_value(client, HELIO_OPTION_REASON);
    if (reason && json_object_set_new(body, "reason", json_string(reason)) != 0) {
        json_decref(body);
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--reason is not UTF-8");
    }
    int code = helio_ask_post(client, helio_path(client, "/v1/sites/", site, after.data), body, &answer);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s %s", site, done);
    return code;
}

int helio_cmd_drain(helio_client_t *client)
{
    if (!helio_client_has(client, HELIO_OPTION_REASON))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "why? the others will ask\nhelp: helio drain SITE --reason 'what is going on'");
    return change_site(client, "drain", json_object(), "gets no more work; what runs there goes on");
}

int helio_cmd_undrain(helio_client_t *client)
{
    return change_site(client, "undrain", json_object(), "gets work again");
}

int helio_cmd_attest(helio_client_t *client)
{
    char question[160];
    const char *site = client->arguments->words[0];
    if (!helio_client_has(client, HELIO_OPTION_DEAD))
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "attest what?\nhelp: helio attest %.64s --dead --reason 'how you know'", site);
    if (!helio_client_has(client, HELIO_OPTION_REASON))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "how do you know? the audit keeps it\nhelp: helio attest %.64s --dead --reason 'how you know'", site);
    (void)snprintf(question, sizeof question,
                   "Does nothing of the federation run at %.64s any more? You have looked?", site);
    int code = helio_client_confirm(client, question);
    if (code == HELIO_EXIT_FAILURE)
        return helio_client_fail(client, code, "nothing was attested");
    if (code != HELIO_EXIT_OK)
        return code;
    return change_site(client, "attest", json_pack("{s:b}", "dead", 1),
                       "is attested dead; its jobs may run elsewhere");
}
