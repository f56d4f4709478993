/*  route.h -- what a row of the table of routes says, and how the row of a request is found. From the table come dispatch, 404
 *  and 405, who may, and the labels of /metrics. The rows themselves are the server's to be given: routes.h.
 */
#ifndef HELIO_BROKER_HTTP_REQUEST_ROUTE_H
#define HELIO_BROKER_HTTP_REQUEST_ROUTE_H

#include "broker/http/request/exchange.h"

typedef enum helio_access {
    HELIO_ACCESS_ANYONE, /* no token */
    HELIO_ACCESS_USER,   /* any token; sees its tenant */
    HELIO_ACCESS_OPERATOR,
    HELIO_ACCESS_ADMIN
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
    void (*start)(helio_exchange_t *exchange);
    const char *doc;
};

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
