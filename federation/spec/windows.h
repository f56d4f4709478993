/*  windows.h -- reservation windows: GPUs that a site reserves at certain hours; `windows` of a site file. */
#ifndef HELIO_SPEC_WINDOWS_H
#define HELIO_SPEC_WINDOWS_H

#include "federation/spec/spec.h"

enum { HELIO_WINDOWS_MAX = 64 };

/*  Either reserve_gpus with an optional `when`, or `series` with peak_gpus. `when` is a schedule
 *  (federation/energy/schedule.h) that the caller parses. */
typedef struct helio_window {
    helio_text_t pool;
    uint32_t reserve_gpus;
    helio_text_t when;
    helio_text_t series;
    uint32_t peak_gpus;
} helio_window_t;

typedef struct helio_windows {
    helio_window_t *items;
    uint32_t count;
} helio_windows_t;

extern const helio_spec_table_t helio_spec_window_table; /* of one window, for a LIST of them */

#endif
