/*  listing.h -- requests a list from the broker and prints it, as most commands without options do. */
#ifndef HELIO_CLIENT_LISTING_H
#define HELIO_CLIENT_LISTING_H

#include "client/output/columns.h"
#include "client/transport/response.h"

/*  GETs a path whose reply holds a list under `key`. Returns the exit code. The caller frees the reply in any case;
 *  the rows are borrowed from it. */
HELIO_MUST_CHECK int helio_listing_ask(const helio_client_t *client, const char *path, const char *key,
                                       json_t **ret_reply, json_t **ret_rows);
/*  Prints the rows in the requested format. Returns the exit code. */
HELIO_MUST_CHECK int helio_listing_print(const helio_client_t *client, const json_t *rows, helio_columns_t columns);
/*  Both. */
HELIO_MUST_CHECK int helio_listing(const helio_client_t *client, const char *path, const char *key,
                                   helio_columns_t columns);
/*  How many rows --limit and --all ask for: UINT64_MAX = all. False: they contradict one another, or are no number; it was
 *  said. */
HELIO_MUST_CHECK bool helio_listing_limit(const helio_client_t *client, uint64_t by_default, uint64_t *ret_limit);
/*  Rows of sites, for tables: what is free at a site that is silent or lost is not known. */
void helio_listing_hide_stale_room(json_t *sites);

#endif
