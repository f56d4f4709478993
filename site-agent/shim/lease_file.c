/*  lease_file.c -- reads the lease file, with the clocks before and after. */
#include "site-agent/shim/lease_file.h"

#include <fcntl.h>

#include "federation/base/clock.h"

enum { PATH_SIZE = 4096 };

void helio_lease_file_read(const helio_plan_t *plan, helio_lease_watch_t *watch)
{
    char name[PATH_SIZE];
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_lease_t lease;
    int64_t asked_ms = helio_clock_boot_ms();
    if (helio_text_copy(plan->lease, name, sizeof name) &&
        helio_status_file_read(AT_FDCWD, name, HELIO_LEASE_FILE_MAX, &text, NULL) == HELIO_OK &&
        helio_lease_parse(helio_buffer_view(&text), plan->lease_name, &lease) == HELIO_OK)
        helio_lease_watch_see(watch, &lease, asked_ms, helio_clock_boot_ms(), helio_clock_wall_ms());
}
