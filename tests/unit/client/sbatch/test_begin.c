/*  --begin, at 2026-11-21T07:30:15 local time. The expectations are those of Slurm 22.05. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "client/sbatch/internal.h"
#include "tests/unit/client/sbatch/sbatch_testing.h"

static const struct {
    const char *text, *when; /* NULL = refused */
} rows[] = {
    {"now", "2026-11-21T07:30:15"},
    {"now+90", "2026-11-21T07:31:45"},
    {"now+1hour", "2026-11-21T08:30:15"},
    {"now+2hours", "2026-11-21T09:30:15"},
    {"now + 2 hours", "2026-11-21T09:30:15"},
    {"now+3days", "2026-11-24T07:30:15"},
    {"now+1week", "2026-11-28T07:30:15"},
    {"16:00", "2026-11-21T16:00:00"},
    {"07:30:16", "2026-11-21T07:30:16"},
    {"07:30:15", "2026-11-22T07:30:15"}, /* no longer to come */
    {"00:01", "2026-11-22T00:01:00"},
    {"4:00PM", "2026-11-21T16:00:00"},
    {"4:00 pm", "2026-11-21T16:00:00"},
    {"12:00am", "2026-11-22T00:00:00"},
    {"midnight", "2026-11-22T00:00:00"},
    {"noon", "2026-11-21T12:00:00"},
    {"fika", "2026-11-21T15:00:00"},
    {"teatime", "2026-11-21T16:00:00"},
    {"today", "2026-11-21T00:00:00"},
    {"tomorrow", "2026-11-22T00:00:00"},
    {"tomorrow 10:00", "2026-11-22T10:00:00"},
    {"10:00 tomorrow", "2026-11-22T10:00:00"},
    {"2027-01-01", "2027-01-01T00:00:00"},
    {"2027-01-01T10:00", "2027-01-01T10:00:00"},
    {"2027-01-01T10:00:05", "2027-01-01T10:00:05"},
    {"2027-01-01 10:00", "2027-01-01T10:00:00"},
    {"12/31", "2026-12-31T00:00:00"},
    {"12/31-10:00", "2026-12-31T10:00:00"},
    {"1/1", "2027-01-01T00:00:00"},
    {"1/1/28", "2028-01-01T00:00:00"},
    {"123126", "2026-12-31T00:00:00"},
    {"", NULL},
    {" ", NULL},
    {"4PM", NULL},
    {"24:00", NULL},
    {"10:60", NULL},
    {"13:00PM", NULL},
    {"10:00 11:00", NULL},
    {"2027-13-01", NULL},
    {"2027-01-01T", NULL},
    {"now+", NULL},
    {"now+1fortnight", NULL},
    {"now+1hour x", NULL},
    {"nowish", NULL},
    {"99999999999999999999", NULL},
    {"16:00x", NULL},
};

static void begin__has_the_meaning_that_sbatch_gives_it(void **state)
{
    (void)state;
    helio_sbatch_input_t input = {.wall_ms = test_now_ms(), .to_local = test_to_local, .from_local = test_from_local};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t wall_ms = 0;
        char text[HELIO_RFC3339_SIZE] = "refused";
        if (sbatch_begin(&input, rows[i].text, &wall_ms))
            helio_rfc3339(wall_ms, text);
        if (strncmp(text, rows[i].when ? rows[i].when : "refused", rows[i].when ? 19 : 7) != 0)
            fail_msg("'%s' gives %s instead of %s", rows[i].text, text, rows[i].when ? rows[i].when : "an error");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(begin__has_the_meaning_that_sbatch_gives_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
