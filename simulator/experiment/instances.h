/*  instances.h -- the nodes of one pool that are instances of a provider: when they come, when the provider takes them away, and
 *  when they end. Deterministic by the seed of the run.
 *
 *  The first nodes of a pool (`nodes`) are always wanted: of a spot pool, one that is taken away is replaced. Those behind them, up
 *  to `max_nodes`, come and go by what waiting jobs want, as the plan of the agents decides (site-agent/scale/plan.h).
 *
 *  The provider names an instance EXP_NOTICE_MS before it takes it away. From then on it takes no job, and what runs there stops. The
 *  time until then is drawn from an exponential distribution with the mean 1 / interruptions_per_h, once for each instance: the
 *  same one lives as long under every policy. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_INSTANCES_H
#define HELIO_SIMULATOR_EXPERIMENT_INSTANCES_H

#include "federation/base/rng.h"
#include "simulator/experiment/fleet.h"
#include "simulator/experiment/nodes.h"
#include "site-agent/scale/plan.h"

enum {
    EXP_NOTICE_MS = 120000, /* what the largest provider gives: two minutes */
    EXP_SCALE_MS = 10000    /* the plan is asked this often, while it can have something to do */
};

typedef enum exp_instance_state {
    EXP_INSTANCE_NONE,
    EXP_INSTANCE_STARTS,
    EXP_INSTANCE_RUNS,
    EXP_INSTANCE_TAKEN /* named by the provider, and still there */
} exp_instance_state_t;

typedef struct exp_instance {
    exp_instance_state_t state;
    uint64_t number;    /* of the pool; no two instances have one */
    int64_t ordered_ms; /* it is paid from then on */
    int64_t next_ms;    /* the provider names it; of one that is taken, it ends */
    int64_t joins_ms;   /* its node is there */
} exp_instance_t;

typedef struct exp_instances exp_instances_t;

/*  NULL: the pool's nodes are always there. began_ms: wall clock, as all times below. */
exp_instances_t *exp_instances_new(const helio_pool_t *pool, const helio_scale_rule_t *rule, uint64_t seed,
                                   exp_nodes_t *nodes, int64_t began_ms);
void exp_instances_destroy(exp_instances_t **self_p);

/*  The nodes that waiting jobs want, as the broker says. */
void exp_instances_demand(exp_instances_t *self, uint32_t nodes, int64_t now_ms);
/*  An order came for the pool. */
void exp_instances_order(exp_instances_t *self, int64_t now_ms);

/*  A node that the provider names now: the caller ends what runs there, and calls it until there is none. False: none. */
bool exp_instances_take(exp_instances_t *self, int64_t now_ms, uint32_t *ret_node);
/*  After that: what joins and what ends. Returns whether the site offers other nodes than before. */
bool exp_instances_renew(exp_instances_t *self, int64_t now_ms);
/*  What the plan wants, once the broker has heard what there is, and has said what jobs want. Likewise. */
bool exp_instances_plan_is_due(const exp_instances_t *self, int64_t now_ms);
bool exp_instances_plan(exp_instances_t *self, int64_t now_ms);
/*  The site is gone, and all instances with it; or it is back, with those that are always wanted. */
void exp_instances_lose(exp_instances_t *self, int64_t now_ms);
void exp_instances_return(exp_instances_t *self, int64_t now_ms);

/*  When something is due; INT64_MAX: nothing is. anything_waits: jobs of the federation do. */
int64_t exp_instances_next_ms(const exp_instances_t *self, bool anything_waits, int64_t now_ms);
bool exp_instances_are_elastic(const exp_instances_t *self);

/*  An instance beyond the first nodes, which ended, or ran until the end of the run. */
typedef struct exp_instance_time {
    int64_t from_ms, to_ms;
} exp_instance_time_t;
/*  Those that ended since the last call; at `all`, those that still run too. False: no more. */
bool exp_instances_account(exp_instances_t *self, bool all, int64_t now_ms, exp_instance_time_t *ret_time);
bool exp_instances_is_ordered(const exp_instances_t *self, uint32_t node);

#endif
