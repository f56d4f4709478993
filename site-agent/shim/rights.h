/*  rights.h -- from the agent's user to the job's: what every process of an attempt gives up before its program runs.
 *
 *  For a child between fork and exec, of a rank or of a channel, in this order: limit, drop, bind, signals. Each returns
 *  NULL, or which step failed, with errno.
 */
#ifndef HELIO_SHIM_RIGHTS_H
#define HELIO_SHIM_RIGHTS_H

#include "site-agent/shim/plan.h"

/*  What only the agent's user can do: enters the control group (NULL = none), and takes back what a service manager gave
 *  to the agent alone. Under a scheduler all of this is the scheduler's. */
const char *helio_rights_limit(const helio_plan_t *plan, const char *cgroup);
/*  The user and the groups of the plan, for good. Under a scheduler it has them already. */
const char *helio_rights_drop(const helio_plan_t *plan, const char *user);
/*  It ends with that parent (0 = it does not), and gains no rights by the programs that it runs, unless the plan
 *  allows it. */
const char *helio_rights_bind(const helio_plan_t *plan, pid_t parent);
/*  All signals at their defaults, none blocked. */
void helio_rights_signals(void);

#endif
