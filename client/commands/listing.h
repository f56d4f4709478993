/*  listing.h -- a list of the broker's, asked for and printed: what most commands without options are. */
#ifndef HELIO_CLIENT_LISTING_H
#define HELIO_CLIENT_LISTING_H

#include "client/output/columns.h"
#include "client/transport/response.h"

/*  GET of a path whose answer holds a list under `key`. The rows are borrowed from the answer, which is the caller's to
 *  free whatever is returned: the exit code. */
HELIO_MUST_CHECK int helio_listing_ask(const helio_client_t *client, const char *path, const char *key,
                                       json_t **ret_reply, json_t **ret_rows);
/*  In the format that was asked for. Returns the exit code. */
HELIO_MUST_CHECK int helio_listing_print(const helio_client_t *client, const json_t *rows, helio_columns_t columns);
/*  Both. */
HELIO_MUST_CHECK int helio_listing(const helio_client_t *client, const char *path, const char *key,
                                   helio_columns_t columns);

#endif
