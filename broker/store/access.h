/*  access.h -- the tokens and the users of the database, row by row: for a leader as it begins (store.h), and for a
 *  broker that follows (follower.h). Blocking; the row is borrowed for the call of visit. */
#ifndef HELIO_BROKER_STORE_ACCESS_H
#define HELIO_BROKER_STORE_ACCESS_H

#include "broker/store/session.h"
#include "broker/store/store.h"

HELIO_MUST_CHECK helio_rc helio_access_each_token(PGconn *connection, helio_store_token_fn *visit, void *arg,
                                                  helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_access_each_user(PGconn *connection, helio_store_principal_fn *visit, void *arg,
                                                 helio_error_t *err);

#endif
