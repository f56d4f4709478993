/*  server_testing.h -- one server for each test, and the response to the last request. */
#ifndef HELIO_TESTS_BROKER_HTTP_SERVER_TESTING_H
#define HELIO_TESTS_BROKER_HTTP_SERVER_TESTING_H

#include "broker/http/routes/routes.h"
#include "tests/unit/broker/http/client.h"

#define YAML "Content-Type: application/yaml\r\n"
#define JSON "Content-Type: application/json\r\n"

static world_t *w;
static reply_t r;

static inline int up(void **state)
{
    (void)state;
    w = world_up();
    return 0;
}

static inline int down(void **state)
{
    (void)state;
    world_down(w);
    return 0;
}

/*  "/v1/jobs/{id}" -> "/v1/jobs/abcdef": no whole id, so that each command on a job looks it up first. */
static inline const char *some_target_of(const helio_route_t *route, char text[128])
{
    const char *open = strchr(route->pattern, '{');
    if (!open)
        return route->pattern;
    (void)snprintf(text, 128, "%.*sabcdef%s", (int)(open - route->pattern), route->pattern, strchr(open, '}') + 1);
    return text;
}

#endif
