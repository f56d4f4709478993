/*  The styles of durations; that the exact one is read back is a test of federation/spec. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "federation/base/duration.h"

static const uint64_t SECOND = 1000, MINUTE = 60000, HOUR = 3600000, DAY = 86400000;

static void durations__have_one_text_in_each_style(void **state)
{
    (void)state;
    const struct {
        uint64_t ms;
        const char *exact, *up, *brief, *brief_seconds;
    } cases[] = {
        {0, "0s", "0m", "0s", "0s"},
        {1, "1ms", "1m", "0s", "0s"},
        {499, "499ms", "1m", "0s", "0s"},
        {500, "500ms", "1m", "1s", "1s"},
        {59 * SECOND, "59s", "1m", "59s", "59s"},
        {MINUTE - 1, "59s999ms", "1m", "1m", "1m"},
        {MINUTE, "1m", "1m", "1m", "1m"},
        {MINUTE + 1, "1m1ms", "2m", "1m", "1m"},
        {117 * SECOND, "1m57s", "2m", "1m", "1m57s"},
        {HOUR - 1, "59m59s999ms", "1h00m", "1h00m", "1h00m"},
        {HOUR, "1h", "1h00m", "1h00m", "1h00m"},
        {HOUR + 5 * MINUTE + 30 * SECOND, "1h5m30s", "1h06m", "1h05m", "1h05m"},
        {DAY - MINUTE, "23h59m", "23h59m", "23h59m", "23h59m"},
        {DAY, "1d", "24h00m", "1d00h", "1d00h"},
        {3 * DAY + 4 * HOUR + 59 * MINUTE, "3d4h59m", "76h59m", "3d04h", "3d04h"},
        {700 * DAY, "700d", "16800h00m", "700d00h", "700d00h"},
        {UINT64_MAX, "213503982334d14h25m51s615ms", "5124095576030h26m", "213503982334d14h", "213503982334d14h"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[HELIO_DURATION_SIZE];
        helio_duration_text(cases[i].ms, text);
        assert_string_equal(text, cases[i].exact);
        helio_duration_text_up(cases[i].ms, text);
        assert_string_equal(text, cases[i].up);
        helio_duration_text_brief(cases[i].ms, text);
        assert_string_equal(text, cases[i].brief);
        helio_duration_text_brief_seconds(cases[i].ms, text);
        assert_string_equal(text, cases[i].brief_seconds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations__have_one_text_in_each_style),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
