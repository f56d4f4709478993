/*  test_remote.c -- one request to a broker that is silent, is no broker, is not trusted or tells when to come back:
 *  the code and the words of each failure, and how often it is tried. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "client/invocation/settings.h"
#include "client/transport/escape.h"
#include "client/transport/remote.h"
#include "client/transport/retry.h"
#include "federation/base/clock.h"
#include "tests/unit/client/program/broker_double.h"

enum { PATIENCE_MS = 2, TIMEOUT_MS = 250 };

typedef struct attempt {
    broker_double_t *broker;
    char url[64];
    helio_client_io_t io;
    helio_settings_t settings;
    helio_remote_t *remote;
    helio_response_t response;
    helio_error_t err;
    helio_rc rc;
} attempt_t;

static attempt_t attempt_begin(rule_t rule, const char *scheme)
{
    const rule_t rules[] = {rule, {0}};
    attempt_t self = {.broker = broker_double_new(rules), .io = {.interrupt_fd = -1, .patience_ms = PATIENCE_MS}};
    (void)snprintf(self.url, sizeof self.url, "%s://127.0.0.1:%d", scheme, self.broker->port);
    return self;
}

static void call(attempt_t *self, const helio_request_t *request)
{
    self->settings.broker = self->url;
    if (!self->settings.token)
        self->settings.token = "";
    if (!self->settings.ca_file)
        self->settings.ca_file = "";
    if (!self->settings.timeout_ms)
        self->settings.timeout_ms = TIMEOUT_MS;
    assert_int_equal(helio_remote_new(&self->io, &self->settings, &self->remote, NULL), HELIO_OK);
    self->rc = helio_remote_call(self->remote, request, &self->response, &self->err);
}

static void attempt_end(attempt_t *self)
{
    helio_response_clear(&self->response);
    helio_remote_destroy(&self->remote);
    broker_double_destroy(&self->broker);
}

static int requests(attempt_t *self)
{
    broker_double_stop(self->broker);
    return broker_double_count(self->broker, "\n====\n");
}

static void expect(attempt_t *self, helio_rc rc, const char *words, int count)
{
    int sent = requests(self);
    if (self->rc != rc || (words && !strstr(self->err.text, words)) || sent != count)
        fail_msg("%s after %d requests: %s", helio_rc_name(self->rc), sent, rc == HELIO_OK ? "" : self->err.text);
}

static void failures__have_a_code_a_name_and_a_number_of_attempts(void **state)
{
    (void)state;
    static const struct {
        rule_t rule;
        const char *scheme, *method, *ca_file;
        bool once;
        helio_rc rc;
        const char *words;
        int count;
    } cases[] = {
        {{"", 0, 0, NULL, NULL, MUTE, 0}, "http", NULL, NULL, false, HELIO_TIMEOUT, "does not answer", 3},
        {{"", 0, 0, NULL, NULL, MUTE, 0}, "http", NULL, NULL, true, HELIO_TIMEOUT, "does not answer", 1},
        {{"", 0, 200, NULL, "part", HOLD, 0}, "http", NULL, NULL, true, HELIO_TIMEOUT, "does not answer", 1},
        {{"", 0, 0, NULL, NULL, MUTE, 0}, "http", "POST", NULL, false, HELIO_TIMEOUT, "is unknown whether", 1},
        {{"", 0, 0, NULL, NULL, MUTE, 0}, "http", "PATCH", NULL, false, HELIO_TIMEOUT, "is unknown whether", 1},
        {{"", 0, 0, NULL, NULL, DROP, 0}, "http", "PATCH", NULL, false, HELIO_UNAVAILABLE, "is unknown whether", 1},
        {{"", 0, 0, NULL, NULL, DROP, 0}, "http", "DELETE", NULL, false, HELIO_UNAVAILABLE, "cannot reach", 3},
        {{"", 0, 0, NULL, "SSH-2.0-OpenSSH_9.2\r\n", RAW, 0},
         "http",
         NULL,
         NULL,
         false,
         HELIO_PROTOCOL,
         "is not a Heliostat broker",
         1},
        {{"", 0, 200, NULL, "part", CUT, 0}, "http", NULL, NULL, true, HELIO_UNAVAILABLE, "cannot reach", 1},
        {{"", 0, 200, "Content-Encoding: gzip\r\n", "no gzip", WHOLE, 0},
         "http",
         NULL,
         NULL,
         true,
         HELIO_UNAVAILABLE,
         "cannot reach",
         1},
        {{"", 0, 200, NULL, "", WHOLE, 0},
         "https",
         NULL,
         "/nonexistent/ca.pem",
         false,
         HELIO_INVALID,
         "is not trusted",
         0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        attempt_t self = attempt_begin(cases[i].rule, cases[i].scheme);
        self.settings.ca_file = cases[i].ca_file;
        call(&self, &(helio_request_t){.method = cases[i].method, .path = "/v1/x", .once = cases[i].once});
        expect(&self, cases[i].rc, cases[i].words, cases[i].count);
        assert_non_null(strstr(self.err.text, self.url));
        attempt_end(&self);
    }
}

/*  The handshake is bytes that the double takes for a request without an end, so it is not counted. */
static void encryption__that_the_server_does_not_speak_is_no_connection(void **state)
{
    (void)state;
    attempt_t self = attempt_begin((rule_t){"", 0, 0, NULL, "HTTP/1.1 400 X\r\n\r\n", RAW, 0}, "https");
    call(&self, &(helio_request_t){.path = "/v1/x", .once = true});
    assert_true(self.rc == HELIO_UNAVAILABLE || self.rc == HELIO_TIMEOUT);
    assert_non_null(strstr(self.err.text, self.url));
    attempt_end(&self);
}

