/*  access.c -- tokens and users, decoded row by row. */
#include "broker/store/access.h"

#include "broker/store/decode.h"

typedef struct visitor {
    helio_store_token_fn *token;
    helio_store_principal_fn *user;
    void *arg;
} visitor_t;

static helio_rc visit_token(void *arg, const void *record, helio_error_t *err)
{
    (void)err;
    const visitor_t *visitor = arg;
    visitor->token(visitor->arg, record);
    return HELIO_OK;
}

static helio_rc visit_user(void *arg, const void *record, helio_error_t *err)
{
    (void)err;
    const visitor_t *visitor = arg;
    visitor->user(visitor->arg, record);
    return HELIO_OK;
}

helio_rc helio_access_each_token(PGconn *connection, helio_store_token_fn *visit, void *arg, helio_error_t *err)
{
    visitor_t visitor = {.token = visit, .arg = arg};
    return helio_decode_each(connection, "each_token", NULL, &helio_row_token_type, visit_token, &visitor, err);
}

helio_rc helio_access_each_user(PGconn *connection, helio_store_principal_fn *visit, void *arg, helio_error_t *err)
{
    visitor_t visitor = {.user = visit, .arg = arg};
    return helio_decode_each(connection, "each_user", NULL, &helio_row_principal_type, visit_user, &visitor, err);
}
