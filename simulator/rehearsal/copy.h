/*  copy.h -- a broker's snapshot in memory: the rows that a new leader would load, by site and by job. */
#ifndef HELIO_SIMULATOR_REHEARSAL_COPY_H
#define HELIO_SIMULATOR_REHEARSAL_COPY_H

#include <uthash.h>

#include "broker/snapshot/snapshot.h"

typedef struct reh_part {
    uint32_t kind;
    void *record;
} reh_part_t;

/*  A site, its pools in the order of its profile, and what it said last. */
typedef struct reh_site_copy {
    const helio_row_site_t *row;
    helio_site_profile_t profile;
    const helio_row_capacity_t *capacities[HELIO_SITE_POOLS_MAX]; /* NULL: the pool was in no summary */
    helio_row_series_t **series;
    uint32_t series_count;
} reh_site_copy_t;

typedef struct reh_job_copy {
    UT_hash_handle hh;
    helio_uuid_t id;
    helio_ev_load_job_t *load;
    uint64_t class_id;      /* as edited last */
    uint64_t time_limit_ms; /* likewise */
    uint32_t over_count;    /* tasks that are over */
} reh_job_copy_t;

/*  How long a job of a time that is over worked. */
typedef struct reh_past_run {
    UT_hash_handle hh;
    helio_job_key_t key;
    uint64_t run_ms;
} reh_past_run_t;

/*  An attempt that the sites have, as the database knows it. */
typedef struct reh_attempt_copy {
    const helio_row_state_t *state;
    uint64_t expected_ms, transfer_ms;
} reh_attempt_copy_t;

typedef struct reh_copy {
    helio_arena_t *arena;
    reh_part_t *parts; /* those of LOAD_* events, in their order */
    uint32_t part_count;
    helio_snapshot_options_t options;
    int64_t taken_ms;
    uint64_t incarnation;
    reh_site_copy_t *sites;
    uint32_t site_count;
    uint64_t node_count; /* of all their pools */
    reh_job_copy_t *jobs;
    bool is_past; /* of a time that is over: from taken_ms to past_to_ms */
    int64_t past_to_ms;
    const reh_job_copy_t **past_jobs; /* in the order of their submissions */
    uint32_t past_job_count;
    reh_past_run_t *past_runs;
    reh_attempt_copy_t *attempts; /* of jobs in a live state */
    uint32_t attempt_count;
    const helio_job_key_t *last_state; /* of the last LOAD_STATE; NULL = none yet */
    helio_job_key_t *over;             /* tasks that are over; ascending */
    uint32_t over_count;
} reh_copy_t;

/*  bytes must outlive the copy. Each call makes records of its own, which a change can alter. The errors are those of
 *  helio_snapshot_each and reh_sound_part. */
HELIO_MUST_CHECK helio_rc reh_copy_read(helio_text_t bytes, reh_copy_t *ret_copy, helio_error_t *err);
void reh_copy_clear(reh_copy_t *self);

reh_site_copy_t *reh_copy_site(const reh_copy_t *self, helio_text_t name); /* NULL = unknown */
reh_job_copy_t *reh_copy_job(const reh_copy_t *self, helio_uuid_t job);    /* NULL = unknown */
/*  How long it worked in that time; 0 = not known. */
uint64_t reh_copy_run_ms(const reh_copy_t *self, helio_job_key_t key);
/*  Whether it was in session when the snapshot was taken, as far as the database knows. In a
 *  time that is over each site was. */
bool reh_copy_is_up(const reh_copy_t *self, const reh_site_copy_t *site);

#endif
