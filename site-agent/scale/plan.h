/*  plan.h -- what happens to the instances of one elastic pool: create some, end one, or nothing. Pure.
 *
 *  Instances are what the provider lists; nodes are what the engine shows of them, by the same name. Nothing is done before
 *  a list that is younger than the last action, so an agent that restarts, and one whose command timed out, acts on what
 *  there is. An instance ends only after it was named as leaving for HELIO_SCALE_LEAVE_MS, in which the site offers it no
 *  more, and in which no order came for the pool.
 */
#ifndef HELIO_SITE_AGENT_SCALE_PLAN_H
#define HELIO_SITE_AGENT_SCALE_PLAN_H

#include "federation/base/memory.h"
#include "site-agent/scale/settings.h"

enum {
    HELIO_SCALE_INSTANCES_MAX = 4096,
    HELIO_SCALE_NAME_SIZE = 64,
    HELIO_SCALE_AT_ONCE = 16,          /* instances that one command creates */
    HELIO_SCALE_SETTLE_MS = 8000,      /* after a node joined, until the demand knows of it */
    HELIO_SCALE_LEAVE_MS = 8000,       /* longer than a summary takes to reach the broker */
    HELIO_SCALE_DEMAND_OLD_MS = 90000, /* a broker repeats it every 30 s */
    HELIO_SCALE_NODES_OLD_MS = 60000   /* of an engine that is silent, nothing is ended */
};

typedef struct helio_scale_instance {
    char name[HELIO_SCALE_NAME_SIZE];
    bool ending;
    bool taken;         /* the provider takes it away, as the list says, ... */
    bool noticed;       /* ... or as a notice does: no job may start there, and those that run stop */
    bool told;          /* that it is taken away */
    bool node, busy;    /* the engine shows it; a job runs on it, or may be about to */
    bool was_node;      /* before the inventory that is being read */
    bool seen;          /* the engine was asked since it was first listed: until then nothing is known of its jobs */
    int64_t idle_ms;    /* since when no job is on it; 0 = one is */
    int64_t leaving_ms; /* since when it is offered no more; 0 = it is */
} helio_scale_instance_t;

/*  All times are of CLOCK_BOOTTIME. */
typedef struct helio_scale_pool {
    const helio_scale_rule_t *rule;
    uint64_t provision_ms;
    helio_scale_instance_t *items; /* HELIO_SCALE_INSTANCES_MAX */
    uint32_t count;
    bool listed;                /* since the last action */
    uint32_t demand;            /* nodes that jobs need which wait at the broker */
    uint32_t waiting;           /* and those that wait at the engine: it lost the node that they were to get */
    int64_t demand_ms;          /* when it came; 0 = never */
    int64_t joined_ms;          /* when the engine last showed an instance for the first time */
    int64_t told_ms;            /* when the engine last said which nodes it has */
    int64_t above_ms, below_ms; /* since when the demand is above or below the rule's bounds; 0 = it is not */
    uint32_t due;               /* instances that exist by what was created, though no list shows them yet */
    int64_t due_ms;             /* until then */
    uint32_t failures;          /* commands in a row */
    int64_t wait_ms;            /* nothing is done before */
} helio_scale_pool_t;

typedef enum helio_scale_act { HELIO_SCALE_NOTHING, HELIO_SCALE_CREATE, HELIO_SCALE_DELETE } helio_scale_act_t;

typedef struct helio_scale_step {
    helio_scale_act_t act;
    uint32_t count;   /* CREATE */
    const char *name; /* DELETE */
} helio_scale_step_t;

/*  The provider's answer: a line for each instance, "NAME", "NAME ending" or "NAME interrupted" (the provider takes it
 *  away); further words are ignored. INVALID: a line
 *  that is none, or more lines than an answer can have; then nothing of it counts. What was known of an instance stays. */
HELIO_MUST_CHECK helio_rc helio_scale_list(helio_scale_pool_t *self, helio_text_t answer, int64_t now_ms,
                                           helio_error_t *err);
void helio_scale_demand(helio_scale_pool_t *self, uint32_t nodes, int64_t now_ms);
/*  Before the nodes of an inventory; then each node; then the end. waiting: nodes that jobs need which wait there. */
void helio_scale_nodes_begin(helio_scale_pool_t *self);
void helio_scale_node(helio_scale_pool_t *self, helio_text_t name, bool busy);
void helio_scale_nodes_end(helio_scale_pool_t *self, uint32_t waiting, int64_t now_ms);
/*  An order came for the pool: no node of it leaves. */
void helio_scale_order(helio_scale_pool_t *self, int64_t now_ms);

/*  What to do now. A CREATE or DELETE that is returned counts as begun: the next one follows a new list. */
helio_scale_step_t helio_scale_decide(helio_scale_pool_t *self, int64_t now_ms);
/*  How a command ended, a list included. */
void helio_scale_ended(helio_scale_pool_t *self, bool well, int64_t now_ms);
/*  Before the notices that there are; then each of them, which names an instance that the provider takes away. */
void helio_scale_notices_begin(helio_scale_pool_t *self);
void helio_scale_notice(helio_scale_pool_t *self, helio_text_t name);
bool helio_scale_is_taken(const helio_scale_pool_t *self, helio_text_t name);
/*  An instance that is taken away, each once; NULL: no more. */
const char *helio_scale_news(helio_scale_pool_t *self);
/*  Nodes that leave, without those that are taken away: the site offers none of them. */
uint32_t helio_scale_leaving(const helio_scale_pool_t *self);

#endif
