/*  sites.c -- `sites`, `gpus`, and the operators' commands on sites: `drain`, `undrain`, `attest`. */
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/curtailed.h"
#include "client/commands/listing.h"
#include "client/commands/simulator.h"
#include "client/commands/withheld.h"
#include "client/output/humanise.h"
#include "client/reasons/reply_details.h"

/*  Why a site is refused: too long for a column, and too important for the wide format only. */
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

/*  Jobs wait there for an operator. */
static void say_memory_lost(const helio_client_t *client, const json_t *sites)
{
    size_t i;
    const json_t *site;
    json_array_foreach(sites, i, site)
    {
        const char *at = helio_output_string(site, "memory_lost_at");
        if (!at[0])
            continue;
        char since[HELIO_HUMAN_SIZE];
        helio_human_time(at, since);
        fprintf(client->io->out,
                "\n%s: its agent came back without its memory at %s; jobs that it does not know may still run there: "
                "once none does, `helio attest %s --dead --reason WHY`\n",
                helio_output_string(site, "site"), since, helio_output_string(site, "site"));
    }
}

/*  Jobs of the restored database wait for it. */
static void say_unreconciled(const helio_client_t *client, const json_t *sites)
{
    size_t i;
    const json_t *site;
    json_array_foreach(sites, i, site)
    {
        const char *at = helio_output_string(site, "unreconciled_at");
        if (!at[0])
            continue;
        char since[HELIO_HUMAN_SIZE];
        helio_human_time(at, since);
        fprintf(
            client->io->out,
            "\n%s: the database was restored at %s, and jobs that it shows as queued may still run there; they wait "
            "until the site has reported that none does, or, if it is gone, until `helio attest %s --dead --reason "
            "WHY`\n",
            helio_output_string(site, "site"), since, helio_output_string(site, "site"));
    }
}

/*  A site that is ready and offers nothing looks as if it were busy; one whose agent has ended, as if the network were
 *  down. */
static void say_withheld(const helio_client_t *client, const json_t *sites)
{
    size_t i, k;
    const json_t *site, *pool;
    json_array_foreach(sites, i, site) json_array_foreach(json_object_get(site, "pools"), k, pool)
    {
        const char *why = helio_withheld_text(site, pool);
        if (!why[0])
            continue;
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0}, safe = {0};
        helio_buffer_printf(&text, "%s: pool %s offers nothing: %s", helio_output_string(site, "site"),
                            helio_output_string(pool, "pool"), why);
        helio_safe_text(text.data, false, &safe);
        fprintf(client->io->out, "\n%s\n", safe.data);
    }
}

int helio_cmd_sites(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *sites;
    int code = helio_listing_ask(client, "/v1/sites", "sites", &reply, &sites);
    if (code == HELIO_EXIT_OK && client->output.format <= HELIO_FORMAT_WIDE)
        helio_listing_hide_stale_room(sites);
    if (code == HELIO_EXIT_OK)
        code = helio_listing_print(client, sites, helio_columns_of_sites);
    if (code == HELIO_EXIT_OK && client->output.format <= HELIO_FORMAT_WIDE) {
        say_refused(client, sites);
        say_memory_lost(client, sites);
        say_unreconciled(client, sites);
        say_withheld(client, sites);
        helio_curtailed_say(client, sites, client->io->out);
    }
    return code;
}

int helio_cmd_gpus(helio_client_t *client)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    json_t *gpus;
    int code = helio_listing_ask(client, "/v1/gpus", "gpus", &reply, &gpus);
    if (code == HELIO_EXIT_OK)
        code = helio_listing_print(client, gpus, helio_columns_of_gpus);
    if (code == HELIO_EXIT_OK && client->output.format <= HELIO_FORMAT_WIDE)
        helio_curtailed_say(client, gpus, client->io->out);
    return code;
}

static int change_site(helio_client_t *client, const char *action, json_t *body, const char *done)
{
    const char *site = client->arguments->words[0];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t after = {0};
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    helio_buffer_printf(&after, "/%s", action);
    const char *reason = helio_client_value(client, HELIO_OPTION_REASON);
    if (reason && json_object_set_new(body, "reason", json_string(reason)) != 0) {
        json_decref(body);
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--reason is not UTF-8");
    }
    int code = helio_ask_post(client, helio_path(client, "/v1/sites/", site, after.data), body, &reply);
    bool unchanged = helio_reply_has_detail(reply, HELIO_DETAIL_SITE_NOT_DRAINED);
    if (code == HELIO_EXIT_OK)
        helio_client_say(client, "%s %s", site, unchanged ? "is not drained; nothing was changed" : done);
    return code;
}

int helio_cmd_drain(helio_client_t *client)
{
    if (helio_client_has(client, HELIO_OPTION_DRY_RUN))
        return helio_rehearse_drain(client);
    if (helio_client_has(client, HELIO_OPTION_FOR))
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--for belongs to --dry-run; `helio undrain` ends a drain");
    if (!helio_client_has(client, HELIO_OPTION_REASON))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "--reason is required; other operators see it\nhelp: helio drain SITE --reason 'new switches'");
    return change_site(client, "drain", json_object(), "gets no new jobs; running jobs continue");
}

int helio_cmd_undrain(helio_client_t *client)
{
    return change_site(client, "undrain", json_object(), "gets new jobs again");
}

int helio_cmd_attest(helio_client_t *client)
{
    char question[160];
    const char *site = client->arguments->words[0];
    if (!helio_client_has(client, HELIO_OPTION_DEAD))
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "--dead is required: it confirms that nothing runs at the site\nhelp: helio attest "
                                 "%.64s --dead --reason 'how you know'",
                                 site);
    if (!helio_client_has(client, HELIO_OPTION_REASON))
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "--reason is required: how you know that nothing runs there; the audit keeps it\nhelp: helio attest "
            "%.64s --dead --reason 'how you know'",
            site);
    (void)snprintf(question, sizeof question, "Are you certain that no job of the federation runs at %.64s any more?",
                   site);
    int code = helio_client_confirm(client, question);
    if (code == HELIO_EXIT_FAILURE)
        return helio_client_fail(client, code, "cancelled; nothing was attested");
    if (code != HELIO_EXIT_OK)
        return code;
    return change_site(client, "attest", json_pack("{s:b}", "dead", 1), "is attested dead; its jobs can run elsewhere");
}
