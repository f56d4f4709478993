/*  test_several_brokers.c -- a client that knows several brokers: which one it asks, what it asks twice, and what it
 *  says of each. */
#include "tests/unit/client/program/remote_testing.h"

#include "client/invocation/brokers.h"

enum { BROKERS = 2 };

/*  ---- the list ---- */

static void brokers__are_urls_separated_by_commas(void **state)
{
    (void)state;
    static const struct {
        const char *text, *wanted; /* NULL = refused */
        uint32_t count;
    } cases[] = {
        {"https://a.example", "https://a.example", 1},
        {"https://a.example/", "https://a.example", 1},
        {" https://a.example/ ,http://127.0.0.1:7480", "https://a.example, http://127.0.0.1:7480", 2},
        {"https://a,https://b,https://c", "https://a, https://b, https://c", 3},
        {"", NULL, 0},
        {"https://a,", NULL, 0},
        {"https://a,,https://b", NULL, 0},
        {"https://a b", NULL, 0},
        {"https://a,ftp://b", NULL, 0},
        {"https://a,https://ana@b", NULL, 0},
        {"http://1,http://2,http://3,http://4,http://5,http://6,http://7,http://8,http://9", NULL, 0},
    };
    helio_arena_t *arena = helio_arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_brokers_t brokers = {.count = 0};
        helio_rc rc = helio_brokers_parse(helio_text_of(cases[i].text), arena, &brokers);
        assert_int_equal(rc, cases[i].wanted ? HELIO_OK : HELIO_INVALID);
        assert_int_equal(brokers.count, cases[i].count);
        if (cases[i].wanted)
            assert_string_equal(brokers.text, cases[i].wanted);
    }
    helio_arena_destroy(&arena);
}

/*  ---- which one is asked ---- */

typedef struct pair {
    broker_double_t *brokers[BROKERS];
    char urls[128];
    helio_client_io_t io;
    helio_settings_t settings;
    helio_remote_t *remote;
    helio_response_t response;
    helio_rc rc;
} pair_t;

/*  port 0: nobody listens. */
static void pair_up(pair_t *self, const rule_t *first, const rule_t *second)
{
    const rule_t *rules[BROKERS] = {first, second};
    int ports[BROKERS];
    *self = (pair_t){.io = {.interrupt_fd = -1, .patience_ms = 2}};
    for (int i = 0; i < BROKERS; i++) {
        self->brokers[i] = rules[i] ? broker_double_new(rules[i]) : NULL;
        ports[i] = rules[i] ? self->brokers[i]->port : 1;
    }
    (void)snprintf(self->urls, sizeof self->urls, "http://127.0.0.1:%d, http://127.0.0.1:%d", ports[0], ports[1]);
    self->settings = (helio_settings_t){.broker = self->urls, .token = "", .ca_file = "", .timeout_ms = 5000};
    assert_int_equal(helio_remote_new(&self->io, &self->settings, &self->remote, NULL), HELIO_OK);
}

static void pair_call(pair_t *self, const helio_request_t *request)
{
    helio_error_t err;
    self->rc = helio_remote_call(self->remote, request, &self->response, &err);
}

/*  Ends it, and returns how many requests each broker got, as "1 2". */
static const char *pair_down(pair_t *self)
{
    static char counts[16];
    int count[BROKERS] = {0};
    helio_response_clear(&self->response);
    helio_remote_destroy(&self->remote);
    for (int i = 0; i < BROKERS; i++) {
        if (!self->brokers[i])
            continue;
        broker_double_stop(self->brokers[i]);
        count[i] = broker_double_count(self->brokers[i], "\n====\n");
        broker_double_destroy(&self->brokers[i]);
    }
    (void)snprintf(counts, sizeof counts, "%d %d", count[0], count[1]);
    return counts;
}

#define ANSWER(status) RULES({"", 0, status, NULL, "", WHOLE, 0})
#define FAILS(how) RULES({"", 0, 0, NULL, NULL, how, 0})

