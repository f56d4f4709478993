/*  follower_testing.h -- a server whose broker follows another one, and its looks at the database. */
#ifndef HELIO_TESTS_BROKER_HTTP_FOLLOWER_TESTING_H
#define HELIO_TESTS_BROKER_HTTP_FOLLOWER_TESTING_H

#include "tests/unit/broker/http/server_testing.h"

#define LEADER "http://10.0.0.7:7480"

static inline int up_following(void **state)
{
    (void)up(state);
    world_follow(w, LEADER, 0);
    return 0;
}

/*  A broker looks several times a second, also while a request waits for it. */
static atomic_bool looks_end;

static inline void *keep_looking(void *arg)
{
    while (!looks_end) {
        world_follow(arg, LEADER, 0);
        (void)poll(NULL, 0, 50);
    }
    return NULL;
}

static inline pthread_t looks_begin(void)
{
    pthread_t thread;
    looks_end = false;
    assert_int_equal(pthread_create(&thread, NULL, keep_looking, w), 0);
    return thread;
}

static inline void looks_stop(pthread_t thread)
{
    looks_end = true;
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/*  A probe finds out within a second or so. */
static inline void await_readiness(int status)
{
    for (int64_t until_ms = helio_clock_boot_ms() + CLIENT_TIMEOUT_MS; helio_clock_boot_ms() < until_ms;) {
        world_follow(w, LEADER, 0);
        ask(w, &r, "GET", "/readyz?role=any", "", "", NULL);
        if (r.status == status)
            return;
        (void)poll(NULL, 0, 20);
    }
    fail_msg("/readyz?role=any is %d: %s", r.status, r.body);
}

#endif
