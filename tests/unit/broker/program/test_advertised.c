/*  test_advertised.c -- the URL at which the other brokers reach this one. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "broker/program/advertised.h"

static void advertised__is_what_is_set_or_where_the_broker_listens(void **state)
{
    (void)state;
    static const struct {
        const char *advertise, *listen, *url; /* url NULL = refused */
        bool is_local;
    } cases[] = {
        {"", "10.0.0.7:7480", "http://10.0.0.7:7480", false},
        {"", "[fd00::7]:7480", "http://[fd00::7]:7480", false},
        {"", "127.0.0.1:7480", "http://127.0.0.1:7480", true},
        {"", "[::1]:7480", "http://[::1]:7480", true},
        {"", "0.0.0.0:7480", "", false}, /* every address of the machine, and so none */
        {"", "[::]:7480", "", false},
        {"", "10.0.0.7:0", "", false}, /* any free port */
        {"10.0.0.7:7480", "0.0.0.0:7480", "http://10.0.0.7:7480", false},
        {"broker-a.internal:7480", "127.0.0.1:7480", "http://broker-a.internal:7480", false},
        {"https://broker-a.example", "127.0.0.1:7480", "https://broker-a.example", false},
        {"http://localhost:7480", "0.0.0.0:7480", "http://localhost:7480", true},
        {"10.0.0.7", "0.0.0.0:7480", NULL, false}, /* which port? */
        {"10.0.0.7:7480 ", "0.0.0.0:7480", NULL, false},
        {"https://a?b", "0.0.0.0:7480", NULL, false},
        {"https://ana@broker", "0.0.0.0:7480", NULL, false},
        {"https://a\nX: y", "0.0.0.0:7480", NULL, false},
    };
    helio_arena_t *arena = helio_arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        helio_text_t url = {0};
        helio_error_t err = {.text = ""};
        helio_rc rc =
            helio_advertised_url(helio_text_of(cases[i].advertise), helio_text_of(cases[i].listen), arena, &url, &err);
        if (rc != (cases[i].url ? HELIO_OK : HELIO_INVALID))
            fail_msg("'%s' at %s: %s", cases[i].advertise, cases[i].listen, helio_rc_name(rc));
        if (rc != HELIO_OK) {
            assert_non_null(strstr(err.text, "advertise_http"));
            continue;
        }
        assert_string_equal(url.data, cases[i].url);
        assert_int_equal(helio_advertised_is_local(url), cases[i].is_local);
    }
    char long_url[400] = "http://";
    memset(long_url + 7, 'x', sizeof long_url - 8);
    helio_text_t url;
    helio_error_t err;
    assert_int_equal(helio_advertised_url(helio_text_of(long_url), helio_text_of("127.0.0.1:1"), arena, &url, &err),
                     HELIO_INVALID);
    helio_arena_destroy(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(advertised__is_what_is_set_or_where_the_broker_listens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