static void several_brokers__are_asked_in_turn_while_one_is_away(void **state)
{
    (void)state;
    const struct {
        const char *what;
        const rule_t *first;
        const char *method, *key;
        bool once;
        helio_rc rc;
        long status;
        const char *counts;
    } cases[] = {
        {"the first one is there", ANSWER(200), "GET", NULL, false, HELIO_OK, 200, "1 0"},
        {"nobody listens", NULL, "GET", NULL, false, HELIO_OK, 200, "0 1"},
        {"nobody listens, and nothing was sent", NULL, "POST", NULL, false, HELIO_OK, 200, "0 1"},
        {"nobody listens, asked once", NULL, "GET", NULL, true, HELIO_OK, 200, "0 1"},
        {"no leader", ANSWER(503), "GET", NULL, false, HELIO_OK, 200, "1 1"},
        {"no leader, with a key", ANSWER(503), "POST", "k", false, HELIO_OK, 200, "1 1"},
        {"no leader, and it may have been done", ANSWER(503), "POST", NULL, false, HELIO_OK, 503, "1 0"},
        {"no leader, asked once", ANSWER(503), "GET", NULL, true, HELIO_OK, 503, "1 0"},
        {"a proxy without a broker", ANSWER(502), "GET", NULL, false, HELIO_OK, 200, "1 1"},
        {"it is cut off", FAILS(DROP), "POST", "k", false, HELIO_OK, 200, "1 1"},
        {"it is cut off, and it may have been done", FAILS(DROP), "POST", NULL, false, HELIO_UNAVAILABLE, 0, "1 0"},
        {"no leader, and it may have been edited", ANSWER(503), "PATCH", NULL, false, HELIO_OK, 503, "1 0"},
        {"it is cut off amid an edit", FAILS(DROP), "PATCH", NULL, false, HELIO_UNAVAILABLE, 0, "1 0"},
        {"nobody listens to an edit, and nothing was sent", NULL, "PATCH", NULL, false, HELIO_OK, 200, "0 1"},
        {"it refuses", ANSWER(403), "GET", NULL, false, HELIO_OK, 403, "1 0"},
        {"it fails", ANSWER(500), "GET", NULL, false, HELIO_OK, 500, "1 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pair_t self;
        pair_up(&self, cases[i].first, ANSWER(200));
        pair_call(
            &self,
            &(helio_request_t){
                .method = cases[i].method, .path = "/v1/x", .idempotency_key = cases[i].key, .once = cases[i].once});
        helio_rc rc = self.rc;
        long status = self.response.status;
        const char *counts = pair_down(&self);
        if (rc != cases[i].rc || (rc == HELIO_OK && status != cases[i].status) || strcmp(counts, cases[i].counts) != 0)
            fail_msg("%s: %s, %ld, requests %s", cases[i].what, helio_rc_name(rc), status, counts);
    }
}

/*  It takes the connection and says nothing, as a process that is stopped. What could act twice waits for it. */
static void several_brokers__one_that_hangs_is_passed_over_after_a_short_time(void **state)
{
    (void)state;
    static const struct {
        const char *method, *key;
        helio_rc rc;
        int64_t from_ms, below_ms;
        const char *counts;
    } cases[] = {
        {"GET", NULL, HELIO_OK, HELIO_REMOTE_HUNG_MS, 10000, "1 1"},
        {"POST", "k", HELIO_OK, HELIO_REMOTE_HUNG_MS, 10000, "1 1"},
        {"POST", NULL, HELIO_TIMEOUT, HELIO_REMOTE_HUNG_MS + 500, 60000, "1 0"},
        {"PATCH", NULL, HELIO_TIMEOUT, HELIO_REMOTE_HUNG_MS + 500, 60000, "1 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pair_t self;
        pair_up(&self, FAILS(MUTE), ANSWER(200));
        self.settings.timeout_ms = cases[i].rc == HELIO_OK ? 60000 : HELIO_REMOTE_HUNG_MS + 500;
        int64_t began_ms = helio_clock_boot_ms();
        pair_call(&self,
                  &(helio_request_t){.method = cases[i].method, .path = "/v1/x", .idempotency_key = cases[i].key});
        int64_t took_ms = helio_clock_boot_ms() - began_ms;
        helio_rc rc = self.rc;
        const char *counts = pair_down(&self);
        if (rc != cases[i].rc || strcmp(counts, cases[i].counts) != 0 || took_ms < cases[i].from_ms ||
            took_ms >= cases[i].below_ms)
            fail_msg("%zu: %s after %lld ms, requests %s", i, helio_rc_name(rc), (long long)took_ms, counts);
    }
}

/*  Both are slow: the answer of the first is awaited with all the time that a request has. */
static void several_brokers__that_all_seem_to_hang_are_given_time(void **state)
{
    (void)state;
    pair_t self;
    pair_up(&self, RULES({"", 1, 0, NULL, NULL, MUTE, 0}, {"", 0, 200, NULL, "", WHOLE, 0}), FAILS(MUTE));
    self.settings.timeout_ms = 60000;
    pair_call(&self, &(helio_request_t){.path = "/v1/x"});
    assert_int_equal(self.rc, HELIO_OK);
    assert_string_equal(pair_down(&self), "2 1");
}

/*  A follower that has no leader yet, beside the leader that stands still: until the follower leads, nobody waits for the
 *  other one as long as a request may take. */
static void several_brokers__one_that_is_not_ready_is_not_left_for_one_that_hangs(void **state)
{
    (void)state;
    pair_t self;
    pair_up(&self, RULES({"", 3, 503, NULL, "", WHOLE, 0}, {"", 0, 200, NULL, "", WHOLE, 0}), FAILS(MUTE));
    self.settings.timeout_ms = 60000;
    int64_t began_ms = helio_clock_boot_ms();
    pair_call(&self, &(helio_request_t){.method = "POST", .path = "/v1/jobs", .idempotency_key = "k"});
    assert_int_equal(self.rc, HELIO_OK);
    assert_int_equal(self.response.status, 200);
    assert_in_range(helio_clock_boot_ms() - began_ms, 0, 6 * HELIO_REMOTE_HUNG_MS);
    (void)pair_down(&self);
}

static void several_brokers__the_one_that_answered_is_asked_next(void **state)
{
    (void)state;
    pair_t self;
    pair_up(&self, ANSWER(503), ANSWER(200));
    for (int i = 0; i < 3; i++)
        pair_call(&self, &(helio_request_t){.path = "/v1/x"});
    pair_call(&self, &(helio_request_t){.path = "/v1/x", .broker = 1, .once = true}); /* by name */
    assert_int_equal(self.response.status, 503);
    assert_string_equal(helio_remote_broker(self.remote, 2), strchr(self.urls, ' ') + 1);
    assert_string_equal(pair_down(&self), "2 3");
}

/*  As while one of them takes over: longer than one broker alone is asked, and not for ever. */
static void several_brokers__that_are_all_away_are_asked_until_one_can_have_taken_over(void **state)
{
    (void)state;
    pair_t self;
    pair_up(&self, ANSWER(503),
            RULES({"", HELIO_REMOTE_ATTEMPTS + 2, 0, NULL, NULL, DROP, 0}, {"", 0, 200, NULL, "", WHOLE, 0}));
    self.io.patience_ms = 10;
    pair_call(&self, &(helio_request_t){.path = "/v1/x"});
    assert_int_equal(self.rc, HELIO_OK);
    assert_int_equal(self.response.status, 200);
    (void)pair_down(&self);
    pair_up(&self, ANSWER(503), ANSWER(503));
    int64_t began_ms = helio_clock_boot_ms();
    pair_call(&self, &(helio_request_t){.path = "/v1/x"});
    assert_int_equal(self.response.status, 503);
    assert_true(helio_clock_boot_ms() - began_ms >= self.io.patience_ms * (HELIO_REMOTE_TAKEOVER - 16));
    (void)pair_down(&self);
}

static void on_data(void *arg, const char *bytes, size_t size)
{
    (void)bytes;
    *(size_t *)arg += size;
}

/*  A watcher opens its stream again after a failure; then it is the other broker's. */
static void several_brokers__a_stream_that_failed_opens_at_the_next_one(void **state)
{
    (void)state;
    pair_t self;
    size_t bytes = 0;
    helio_stream_options_t options = {.path = "/v1/events", .on_data = on_data, .arg = &bytes};
    pair_up(&self, FAILS(DROP), RULES({"GET /v1/events ", 0, 200, NULL, "data", WHOLE, 0}));
    for (int i = 0; i < 2; i++) {
        helio_stream_t *stream = helio_stream_new(self.remote, &options);
        for (int64_t until_ms = helio_clock_boot_ms() + 10000;
             !helio_stream_is_over(stream) && helio_clock_boot_ms() < until_ms;)
            helio_remote_pump(self.remote, 1000);
        assert_int_equal(helio_stream_is_whole(stream), i == 1);
        helio_stream_destroy(&stream);
    }
    assert_int_equal(bytes, 4);
    assert_string_equal(pair_down(&self), "1 1");
}

/*  ---- a whole command ---- */

#define BROKER(role, more)                                                                                             \
    {                                                                                                                  \
        "GET /v1/broker ", 0, 200, NULL, "{\"role\":\"" role "\",\"epoch\":7,\"version\":\"0.1.0\"" more "}", WHOLE, 0 \
    }

static int doctor(const rule_t *first, const rule_t *second, char **ret_out)
{
    pair_t self;
    char *err;
    pair_up(&self, first, second);
    int code = run_at(self.urls, (const char *const[]){"doctor", NULL}, "", NULL, ret_out, &err);
    free(err);
    (void)pair_down(&self);
    return code;
}

#define FIT                                                                                                    \
    {"GET /healthz ", 0, 200, NULL, "ok\n", WHOLE, 0}, {"GET /readyz ", 0, 200, NULL, "ready\n", WHOLE, 0},    \
        {"GET /v1/whoami ",                                                                                    \
         0,                                                                                                    \
         200,                                                                                                  \
         NULL,                                                                                                 \
         "{\"user\":\"ana\",\"tenant\":\"acme\",\"role\":\"user\",\"version\":\"" HELIO_PROGRAM_VERSION "\"}", \
         WHOLE,                                                                                                \
         0},                                                                                                   \
    {                                                                                                          \
        "GET /v1/sites ", 0, 200, NULL, "[{\"site\":\"lulea\",\"state\":\"ready\"}]", WHOLE, 0                 \
    }

static void doctor__says_of_each_broker_whether_it_leads(void **state)
{
    (void)state;
    char *out;
    assert_int_equal(doctor(RULES(FIT, BROKER("leader", ",\"forwards\":false")),
                            RULES(BROKER("follower", ",\"forwards\":true,\"leader\":\"north/7\"")), &out),
                     0);
    assert_non_null(strstr(out, ": leader, epoch 7, version 0.1.0\n"));
    assert_non_null(strstr(out, ": follower, epoch 7, version 0.1.0, follows http://127.0.0.1:")); /* not its name */
    assert_null(strstr(out, "north/7"));
    free(out);
    assert_int_equal(doctor(RULES(FIT, BROKER("leader", "")), NULL, &out), 0);
    assert_non_null(strstr(out, "! broker    cannot reach the broker at http://127.0.0.1:1"));
    free(out);
    assert_int_equal(doctor(RULES(FIT, BROKER("leader", "")), RULES(BROKER("follower", ",\"forwards\":false")), &out),
                     1);
    assert_non_null(strstr(out, "advertise_http"));
    free(out);
}

/*  Whatever is wrong with one, the others are examined, and identity and sites come from one that answers. */
static void doctor__goes_on_to_the_next_broker(void **state)
{
    (void)state;
    char *out;
    int64_t began_ms = helio_clock_boot_ms();
    assert_int_equal(
        doctor(FAILS(MUTE), RULES(FIT, BROKER("follower", ",\"forwards\":true,\"leader\":\"north/7\"")), &out), 0);
    assert_true(helio_clock_boot_ms() - began_ms < 20000);
    assert_non_null(strstr(out, "! broker    the broker at http://127.0.0.1:"));
    assert_non_null(strstr(out, "requests go to the other brokers meanwhile"));
    assert_non_null(strstr(out, "follows north/7\n")); /* none of the list says that it leads */
    assert_non_null(strstr(out, "user ana of tenant acme"));
    assert_non_null(strstr(out, "1 of 1 ready"));
    free(out);
    assert_int_equal(doctor(NULL, RULES(FIT, BROKER("leader", "")), &out), 0);
    assert_non_null(strstr(out, "user ana of tenant acme"));
    free(out);
}

static void doctor__of_a_wrong_token_promises_nothing_of_other_brokers(void **state)
{
    (void)state;
    static const rule_t rules[] = {{"GET /healthz ", 0, 200, NULL, "ok\n", WHOLE, 0},
                                   {"GET /readyz ", 0, 200, NULL, "ready\n", WHOLE, 0},
                                   {"GET /v1/", 0, 401, NULL, "{}", WHOLE, 0},
                                   {0}};
    char *out;
    assert_int_equal(doctor(rules, rules, &out), HELIO_EXIT_FORBIDDEN);
    assert_non_null(strstr(out, " answers with status 401\n"));
    assert_null(strstr(out, "requests go to the other brokers"));
    assert_non_null(strstr(out, "help: the token is wrong"));
    free(out);
}

static void doctor__of_one_follower_says_that_it_forwards(void **state)
{
    (void)state;
    outcome_t outcome = play_with(RULES({"GET /readyz ", 0, 503, NULL, "{}", WHOLE, 0},
                                        {"GET /readyz?role=any ", 0, 200, NULL, "following\n", WHOLE, 0}, FIT),
                                  (const char *const[]){"doctor", NULL}, "");
    assert_int_equal(outcome.code, 0);
    assert_non_null(strstr(outcome.out, "the broker is a follower, and forwards to the leader"));
    free(outcome.out);
    free(outcome.err);
    broker_double_destroy(&outcome.broker);
}

static void doctor__of_a_follower_that_does_not_reach_the_leader_says_why(void **state)
{
    (void)state;
    static const char problem[] =
        "{\"detail\":\"the leader advertises http://10.0.0.7:7480, which is the address of this broker, a follower; "
        "give each broker its own `advertise_http`\"}";
    outcome_t outcome = play_with(RULES({"GET /readyz ", 0, 503, NULL, "{\"detail\":\"another leads\"}", WHOLE, 0},
                                        {"GET /readyz?role=any ", 0, 503, NULL, problem, WHOLE, 0}, FIT),
                                  (const char *const[]){"doctor", NULL}, "");
    assert_int_equal(outcome.code, HELIO_EXIT_UNREACHABLE);
    assert_non_null(strstr(outcome.out, "a follower; give each broker its own `advertise_http`"));
    free(outcome.out);
    free(outcome.err);
    broker_double_destroy(&outcome.broker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brokers__are_urls_separated_by_commas),
        cmocka_unit_test(several_brokers__are_asked_in_turn_while_one_is_away),
        cmocka_unit_test(several_brokers__one_that_hangs_is_passed_over_after_a_short_time),
        cmocka_unit_test(several_brokers__that_all_seem_to_hang_are_given_time),
        cmocka_unit_test(several_brokers__one_that_is_not_ready_is_not_left_for_one_that_hangs),
        cmocka_unit_test(several_brokers__the_one_that_answered_is_asked_next),
        cmocka_unit_test(several_brokers__that_are_all_away_are_asked_until_one_can_have_taken_over),
        cmocka_unit_test(several_brokers__a_stream_that_failed_opens_at_the_next_one),
        cmocka_unit_test(doctor__says_of_each_broker_whether_it_leads),
        cmocka_unit_test(doctor__goes_on_to_the_next_broker),
        cmocka_unit_test(doctor__of_a_wrong_token_promises_nothing_of_other_brokers),
        cmocka_unit_test(doctor__of_one_follower_says_that_it_forwards),
        cmocka_unit_test(doctor__of_a_follower_that_does_not_reach_the_leader_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
