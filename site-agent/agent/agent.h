/*  agent.h -- the shell around the core: one thread, one loop; uplink, backend and journal in, effects out.
 *
 *  Each turn of the loop ends with a batch: rows are committed, then the effects that waited for them are carried out,
 *  in order. If the journal cannot be written, the agent ends: the state on disk is then unknown, and only a restart
 *  can read it. Thread: one owner. Ending an agent ends no attempt.
 */
#ifndef HELIO_AGENT_AGENT_H
#define HELIO_AGENT_AGENT_H

#include "federation/base/log.h"
#include "federation/net/loop.h"
#include "site-agent/agent/settings.h"
#include "site-agent/agent/tenure.h"
#include "site-agent/backends/backend.h"

typedef struct helio_agent helio_agent_t;

/*  Makes the backend that the settings name. */
typedef helio_rc helio_make_backend_fn(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
                                       helio_backend_t **ret_backend, helio_error_t *err);

typedef struct helio_agent_parts {
    const helio_agent_settings_t *settings; /* borrowed: outlives the agent */
    helio_make_backend_fn *make_backend;
    helio_loop_t *loop;     /* borrowed */
    helio_log_t *log;       /* borrowed */
    helio_tenure_t *tenure; /* of state_dir; borrowed */
} helio_agent_parts_t;

/*  Opens the journal, adopts what runs, and begins to connect to the brokers. */
HELIO_MUST_CHECK helio_rc helio_agent_new(const helio_agent_parts_t *parts, helio_agent_t **ret_agent,
                                          helio_error_t *err);
void helio_agent_destroy(helio_agent_t **self_p);

/*  Turns until helio_agent_stop. Returns HELIO_IO or another error when the agent must not go on. */
HELIO_MUST_CHECK helio_rc helio_agent_run(helio_agent_t *self, helio_error_t *err);
/*  Runs one turn; for tests. */
HELIO_MUST_CHECK helio_rc helio_agent_turn(helio_agent_t *self, int64_t timeout_ms, helio_error_t *err);
/*  Called from the loop: sends BYE, then run returns. Attempts keep running. */
void helio_agent_stop(helio_agent_t *self, const char *reason);

void helio_agent_figures(const helio_agent_t *self, helio_agent_figures_t *ret_figures);

#endif
