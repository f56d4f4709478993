/*  route.h -- what a row of the table of routes contains, and how a request's row is found. The table defines dispatch,
 *  404 and 405, access, and the labels of /metrics. Its rows are in broker/http/routes. */
#ifndef HELIO_BROKER_HTTP_REQUEST_ROUTE_H
#define HELIO_BROKER_HTTP_REQUEST_ROUTE_H

#include "broker/http/request/request_context.h"

/*  What a route grants a caller. */
typedef enum helio_grant {
    HELIO_GRANT_UNKNOWN, /* 401: a token is needed */
    HELIO_GRANT_REFUSED, /* 403: another role is needed */
    HELIO_GRANT_OWN,     /* what belongs to the caller's tenant; anything else is not found */
    HELIO_GRANT_ALL
} helio_grant_t;

/*  Who can call a route, and which tenants' objects it shows and changes: the only place that defines it. A row is
 *  an access of a route, a column is a caller. Handlers ask helio_request_context_tenant; the core gets tenant and
 *  role. */
/* clang-format off */
#define HELIO_ACCESS_TABLE(X)                                                                              \
    /* access  no token  user     operator  admin */                                                       \
    X(ANYONE,  ALL,      ALL,     ALL,      ALL) /* needs no token */                                       \
    X(MONITOR, UNKNOWN, ALL,     ALL,      ALL) /* figures; the setting `metrics` can let others in */        \
    X(MEMBER,  UNKNOWN,  ALL,     ALL,      ALL) /* belongs to the federation, the same for every token */  \
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
    HELIO_BODY_JSON, /* one small object, can be absent */
    HELIO_BODY_JOBS, /* documents */
    HELIO_BODY_BYTES /* of any meaning, at most HELIO_COMMAND_BODY_MAX */
} helio_body_kind_t;

typedef enum helio_answer_kind {
    HELIO_ANSWER_PLAIN,
    HELIO_ANSWER_STREAM,    /* of a GET */
    HELIO_ANSWER_OF_CORE,   /* of a GET: the leader's core composes it, not the database */
    HELIO_ANSWER_OF_CHANNEL /* from the leader's gateway; asking again is harmless, and can wait for long */
} helio_answer_kind_t;

#define HELIO_PRODUCES_ANY "*/*" /* the handler checks that, file by file */

struct helio_route {
    const char *method;
    const char *pattern; /* "/v1/jobs/{id}": a segment in braces matches any one segment; a slash at the end, itself */
    helio_access_t access;
    helio_body_kind_t body;
    const char *query;    /* names of its parameters, separated by spaces */
    const char *produces; /* media type of a response that is not an error, or HELIO_PRODUCES_ANY */
    helio_answer_kind_t answer;
    void (*start)(helio_request_context_t *context);
    const char *doc;
};

/*  token NULL = none. */
helio_grant_t helio_access_grant(helio_access_t access, const helio_token_t *token);
helio_grant_t helio_access_grant_of_role(helio_access_t access, uint32_t role); /* for a token with that role */

struct helio_route_table {
    const helio_route_t *items;
    uint32_t count;
};

uint32_t helio_route_index(const helio_route_table_t *table, const helio_route_t *route); /* NULL: one past the last */

/*  NULL: no such path (*ret_allow is ""), or not with this method (*ret_allow lists its methods). HEAD counts as GET.
 *  *ret_parameter: the segment in place of the braces; NULL if the pattern has none. */
enum { HELIO_ALLOW_SIZE = 64 };
const helio_route_t *helio_route_find(const helio_route_table_t *table, const char *method,
                                      const helio_target_t *target, const char **ret_parameter,
                                      char ret_allow[HELIO_ALLOW_SIZE]);
/*  Whether HEAD is allowed where GET is: of a stream, which has no end, it could say nothing, and bytes of a channel are
 *  acknowledged by asking for the next ones. */
bool helio_route_has_head(const helio_route_t *route);
/*  Whether only the leader can answer: everything that changes something, and what its core knows. */
bool helio_route_needs_leader(const helio_route_t *route);
/*  Whether the route has a query parameter of this name. */
bool helio_route_takes_query(const helio_route_t *route, const char *name);

#endif
