/*  agent.h -- the shell around the core: one thread, one loop; uplink, backend and journal in, effects out.
 *
 *  Each turn of the loop ends with a batch: rows are committed, then what waited for them leaves, in order. A
 * journal that cannot be written ends the agent: what is on disk is then unknown, and only a fresh start can
 * know. Thread: one owner. Ending an agent ends no attempt.
 */
#ifndef HELIO_AGENT_AGENT_H
#define HELIO_AGENT_AGENT_H

#include "federation/base/log.h"
#include "federation/net/loop.h"
#include "site-agent/agent/settings.h"
#include "site-agent/backends/backend.h"

typedef struct helio_agent helio_agent_t;

/*  Makes the backend that the settings name. */
typedef helio_rc helio_make_backend_fn(const helio_agent_settings_t *settings,
                                       const helio_backend_sink_t *sink, helio_backend_t **ret_backend,
                                       helio_error_t *err);

typedef struct helio_agent_parts {
    const helio_agent_settings_t *settings; /* borrowed: outlives the agent */
    helio_make_backend_fn *make_backend;
    helio_loop_t *loop; /* borrowed */
    helio_log_t *log;   /* borrowed */
} helio_agent_parts_t;

/*  Opens the journal, takes over what runs, and begins to call the brokers. state_dir must be locked by the
 * caller. */
HELIO_MUST_CHECK helio_rc helio_agent_new(const helio_agent_parts_t *parts, helio_agent_t **ret_agent,
                                          helio_error_t *err);
void helio_agent_destroy(helio_agent_t **self_p);

/*  Turns until helio_agent_stop; HELIO_IO and the like when the agent must not go on. */
HELIO_MUST_CHECK helio_rc helio_agent_run(helio_agent_t *self, helio_error_t *err);
/*  One turn, for tests. */
HELIO_MUST_CHECK helio_rc helio_agent_turn(helio_agent_t *self, int64_t timeout_ms, helio_error_t *err);
/*  From the loop: says BYE, then run returns. Attempts keep running. */
void helio_agent_stop(helio_agent_t *self, const char *reason);

void helio_agent_figures(const helio_agent_t *self, helio_agent_figures_t *ret_figures);

#endif
