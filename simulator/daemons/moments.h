/*  moments.h -- what the nodes ask of the world above them, and the named moments that they report to it.
 *
 *  Each world fills both tables once, as constants. The nodes call nothing else above them.
 */
#ifndef HELIO_SIMULATOR_DAEMONS_MOMENTS_H
#define HELIO_SIMULATOR_DAEMONS_MOMENTS_H

#include "broker/model/effects.h"
#include "broker/model/events.h"

/*  What a job's program does when it runs undisturbed. */
typedef struct sim_program {
    int64_t duration_ms; /* until it ends by itself, or by its limit */
    bool limit_hits;
    int32_t exit_code; /* when no limit hits */
} sim_program_t;

/*  Questions. The answer depends on the arguments and on what the world has decided, never on the caller. */
typedef struct sim_script {
    void (*spec)(void *arg, helio_text_t source, helio_job_spec_t *ret_spec); /* as a takeover parses it */
    sim_program_t (*program)(void *arg, helio_text_t source);
    /* adds the series that the site's feeds have; wall_ms: by the site's clock */
    void (*feeds)(void *arg, uint32_t site, int64_t wall_ms, helio_site_summary_t *summary);
} sim_script_t;

typedef struct sim_moments {
    /* the newest leader emitted this effect; none of it is durable or sent yet. wall_ms: by the leader's clock */
    void (*decided)(void *arg, uint32_t event_kind, const helio_effect_t *effect, int64_t wall_ms);
    void (*committed)(void *arg);                              /* a batch may have become durable */
    void (*order_left)(void *arg, const helio_order_t *order); /* the broker */
    /* a leader grants a site's request for a lease; newest: as below */
    void (*granted)(void *arg, uint32_t site, int64_t sent_boot_ms, bool newest);
    /* newest: no other broker has become leader; otherwise the reply may miss what is stored */
    void (*answered)(void *arg, const helio_fx_reply_t *reply, bool newest);
    void (*takeover_began)(void *arg); /* what the last leader had not stored is lost */
    void (*takeover_ended)(void *arg); /* the new leader has loaded everything that was stored */
} sim_moments_t;

#endif
