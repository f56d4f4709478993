/*  local_testing.h -- the reports of the backend `local`, as a test expects them, while agents and shims die, leases
 *  end, disks fill, and users are unknown. */
#ifndef HELIO_TESTS_SITE_AGENT_BACKENDS_LOCAL_TESTING_H
#define HELIO_TESTS_SITE_AGENT_BACKENDS_LOCAL_TESTING_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "federation/base/clock.h"
#include "site-agent/shim/plan.h"
#include "tests/support/local_fixture.h"

#define SKIP_LOUDLY(why)                     \
    do {                                     \
        print_message("SKIPPED: " why "\n"); \
        skip();                              \
    } while (0)

static inline void expect(const heard_t *heard, helio_backend_report_t word)
{
    if (heard->event.word != word)
        fail_msg("%s (%s) instead of %s", helio_backend_report_name(heard->event.word), heard->explanation,
                 helio_backend_report_name(word));
}

static inline void expect_end(const heard_t *heard, int exit_code)
{
    expect(heard, HELIO_BACKEND_REPORT_ENDED);
    assert_int_equal(heard->event.exit_code, exit_code);
}

#endif
