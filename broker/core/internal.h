/*  internal.h -- the core itself, and its nouns, each with a header of its own. Only broker/core includes them.
 *
 *      submission 1 ── n job (one, or one per array task)      class 1 ── n job waiting, FIFO
 *      site 1 ── n pool, 1 ── n job live there, in order of dispatch
 */
#ifndef HELIO_BROKER_CORE_INTERNAL_H
#define HELIO_BROKER_CORE_INTERNAL_H

#include <utlist.h>

#include "broker/core/budget.h"
#include "broker/core/capacity.h"
#include "broker/core/class.h"
#include "broker/core/data.h"
#include "broker/core/duration.h"
#include "broker/core/edit.h"
#include "broker/core/evict.h"
#include "broker/core/fair.h"
#include "broker/core/gates.h"
#include "broker/core/jobs.h"
#include "broker/core/kept.h"
#include "broker/core/misfit.h"
#include "broker/core/moves.h"
#include "broker/core/place.h"
#include "broker/core/price.h"
#include "broker/core/queues.h"
#include "broker/core/report.h"
#include "broker/core/reserve.h"
#include "broker/core/site.h"
#include "broker/core/submit.h"
#include "federation/base/rng.h"
#include "federation/policy/choice.h"
#include "federation/policy/duration.h"
#include "federation/policy/overflow.h"

struct helio_broker_core {
    helio_broker_options_t options;
    helio_effects_t *effects; /* of the running step */
    const helio_event_t *event;
    int64_t now_ms;
    int64_t wall_ms;
    int64_t wall_ahead_ms;  /* of the monotonic clock */
    int64_t latest_wall_ms; /* that any step of this leader had */
    bool loaded;
    helio_rng_t rng;
    uint64_t incarnation;
    uint64_t broker_epoch;
    uint64_t leases_left_ms; /* of former leaders, when this one began */
    int64_t restored_ms;       /* by the wall; 0 = the database is the one that leaders before wrote */
    int64_t restored_until_ms; /* core_sites_awaited; 0 = they are not */
    uint64_t transition_seq;
    uint64_t decision_id;
    uint64_t open_batch;
    uint64_t session;
    helio_uuid_t newest_job; /* the last id given, by this leader or one before it */
    int64_t id_ms;           /* its millisecond, and how many of that were given */
    uint32_t id_count;
    uint64_t capacity_version;
    uint64_t facts_version;    /* counts changes of what scores rest on: profiles, series, whom offers go to */
    uint64_t pools_version;    /* counts changes of which pools there are */
    uint64_t reserved_version; /* capacity_version of the reservations */
    uint64_t rounds;
    int64_t look_ms; /* wall clock: the earliest of the classes' look_ms, and kept_ms; INT64_MAX = none */
    overflow_t *overflows;
    uint64_t overflow_version; /* counts their changes */
    calendar_t calendar;
    int64_t queues_look_ms;   /* the same of the queues' rules */
    int64_t queues_looked_ms; /* when that was found out */
    int64_t kept_ms; /* wall clock: what is kept is looked at again then; INT64_MAX = nothing is */
    moves_t moves;
    bool keeps;      /* some site told of GPUs that it keeps */
    int64_t unheard_until_ms; /* monotonic: evictions of the last leader may go on at sites not heard of until then */
    struct option *scratch; /* of an evaluation that is not kept */
    uint32_t scratch_capacity;
    helio_durations_t *durations;
    bool round_wanted;
    int64_t next_watch_ms; /* silence and leases are looked at then */
    tenant_t *tenants;
    queue_t *queues;
    site_t *sites;
    site_t *peers;
    job_t *jobs; /* in order of their ids, oldest first */
    array_t *arrays;
    job_class_t *classes;
    job_class_t *newest_class; /* asked for last: jobs of a burst are alike. NULL = gone */
    idempotency_t *keys;
    dataset_t *datasets; /* by prefix */
    uint32_t datasets_of_size[HELIO_DATA_PREFIX_MAX + 1]; /* how many have a prefix of so many bytes */
    uint32_t prefix_longest;                              /* of all that there ever were */
    link_entry_t *links;
    job_t *dirty;
    job_t *ended, *ended_last; /* of this step, in order */
    eviction_t *evictions;
    uint32_t eviction_count;
    waited_t *waited;
    gate_t **timed; /* a heap: the earliest first */
    uint32_t timed_count, timed_capacity;
    gate_t *dirty_gates;
    job_class_t *retired; /* left by an edited job in this step, which holds it until the next one */
    submission_t *buried; /* over, but effects of the last step may point into them */
    uint32_t open_jobs;
    helio_broker_figures_t figures;
};

/* clock.c: the time of a step, and whether somebody set the clock */
void core_clock_read(helio_broker_core_t *self, const helio_event_t *event);

/* emit.c: effects */
void core_emit(helio_broker_core_t *self, helio_broker_effect_t kind, const void *record);
void core_answer(helio_broker_core_t *self, uint64_t call, helio_rc rc, helio_reason_t reason, const char *format, ...)
    HELIO_PRINTF(5, 6);
void core_audit(helio_broker_core_t *self, helio_text_t user, const char *action, helio_text_t object,
                helio_text_t detail);
const char *core_printf(helio_broker_core_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
/*  At most `max` bytes of the text, never a part of a character. */
helio_text_t core_cut(const char *text, uint32_t max);
/*  A time that a site says, as any table can hold it: after 1970 and at most so far ahead of now. */
bool core_time_is_plausible(const helio_broker_core_t *self, int64_t wall_ms, int64_t ahead_ms);

/* load.c */
tenant_t *core_tenant_get(helio_broker_core_t *self, helio_text_t name); /* made when new */
void core_on_load(helio_broker_core_t *self, const helio_event_t *event);

#endif
