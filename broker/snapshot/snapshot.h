/*  snapshot.h -- the live state as bytes: what a new leader would read, and the sites as they were last heard.
 *
 *  `GET /v1/snapshot` gives them to operators, and `helio rehearse` runs them on in virtual time. They begin with
 *  "HELIOSNAP" and the version; parts follow, each with its kind (u16), its length (u32; both little-endian) and its
 *  record in canonical encoding (wire/codec.h). Kinds below HELIO_SNAPSHOT_OPTIONS are those of LOAD_* events
 *  (broker/model/events.h), in the order that the core wants, without LOADED.
 *
 *  No part has a secret: documents, environments, commands and idempotency keys of jobs are left out, and so
 *  are the names of images, and users, passwords and queries of data URIs. Pure. */
#ifndef HELIO_BROKER_SNAPSHOT_H
#define HELIO_BROKER_SNAPSHOT_H

#include "broker/model/events.h"
#include "broker/model/options.h"

enum { HELIO_SNAPSHOT_VERSION = 2, HELIO_SNAPSHOT_MAX = 48 << 20 };

/*  With what the service runs. 0 = the default. */
#define HELIO_SNAPSHOT_OPTIONS_FIELDS(F, R) \
    F(R, TEXT, release, 32, _)              \
    F(R, U64, lease_ms, 0, _)               \
    F(R, U64, renew_ms, 0, _)               \
    F(R, U64, silent_after_ms, 0, _)        \
    F(R, U32, offers_unanswered_max, 0, _)
HELIO_RECORD_DECLARE(helio_snapshot_options, HELIO_SNAPSHOT_OPTIONS_FIELDS)

#define HELIO_SNAPSHOT_TAKEN_FIELDS(F, R) F(R, I64, wall_ms, 0, _)
HELIO_RECORD_DECLARE(helio_snapshot_taken, HELIO_SNAPSHOT_TAKEN_FIELDS)

/*  The snapshot is of a time that is over: its sites, tenants, quotas and queues are those of now, and its jobs are
 *  PAST_JOBs, which nobody has submitted when it begins. */
#define HELIO_SNAPSHOT_PAST_FIELDS(F, R) \
    F(R, I64, from_ms, 0, _)             \
    F(R, I64, to_ms, 0, _)
HELIO_RECORD_DECLARE(helio_snapshot_past, HELIO_SNAPSHOT_PAST_FIELDS)

/*  How long a job of that time worked in its last attempt, from the begin of that time on. */
#define HELIO_SNAPSHOT_RUN_FIELDS(F, R) \
    F(R, KEY, key, 0, _)                \
    F(R, U64, run_ms, 0, _)
HELIO_RECORD_DECLARE(helio_snapshot_run, HELIO_SNAPSHOT_RUN_FIELDS)

/*  NAME, record. The numbers are written to snapshots: append only. */
#define HELIO_SNAPSHOT_PART_TABLE(X)                                                                             \
    X(OPTIONS, helio_snapshot_options)                                                                           \
    X(TAKEN, helio_snapshot_taken)  /* by the clock of the database */                                           \
    X(CAPACITY, helio_row_capacity) /* of each pool, by the last summary of its site */                          \
    X(SERIES, helio_row_series)     /* the newest issue of every kind, also of what LOAD_SERIES does not have; \
                                     * of a time that is over, all issues, the older first */ \
    X(PAST, helio_snapshot_past)                                                                                 \
    X(PAST_JOB, helio_ev_load_job) /* the older first */                                                         \
    X(PAST_RUN, helio_snapshot_run)

typedef enum helio_snapshot_part {
    HELIO_SNAPSHOT_BEFORE_OPTIONS = 999,
#define X(NAME, record) HELIO_SNAPSHOT_##NAME,
    HELIO_SNAPSHOT_PART_TABLE(X)
#undef X
} helio_snapshot_part_t;

/*  A kind's name and record; type NULL: no part has this kind. */
helio_step_kind_t helio_snapshot_part(uint32_t kind);

void helio_snapshot_begin(helio_buffer_t *out);
/*  A LOAD_JOB or PAST_JOB loses its document and what only its processes read. HELIO_TOO_BIG: the snapshot would exceed its
 *  maximum. */
HELIO_MUST_CHECK helio_rc helio_snapshot_add(uint32_t kind, const void *record, helio_buffer_t *out,
                                             helio_error_t *err);

/*  Calls `visit` for each part. Texts are views into `bytes`, lists live in the arena, which only grows. HELIO_INVALID:
 *  no snapshot, or damaged. HELIO_VERSION: of another release; the text says what to do. */
typedef helio_rc helio_snapshot_visit_fn(void *arg, uint32_t kind, void *record, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_snapshot_each(helio_text_t bytes, helio_arena_t *arena, helio_snapshot_visit_fn *visit,
                                              void *arg, helio_error_t *err);

#endif