static void an_answer__carries_status_body_and_the_clock_of_the_broker(void **state)
{
    (void)state;
    attempt_t self = attempt_begin(
        (rule_t){"", 0, 207, "Date: Sun, 01 Mar 2026 12:00:00 GMT\r\nrEtRy-AfTeR:  7 \r\n", "body", WHOLE, 0}, "http");
    call(&self, &(helio_request_t){.path = "/v1/x"});
    expect(&self, HELIO_OK, NULL, 1);
    assert_int_equal(self.response.status, 207);
    assert_int_equal(self.response.date_wall_ms, INT64_C(1772366400000));
    assert_int_equal(self.response.retry_after_ms, 7000);
    assert_true(helio_text_is(helio_buffer_view(&self.response.body), "body"));
    attempt_end(&self);
}

static void headers__that_make_no_sense_are_as_if_they_were_not_there(void **state)
{
    (void)state;
    static const char *const headers[] = {"",
                                          "Retry-After: soon\r\nDate: yesterday\r\n",
                                          "Retry-After: -5\r\n",
                                          "Retry-After: 99999999999999999999\r\n",
                                          "Retry-After: 86400\r\n",
                                          "Retry-After:\r\nDate:\r\n",
                                          "Retry-Afters: 5\r\n"};
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        attempt_t self = attempt_begin((rule_t){"", 0, 429, headers[i], "", WHOLE, 0}, "http");
        call(&self, &(helio_request_t){.path = "/v1/x"});
        expect(&self, HELIO_OK, NULL, HELIO_REMOTE_ATTEMPTS);
        assert_int_equal(self.response.retry_after_ms, 0);
        if (i)
            assert_int_equal(self.response.date_wall_ms, 0);
        attempt_end(&self);
    }
}

static void a_broker_that_names_a_later_time__is_not_asked_again_before_it(void **state)
{
    (void)state;
    static const struct {
        const char *headers;
        int count;
    } cases[] = {{"Retry-After: 11\r\n", 1}, {"Retry-After: 0\r\n", HELIO_REMOTE_ATTEMPTS}};
    for (size_t i = 0; i < 2; i++) {
        attempt_t self = attempt_begin((rule_t){"", 0, 503, cases[i].headers, "", WHOLE, 0}, "http");
        call(&self, &(helio_request_t){.path = "/v1/x"});
        expect(&self, HELIO_OK, NULL, cases[i].count);
        assert_int_equal(self.response.status, 503);
        attempt_end(&self);
    }
}

static void transient_statuses__are_tried_again_and_no_others(void **state)
{
    (void)state;
    for (long status = 100; status < 600; status++)
        assert_int_equal(helio_status_is_transient(status), status == 429 || (status >= 502 && status <= 504));
    static const int statuses[] = {200, 301, 400, 409, 429, 500, 501, 502, 503, 504};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++) {
        attempt_t self = attempt_begin((rule_t){"", 0, statuses[i], NULL, "", WHOLE, 0}, "http");
        call(&self, &(helio_request_t){.path = "/v1/x"});
        expect(&self, HELIO_OK, NULL, helio_status_is_transient(statuses[i]) ? HELIO_REMOTE_ATTEMPTS : 1);
        attempt_end(&self);
    }
}

