/*  internal.h -- the struct of the agent's core, which its files share. Only site-agent/core includes it.
 *
 *  State of one file alone is opaque here: see known.h, reports.h, summary.h and capacity.h.
 */
#ifndef HELIO_AGENT_INTERNAL_H
#define HELIO_AGENT_INTERNAL_H

#include "site-agent/core/agent_core.h"
#include "site-agent/core/capacity.h"
#include "site-agent/core/known.h"

typedef struct helio_reports helio_reports_t;
typedef struct helio_summary helio_summary_t;

/*  attempts.c */
typedef struct helio_attempts {
    helio_attempt_t *first, *last; /* in the order of acceptance */
    uint32_t count;                /* held, ended ones included */
    uint32_t leased;               /* they stop when the lease ends; not over */
    uint32_t found;                /* of unknown size, not over */
} helio_attempts_t;

/*  session.c */
typedef enum helio_session_phase {
    HELIO_SESSION_NONE,
    HELIO_SESSION_HELLO,
    HELIO_SESSION_INVENTORY,
    HELIO_SESSION_OPEN
} helio_session_phase_t;

typedef struct helio_session {
    helio_session_phase_t phase;
    int64_t hello_ms;
    helio_aev_welcome_t welcome;
    uint64_t dispatch_seen;
    /*  For a backend with a scheduler of its own: the last dispatch whose start the backend was called for (its batch
     *  is sealed), and the last one that the reported capacity contains. */
    uint64_t dispatch_started, dispatch_reported;
    int64_t next_renew_ms;
    int64_t summarised_ms, next_summary_ms;
} helio_session_t;

struct helio_agent_core {
    helio_agent_options_t options;
    helio_arena_t *profile_arena;
    helio_site_profile_t profile;
    helio_capacity_t *capacity; /* NULL if the backend allocates */

    uint32_t gpus_gone[HELIO_SITE_POOLS_MAX]; /* by the last look */

    const helio_event_t *event; /* during a step */
    helio_effects_t *effects;
    uint64_t open_batch;
    bool loaded;
    bool reconcile_only;
    bool surveyed; /* the backend has reported all that it holds */
    bool disk_full;
    bool state_gone; /* an attempt that starts now would be forgotten */
    bool has_meta, meta_changed;
    helio_jrow_meta_t meta;
    uint64_t loaded_seq;  /* meta.report_seq as the journal had it, and the HELLOs since; until has_opened */
    bool has_opened;      /* a session, since the start */
    uint32_t lease_stage; /* lease.c */
    bool lease_changed;   /* its end, or the attempts that have it: the backend is told at the end of the step */

    helio_known_table_t *known;
    helio_attempts_t attempts;
    helio_reports_t *reports;
    helio_session_t session;
    helio_summary_t *summary;

    helio_agent_figures_t figures;
};

static inline bool helio_session_is_open(const helio_agent_core_t *self)
{
    return self->session.phase == HELIO_SESSION_OPEN;
}

/*  emit.c */
void helio_agent_emit(helio_agent_core_t *self, uint32_t kind, const void *record);

#endif
