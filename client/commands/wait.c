/*  wait.c -- `wait`: waits until jobs have ended, and exits with their exit code. */
#include "client/commands/commands.h"
#include "client/jobs/watcher.h"

int helio_cmd_wait(helio_client_t *client)
{
    helio_watcher_t watcher = {.client = client, .ends_only = true};
    if (!helio_watcher_take_deadline(&watcher))
        return HELIO_EXIT_USAGE;
    HELIO_AUTO(helio_follow_destroy)
    helio_follow_t *follow = helio_follow_new(client, false, helio_watcher_on_change, &watcher);
    for (uint32_t i = 0; i < client->arguments->word_count; i++)
        helio_follow_add(follow, client->arguments->words[i]);
    int interrupts = helio_client_interrupts(client->io);
    while (!helio_follow_is_done(follow)) {
        int code = helio_follow_turn(follow, helio_watcher_wait_ms(&watcher));
        if (code == HELIO_EXIT_OK)
            code = helio_watcher_leave_held(client, follow);
        if (code != HELIO_EXIT_OK)
            return code;
        if (helio_client_interrupts(client->io) != interrupts)
            return HELIO_EXIT_INTERRUPTED;
        if (helio_watcher_is_late(&watcher) && !helio_follow_is_done(follow))
            return helio_client_fail(client, HELIO_EXIT_TIMEOUT, "the timeout has passed; the jobs continue");
    }
    return helio_follow_exit(follow);
}
