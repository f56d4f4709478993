/*  choice.h -- the jobs that options choose (--mine, --state, --label …): the query of GET /v1/jobs, its pages, and "did you mean" for
 *  names that nothing has. */
#ifndef HELIO_CLIENT_CHOICE_H
#define HELIO_CLIENT_CHOICE_H

#include "client/invocation/client.h"

/*  Appends "&state=…&user=…": the filters that the command line gives. False: one is wrong; it was said. */
HELIO_MUST_CHECK bool helio_choice_query(const helio_client_t *client, helio_buffer_t *out);
/*  Whether the command line has a filter. */
bool helio_choice_is_made(const helio_client_t *client);
/*  Appends the jobs to rows, from the newest on, until there are `limit` or no more; query begins with '&'. *ret_more: there are more;
 *  *ret_reply: the last answer. Returns the exit code. */
HELIO_MUST_CHECK int helio_choice_ask(helio_client_t *client, const char *query, uint64_t limit, json_t *rows,
                                      bool *ret_more, json_t **ret_reply);
/*  Notes on names that are unknown, when no job was found: an unknown name would otherwise look like one without jobs. */
void helio_choice_note_names(const helio_client_t *client, const json_t *reply);

#endif
