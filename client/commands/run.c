/*  run.c -- `run`: one job from its file to its exit code. */
#include <stdlib.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/summary.h"
#include "client/jobs/drafts.h"
#include "client/jobs/watcher.h"
#include "client/transport/response.h"

typedef struct presses {
    int first; /* the number of Ctrl-C when it began */
    int handled;
    bool cancelled;
} presses_t;

/*  False when the command should end. */
static bool handle_press(helio_client_t *client, const char *id, presses_t *presses)
{
    int now = helio_client_interrupts(client->io) - presses->first;
    if (now == presses->handled)
        return true;
    presses->handled = now;
    if (now == 1) {
        helio_client_say(client,
                         "press Ctrl-C again to cancel %s; otherwise it continues. Ctrl-\\ leaves it running (`helio "
                         "wait %s` follows it again)",
                         id, id);
        return true;
    }
    if (presses->cancelled)
        return false;
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    helio_client_say(client, "cancelling %s; press Ctrl-C again to leave before it has ended", id);
    presses->cancelled = true;
    int code = helio_ask(
        client, &(helio_request_t){.method = "DELETE", .path = helio_path(client, "/v1/jobs/", id, "")}, &reply);
    if (code != HELIO_EXIT_OK)
        helio_client_say(client, "the broker did not receive the cancellation: `helio cancel %s` tries again", id);
    return true;
}

static int follow_run(helio_watcher_t *watcher, const char *id, bool is_array)
{
    helio_client_t *client = watcher->client;
    HELIO_AUTO(helio_follow_destroy)
    helio_follow_t *follow = helio_follow_new(client, true, helio_watcher_on_change, watcher);
    HELIO_AUTO(helio_joblog_destroy) helio_joblog_t *log = is_array ? NULL : helio_joblog_new(client, id, true);
    presses_t presses = {.first = helio_client_interrupts(client->io)};
    watcher->log = log;
    helio_follow_add(follow, id);
    while (!helio_follow_is_done(follow) || (log && !helio_joblog_is_done(log))) {
        int code = HELIO_EXIT_OK;
        if (!helio_follow_is_done(follow))
            code = helio_follow_turn(follow, helio_watcher_wait_ms(watcher));
        else
            helio_remote_pump(client->remote, helio_watcher_wait_ms(watcher));
        if (code == HELIO_EXIT_OK)
            code = helio_watcher_leave_held(client, follow);
        if (code != HELIO_EXIT_OK)
            return code;
        if (log)
            helio_joblog_turn(log);
        if (!handle_press(client, id, &presses))
            return HELIO_EXIT_INTERRUPTED;
        if (helio_watcher_is_late(watcher))
            return helio_client_fail(client, HELIO_EXIT_TIMEOUT, "the timeout has passed; %s continues", id);
    }
    helio_run_say_summary(client, helio_follow_job(follow, 0)->reply);
    return helio_follow_exit(follow);
}

/*  Options of a job are for --interactive: another job has a file for them. */
static bool check_batch(const helio_client_t *client)
{
    static const uint32_t of_jobs[] = {HELIO_OPTION_GPU, HELIO_OPTION_QUEUE, HELIO_OPTION_TIME, HELIO_OPTION_GOAL,
                                       HELIO_OPTION_NAME};
    for (size_t i = 0; i < sizeof of_jobs / sizeof of_jobs[0]; i++)
        if (helio_client_has(client, of_jobs[i])) {
            (void)helio_client_fail(client, HELIO_EXIT_USAGE,
                                    "--%s is for `helio run --interactive`\nhelp: the job file has a key for it",
                                    helio_client_options.items[of_jobs[i]].name);
            return false;
        }
    if (client->arguments->word_count == 1)
        return true;
    (void)helio_client_fail(
        client, HELIO_EXIT_USAGE,
        "`helio run` needs one FILE|-\nhelp: `helio submit` takes several; `helio run --interactive` takes none");
    return false;
}

int helio_cmd_run(helio_client_t *client)
{
    helio_watcher_t watcher = {.client = client};
    helio_drafts_t drafts;
    if (helio_client_has(client, HELIO_OPTION_INTERACTIVE))
        return helio_run_interactive(client);
    if (!check_batch(client))
        return HELIO_EXIT_USAGE;
    if (!helio_watcher_take_deadline(&watcher))
        return HELIO_EXIT_USAGE;
    int code = helio_drafts_read(client, client->arguments->words, 1, &drafts);
    if (code != HELIO_EXIT_OK)
        return code;
    if (drafts.count != 1)
        return helio_client_fail(
            client, HELIO_EXIT_USAGE,
            "the file has %u jobs, and `helio run` follows one\nhelp: use `helio submit -o name` and `helio wait` "
            "for several",
            drafts.count);
    code = helio_drafts_send(client, &drafts);
    if (code != HELIO_EXIT_OK)
        return code;
    const helio_draft_t *draft = &drafts.items[0];
    helio_client_say(client, "submitted %s%s%s%s", draft->id, draft->name[0] ? " " : "", draft->name,
                     draft->existed ? " (submitted before)" : "");
    return follow_run(&watcher, draft->id, draft->is_array);
}
