/*  submit.c -- `submit`: sends job files and prints the ids of their jobs. */
#include "client/commands/commands.h"
#include "client/jobs/drafts.h"

int helio_cmd_submit(helio_client_t *client)
{
    helio_drafts_t drafts;
    int code = helio_drafts_read(client, client->arguments->words, client->arguments->word_count, &drafts);
    if (code != HELIO_EXIT_OK)
        return code;
    code = helio_drafts_send(client, &drafts);
    /* Print the accepted jobs even if a later batch failed: the caller has no other way to learn their ids. */
    int printed = helio_drafts_print(client, &drafts);
    return code != HELIO_EXIT_OK ? code : printed;
}
