/*  plan.h -- how one attempt is to be run: written by the agent, read by the shim; and who runs it.
 *
 *  Plain values; texts are views into the arena or buffer that they were read from.
 */
#ifndef HELIO_SHIM_PLAN_H
#define HELIO_SHIM_PLAN_H

#include "site-agent/shim/marks.h"
#include "site-agent/shim/process.h"

enum { HELIO_PLAN_RANKS_MAX = 256, HELIO_PLAN_GPUS_MAX = 64 };

typedef struct helio_plan {
    uint32_t uid;
    uint32_t gid;
    helio_text_t user; /* for initgroups */
    helio_text_t workdir;
    helio_text_t lease; /* path of the site's lease file; "" = none */
    helio_text_t
        mark; /* "HELIO_OUTPUT_DIR=…": what only this attempt's processes carry in their environment */
    uint64_t time_limit_ms; /* 0 = none */
    uint64_t grace_ms;
    uint64_t log_max_bytes;
    uint32_t checkpoint_signal;               /* 0 = TERM */
    helio_text_t ranks[HELIO_PLAN_RANKS_MAX]; /* each: GPU indices "0,1", "" = none */
    uint32_t rank_count;
} helio_plan_t;

void helio_plan_text(const helio_plan_t *self, helio_buffer_t *out);
HELIO_MUST_CHECK helio_rc helio_plan_parse(helio_text_t text, helio_plan_t *ret_plan, helio_error_t *err);

/*  claim: the shim of this folder, or nobody (pid 0): the agent has closed it before any shim came. */
typedef struct helio_claim {
    helio_process_t shim;
    char boot_id[HELIO_BOOT_ID_SIZE];
} helio_claim_t;

void helio_claim_text(const helio_claim_t *self, helio_buffer_t *out);
HELIO_MUST_CHECK helio_rc helio_claim_parse(helio_text_t text, helio_claim_t *ret_claim);

/*  started: the leaders of the ranks' sessions. */
typedef struct helio_started {
    int64_t wall_ms;
    int64_t boot_ms;
    helio_process_t ranks[HELIO_PLAN_RANKS_MAX];
    uint32_t rank_count;
} helio_started_t;

void helio_started_text(const helio_started_t *self, helio_buffer_t *out);
HELIO_MUST_CHECK helio_rc helio_started_parse(helio_text_t text, helio_started_t *ret_started);

/*  The lease file: stop politely at the first CLOCK_BOOTTIME in ms, kill at the second; of one boot only. */
typedef struct helio_lease {
    int64_t stop_boot_ms;
    int64_t kill_boot_ms;
    char boot_id[HELIO_BOOT_ID_SIZE];
} helio_lease_t;

void helio_lease_text(const helio_lease_t *self, helio_buffer_t *out);
HELIO_MUST_CHECK helio_rc helio_lease_parse(helio_text_t text, helio_lease_t *ret_lease);

#endif
