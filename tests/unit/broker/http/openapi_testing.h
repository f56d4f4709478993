/*  openapi_testing.h -- the description of the API beside a server, and the comparison of responses with it. */
#ifndef HELIO_TESTS_HTTP_OPENAPI_TESTING_H
#define HELIO_TESTS_HTTP_OPENAPI_TESTING_H

#include "tests/unit/broker/http/server_testing.h"

#include "broker/http/routes/routes.h"
#include "tests/unit/broker/http/openapi.h"

static json_t *description;

static inline int load(void **state)
{
    (void)state;
    description = openapi_load();
    return 0;
}

static inline int unload(void **state)
{
    (void)state;
    json_decref(description);
    return 0;
}

static inline const json_t *operation_of(const helio_route_t *route)
{
    const json_t *item;
    const json_t *operation = openapi_operation(description, route->method, route->pattern, &item);
    if (!operation)
        fail_msg("docs/openapi.yaml does not describe %s %s", route->method, route->pattern);
    return operation;
}

/*  The last answer is one that the route's description knows, in that form. */
static inline void check_answer(const helio_route_t *route)
{
    char status[16], why[512];
    (void)snprintf(status, sizeof status, "%d", r.status);
    const json_t *answers = json_object_get(operation_of(route), "responses");
    const json_t *answer = openapi_follow(description, json_object_get(answers, status));
    const char *type = reply_header(&r, "Content-Type");
    const json_t *media = json_object_get(json_object_get(answer, "content"), type);
    if (!media)
        fail_msg("%s %s answers %s %s, which is not described: %s", route->method, route->pattern, status, type,
                 r.body);
    json_t *body = json_loadb(r.body, r.body_size, JSON_DECODE_ANY, NULL);
    if (!openapi_valid(description, json_object_get(media, "schema"), body, "", why))
        fail_msg("%s %s answers %s: %s in %s", route->method, route->pattern, status, why, r.body);
    json_decref(body);
}

static inline const helio_route_t *route_of(const char *method, const char *pattern)
{
    const helio_route_table_t *table = helio_routes();
    for (uint32_t i = 0; i < table->count; i++)
        if (strcmp(table->items[i].method, method) == 0 && strcmp(table->items[i].pattern, pattern) == 0)
            return &table->items[i];
    fail_msg("there is no route %s %s", method, pattern);
    return NULL;
}

#endif
