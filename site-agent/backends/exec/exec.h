/*  exec.h -- the backend `exec`: attempts are jobs of any engine, to which an adapter speaks: a program of the site's
 *  operator (docs/sites/exec.md has the protocol). The engine runs helio-shim; what the shim writes is believed, what the
 *  adapter says is believed where the shim is silent. The job's user can write what the shim writes: so times are charged
 *  within what the adapter says (charge.c), and a stop is not over while it says that the job runs.
 *
 *  Sources of truth, strongest first:
 *    1. the attempt's folder: `claim` (the shim that holds it runs, and no other ever will, so a job that the engine
 *       holds twice runs once), `started`, `done`;
 *    2. the adapter's inventory: everything with this site's mark, complete by its own count.
 *  Silence is not a source: an inventory that failed, timed out, was cut or does not add up changes nothing.
 *
 *  One run of the adapter answers one request, so that an adapter that hangs, dies, prints garbage or prints without end
 *  costs that request alone. A submission without an answer is looked for in an inventory that was asked for later, and
 *  repeated under the same name if it is not there.
 *
 *  The folder lies where agent and nodes both see it; or the adapter carries it: then the agent's copy is made current
 *  by each inventory, and closing a folder that no shim has claimed is the adapter's work (`fence`).
 */
#ifndef HELIO_BACKENDS_EXEC_H
#define HELIO_BACKENDS_EXEC_H

#include "site-agent/backends/backend.h"
#include "site-agent/backends/rules.h"

typedef struct helio_exec_settings {
    struct {
        helio_string_t *items; /* the adapter and its arguments */
        uint32_t count;
    } command;
    helio_text_t folder;  /* of the attempts: the nodes see it under the same path */
    bool carries;         /* the adapter brings the folders to the nodes, and what they become back */
    uint64_t poll_ms;     /* 500..60000 */
    uint64_t timeout_ms;  /* of one request */
    uint64_t withdraw_ms; /* what waits in the engine's queue for so long is withdrawn; 0 = never */
    uint64_t prolog_ms;   /* longest time from the engine's start of a job to its first program */
    uint64_t clock_tolerance_ms;
    helio_text_t shim; /* path of helio-shim on the nodes; "" = a copy in `folder` */
} helio_exec_settings_t;

/*  The group `exec` of a site file's `agent:` part. */
extern const helio_spec_table_t helio_exec_settings_table;

typedef struct helio_exec_options {
    const helio_site_profile_t *site; /* deep copies, as all members */
    const helio_job_rules_t *rules;
    const helio_exec_settings_t *settings;
    const char *shim; /* helio-shim of this machine, to be copied */
    uint64_t lease_margin_ms;
    helio_backend_sink_t sink;
} helio_exec_options_t;

HELIO_MUST_CHECK helio_rc helio_exec_new(const helio_exec_options_t *options, helio_backend_t **ret_backend,
                                         helio_error_t *err);

/*  Asks the adapter, once and at start, whether its engine runs gangs, and says so in the pools' options. Pools of one node
 *  need no answer. An adapter that gives none runs no gangs until the agent starts again. */
void helio_exec_fill_site(helio_site_profile_t *site, const helio_exec_settings_t *settings, helio_arena_t *arena);

/*  ---- helio-agent check, and check-backend ---- */

/*  One line each, in order: what was checked, whether it is correct, and the detail or the remedy. probe: also runs jobs,
 *  and holds the adapter to what docs/sites/exec.md asks of it. */
typedef void helio_exec_check_fn(void *arg, const char *what, helio_rc rc, const char *detail);
void helio_exec_check(const helio_exec_options_t *options, bool probe, helio_exec_check_fn *line, void *arg);

/*  The same with `probe`, for an adapter without a site file: its pool is what the adapter's first node says. */
typedef struct helio_exec_program {
    const char *const *argv; /* NULL-terminated */
    const char *folder;      /* absolute; exists */
    const char *shim;
    const char *user; /* jobs run as this user */
} helio_exec_program_t;
void helio_exec_check_program(const helio_exec_program_t *program, helio_exec_check_fn *line, void *arg);

#endif
