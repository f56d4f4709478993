/*  server_testing.h -- one server for each test, and the answer to the last request. */
#ifndef HELIO_TESTS_BROKER_HTTP_SERVER_TESTING_H
#define HELIO_TESTS_BROKER_HTTP_SERVER_TESTING_H

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

#endif
