/*  route.h -- what a row of the table of routes says, and how the row of a request is found. From the table come dispatch, 404
 *  and 405, who may, and the labels of /metrics. The rows themselves are the server's to be given: routes.h.
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_ROUTE_H
#define HELIO_BROKER_HTTP_REQUEST_ROUTE_H

#include "broker/http/request/request_context.h"

/*  What a caller gets of a route. */
typedef enum helio_grant {
    HELIO_GRANT_UNKNOWN, /* 401: a token is needed */
    HELIO_GRANT_REFUSED, /* 403: another role is */
    HELIO_GRANT_OWN,     /* what belongs to its tenant; anything else is not found */
    HELIO_GRANT_ALL
} helio_grant_t;

/*  Who may call a route, and whose things it then shows and touches: the only place where that is said. A row is what a
 *  route's access can be, a column is a caller. Handlers ask helio_request_context_tenant, the core gets tenant and role. */
/* clang-format off */
#define HELIO_ACCESS_TABLE(X)                                                                              \
    /* access  no token  user     operator  admin */                                                       \
    X(ANYONE,  ALL,      ALL,     ALL,      ALL) /* asks for no token */                                    \
    X(MEMBER,  UNKNOWN,  ALL,     ALL,      ALL) /* the federation's, the same for every token */           \
    X(SELF,    UNKNOWN,  OWN,     OWN,      OWN) /* done as the token's own tenant and user */              \
    X(TENANT,  UNKNOWN,  OWN,     ALL,      ALL) /* belongs to tenants; operators see all of them */        \
    X(OPERATOR, UNKNOWN, REFUSED, ALL,      ALL)                                                            \
    X(ADMIN,   UNKNOWN,  REFUSED, REFUSED,  ALL)
/* clang-format on */

typedef enum helio_access {
#define X(NAME, nobody, user, operator_, admin) HELIO_ACCESS_##NAME,
    HELIO_ACCESS_TABLE(X)
#undef X
        HELIO_ACCESS_COUNT
} helio_access_t;

typedef enum helio_body_kind {
    HELIO_BODY_NONE,
    HELIO_BODY_JSON, /* one small object, may be absent */
    HELIO_BODY_JOBS  /* documents */
} helio_body_kind_t;

struct helio_route {
    const char *method;
    const char *pattern; /* "/v1/jobs/{id}": a segment in braces matches any one segment */
    helio_access_t access;
    helio_body_kind_t body;
    const char *query;    /* names of its parameters, separated by spaces */
    const char *produces; /* media type of the answer that is not an error */
    bool stream;
    void (*start)(helio_request_context_t *context);
    const char *doc;
};

/*  token NULL = none. */
helio_grant_t helio_access_grant(helio_access_t access, const helio_token_t *token);
helio_grant_t helio_access_grant_of_role(helio_access_t access, uint32_t role); /* of a token with it */

struct helio_route_table {
    const helio_route_t *items;
    uint32_t count;
};

uint32_t helio_route_index(const helio_route_table_t *table, const helio_route_t *route); /* NULL: one past the last */

/*  NULL: no such path (*ret_allow is ""), or not by this method (*ret_allow lists those that are). HEAD is
 * GET. *ret_parameter: what stood for the braces, NULL when there are none. */
enum { HELIO_ALLOW_SIZE = 64 };
const helio_route_t *helio_route_find(const helio_route_table_t *table, const char *method,
                                      const helio_target_t *target, const char **ret_parameter,
                                      char ret_allow[HELIO_ALLOW_SIZE]);
bool helio_route_takes_query(const helio_route_t *route, const char *name);

#endif
