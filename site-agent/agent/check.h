/*  check.h -- `helio-agent --check`: everything that a running agent needs, one line each, with the remedy. */
#ifndef HELIO_AGENT_CHECK_H
#define HELIO_AGENT_CHECK_H

#include "site-agent/agent/agent.h"

/*  Prints to standard output. Makes nothing, except the folders below a cluster's shared folder when they are missing.
 *  probe: also submits a job to each pool of a cluster. Returns the number of lines that failed. */
uint32_t helio_agent_check(const helio_agent_settings_t *settings, bool probe);

/*  Of the backend `local`: the runtime of containers, and one run of it as each Unix user of jobs, if the site file names
 *  an image for that. No line where it names no runtime. */
typedef void helio_check_line_fn(void *arg, const char *what, helio_rc rc, const char *detail);
void helio_check_containers(const helio_agent_settings_t *settings, helio_check_line_fn *line, void *arg);

/*  Of the backend `local`: the pools whose GPUs are cut or shared, and their MPS daemons. advise: what works, and may
 *  surprise. No line where no GPU is shared. */
void helio_check_shares(const helio_agent_settings_t *settings, helio_check_line_fn *line,
                        void (*advise)(const char *what, const char *detail), void *arg);

/*  Holds an adapter of the backend `exec` to docs/sites/exec.md, by jobs among others. argv: the program and its
 *  arguments; folder NULL: a new one; user NULL: the caller. Prints, and returns the number of lines that failed. */
uint32_t helio_agent_check_adapter(const char *const *argv, const char *folder, const char *user);

/*  Checks a site that is a cluster of Slurm or Kubernetes, or has an adapter: one line for each thing that is checked. */
void helio_check_cluster(const helio_agent_settings_t *settings, bool probe,
                         void (*line)(void *arg, const char *what, helio_rc rc, const char *detail), void *arg);

/*  A backend that is no cluster: whether it could work. HELIO_INVALID: not one of this release. */
HELIO_MUST_CHECK helio_rc helio_check_backend(const helio_agent_settings_t *settings, helio_error_t *err);

/*  Of the backend `local`: whether jobs get control groups (ret_text: which), else what that means. Not an error: the
 *  agent works without. */
enum { HELIO_CHECK_TEXT_SIZE = 500 };
HELIO_MUST_CHECK helio_rc helio_check_cgroups(const helio_agent_settings_t *settings,
                                              char ret_text[HELIO_CHECK_TEXT_SIZE], helio_error_t *err);

/*  The backend that a site file names. HELIO_INVALID: not one of this release. */
HELIO_MUST_CHECK helio_rc helio_make_backend(const helio_agent_settings_t *settings, const helio_backend_sink_t *sink,
                                             helio_backend_t **ret_backend, helio_error_t *err);

#endif