static void a_keyed_post__is_repeated_with_the_same_key_and_body(void **state)
{
    (void)state;
    attempt_t self = attempt_begin((rule_t){"POST /v1/jobs ", 0, 502, NULL, "", WHOLE, 0}, "http");
    call(&self, &(helio_request_t){
                    .method = "POST", .path = "/v1/jobs", .body = HELIO_TEXT("{\"a\":1}"), .idempotency_key = "k-1"});
    expect(&self, HELIO_OK, NULL, HELIO_REMOTE_ATTEMPTS);
    assert_int_equal(broker_double_count(self.broker, "Idempotency-Key: k-1\r\n"), HELIO_REMOTE_ATTEMPTS);
    assert_int_equal(broker_double_count(self.broker, "\r\n\r\n{\"a\":1}\n===="), HELIO_REMOTE_ATTEMPTS);
    assert_int_equal(broker_double_count(self.broker, "Expect:"), 0);
    attempt_end(&self);
}

static void a_redirect__is_not_followed_and_takes_no_token_elsewhere(void **state)
{
    (void)state;
    broker_double_t *elsewhere = broker_double_new((const rule_t[]){{"", 0, 200, NULL, "{}", WHOLE, 0}, {0}});
    char header[96];
    (void)snprintf(header, sizeof header, "Location: http://127.0.0.1:%d/v1/x\r\n", elsewhere->port);
    attempt_t self = attempt_begin((rule_t){"", 0, 307, header, "", WHOLE, 0}, "http");
    self.settings.token = "hel_secret";
    call(&self, &(helio_request_t){.path = "/v1/x"});
    expect(&self, HELIO_OK, NULL, 1);
    assert_int_equal(self.response.status, 307);
    assert_int_equal(broker_double_count(self.broker, "Authorization: Bearer hel_secret\r\n"), 1);
    broker_double_stop(elsewhere);
    assert_string_equal(elsewhere->requests.data, "");
    broker_double_destroy(&elsewhere);
    attempt_end(&self);
}

static void waits__double_up_to_a_bound_and_are_half_jitter(void **state)
{
    (void)state;
    attempt_t self = attempt_begin((rule_t){"", 0, 200, NULL, "", WHOLE, 0}, "http");
    self.io.patience_ms = 1000;
    call(&self, &(helio_request_t){.path = "/v1/x"});
    for (uint32_t n = 0; n < 12; n++) {
        uint32_t whole = 1000u << (n < 4 ? n : 4), least = UINT32_MAX, most = 0;
        for (int i = 0; i < 200; i++) {
            uint32_t ms = helio_remote_backoff_ms(self.remote, n);
            assert_in_range(ms, whole / 2, whole);
            least = ms < least ? ms : least;
            most = ms > most ? ms : most;
        }
        assert_true(most - least > whole / 4); /* callers do not come back all at once */
    }
    attempt_end(&self);
}

static void components_of_a_path__keep_what_may_stand_there_and_escape_all_else(void **state)
{
    (void)state;
    static const char plain[] = "-._~";
    for (int c = 1; c < 256; c++) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
        char text[2] = {(char)c, '\0'}, escaped[4];
        bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr(plain, c);
        (void)snprintf(escaped, sizeof escaped, "%%%02X", (unsigned)c);
        helio_url_escape(text, &out);
        assert_string_equal(out.data, stays ? text : escaped);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures__have_a_code_a_name_and_a_number_of_attempts),
        cmocka_unit_test(encryption__that_the_server_does_not_speak_is_no_connection),
        cmocka_unit_test(an_answer__carries_status_body_and_the_clock_of_the_broker),
        cmocka_unit_test(headers__that_make_no_sense_are_as_if_they_were_not_there),
        cmocka_unit_test(a_broker_that_names_a_later_time__is_not_asked_again_before_it),
        cmocka_unit_test(transient_statuses__are_tried_again_and_no_others),
        cmocka_unit_test(a_keyed_post__is_repeated_with_the_same_key_and_body),
        cmocka_unit_test(a_redirect__is_not_followed_and_takes_no_token_elsewhere),
        cmocka_unit_test(waits__double_up_to_a_bound_and_are_half_jitter),
        cmocka_unit_test(components_of_a_path__keep_what_may_stand_there_and_escape_all_else),
    };
    /* The double is on this machine, whatever proxy the environment names. */
    (void)setenv("no_proxy", "*", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
