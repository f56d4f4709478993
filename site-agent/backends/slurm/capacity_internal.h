/*  capacity_internal.h -- what holds which node until when: the basis of all figures. Lives in the arena. */
#ifndef HELIO_BACKENDS_SLURM_CAPACITY_INTERNAL_H
#define HELIO_BACKENDS_SLURM_CAPACITY_INTERNAL_H

#include "site-agent/backends/slurm/capacity.h"
#include "site-agent/core/capacity.h"

#define HELIO_SLURM_FOREVER INT64_MAX
#define HELIO_SLURM_NONE UINT32_MAX    /* no such place */
#define HELIO_SLURM_UNKNOWN UINT32_MAX /* a number that Slurm does not report */

enum { HELIO_SLURM_LEVELS = HELIO_JOB_GPUS_PER_NODE_MAX + 1 };

typedef enum helio_slurm_hold_kind {
    HELIO_SLURM_HOLD_RUNS,     /* a job that has the node */
    HELIO_SLURM_HOLD_EXPECTED, /* a pending job that Slurm expects to get it */
    HELIO_SLURM_HOLD_RESERVED, /* a reservation of the whole node */
    HELIO_SLURM_HOLD_PART,     /* a reservation of some of its GPUs */
    HELIO_SLURM_HOLD_WAITING   /* an attempt of the federation that will get it at once */
} helio_slurm_hold_kind_t;

typedef struct helio_slurm_hold {
    struct helio_slurm_hold *next;    /* of the same node */
    struct helio_slurm_hold *sibling; /* of the same job */
    const helio_slurm_job_t *job;     /* NULL: not a job of squeue's list */
    helio_slurm_hold_kind_t kind;
    uint32_t node;
    uint32_t gpus;          /* on this node; HELIO_SLURM_UNKNOWN: some, or none */
    uint32_t kinds;         /* WAITING: bit i = some are of the node's gpus[i] */
    int64_t start_s, end_s; /* end: FOREVER = unknown */
} helio_slurm_hold_t;

typedef struct helio_slurm_place {
    const helio_slurm_node_t *node;
    helio_slurm_hold_t *holds;
    bool ready;                          /* can run jobs, or would be started for one */
    bool reserved;                       /* the whole node, now */
    uint32_t part;                       /* its GPUs that a reservation holds now */
    uint32_t used[HELIO_SLURM_GRES_MAX]; /* GPUs of each kind */
    uint32_t free[HELIO_SLURM_GRES_MAX]; /* GPUs of each kind that are not in use and not taken for waiting attempts */
    uint32_t cpus;                       /* likewise */
    uint64_t memory_bytes;               /* likewise */
} helio_slurm_place_t;

typedef struct helio_slurm_picture {
    const helio_slurm_view_t *view;
    helio_arena_t *arena;
    int64_t now_s;
    helio_slurm_place_t *places; /* one for each node of the view */
    uint32_t count;
    uint32_t *buckets; /* hash table of the names: open addressing */
    uint32_t bucket_mask;
    helio_slurm_hold_t **of_job; /* for each job of the view: the first of its holds, or NULL */
    uint32_t unplaced;           /* pending jobs with an expected start and without expected nodes */
    uint32_t holds_most;         /* of any one node, without WAITING */
    uint32_t *unplaced_nodes;    /* for each pool and number of GPUs: nodes that waiting attempts have to wait for */
} helio_slurm_picture_t;

/*  A pool: its places, and which of their GPUs belong to it. */
typedef struct helio_slurm_members {
    const helio_pool_t *pool;
    helio_text_t partition, gres;
    helio_slurm_part_t part; /* what its GPUs are */
    uint32_t units;          /* SHARE: of the resource in a share of the pool; else 1 */
    bool any_gres;           /* of any type */
    bool by_model; /* `gres` is the pool's model: types that are products of it count, too ("nvidia_a100-sxm4-80gb") */
    bool untyped;  /* GPUs without a type included */
    bool partition_up;
    helio_text_t qos;   /* of the partition */
    uint32_t max_nodes; /* of the partition; 0 = unlimited */
    uint32_t *places;
    uint32_t count;
    uint32_t of_others; /* nodes that are not among them, since another pool offers them: ... */
    uint32_t with;      /* ... the last such pool */
} helio_slurm_members_t;

void helio_slurm_picture(const helio_slurm_view_t *view, helio_arena_t *arena, helio_slurm_picture_t *ret_picture);
uint32_t helio_slurm_place_of(const helio_slurm_picture_t *self, helio_text_t name); /* or HELIO_SLURM_NONE */

void helio_slurm_members(const helio_slurm_picture_t *self, uint32_t pool, helio_slurm_members_t *ret_members);
helio_slurm_members_t *helio_slurm_members_of_all(const helio_slurm_picture_t *self); /* of each pool of the site */
/*  Leaves each node's GPUs to one pool: the first that has them, of those whose partition is up if there is one. So no GPU
 *  is offered twice. */
void helio_slurm_share_out(const helio_slurm_picture_t *self, helio_slurm_members_t *all);
/*  Some GPUs of the node are of both; of pools without GPUs: the node is. */
bool helio_slurm_have_both(const helio_slurm_members_t *a, const helio_slurm_members_t *b,
                           const helio_slurm_place_t *place);
bool helio_slurm_in_list(helio_text_t list, helio_text_t word); /* "main,urgent" */
bool helio_slurm_has_gpus(const helio_slurm_members_t *self);
/*  Whether a node's GPUs of this type belong to the pool. */
bool helio_slurm_has_kind(const helio_slurm_members_t *self, helio_text_t type);
bool helio_slurm_fits_type(const helio_slurm_members_t *self, helio_text_t type);
/*  In one place, counting only GPUs of the pool's types. */
uint32_t helio_slurm_total(const helio_slurm_members_t *self, const helio_slurm_place_t *place);
uint32_t helio_slurm_used(const helio_slurm_members_t *self, const helio_slurm_place_t *place);
uint32_t helio_slurm_free(const helio_slurm_members_t *self, const helio_slurm_place_t *place);
/*  Whether something can start there now. */
bool helio_slurm_open(const helio_slurm_members_t *self, const helio_slurm_place_t *place);
/*  The pool's GPUs that the hold takes there; or HELIO_SLURM_UNKNOWN. */
uint32_t helio_slurm_hold_gpus(const helio_slurm_members_t *self, const helio_slurm_picture_t *picture,
                               const helio_slurm_hold_t *hold);
/*  Until when GPUs stay in use that no running job with a known number accounts for; now: all are accounted for. */
int64_t helio_slurm_rest_until(const helio_slurm_members_t *self, const helio_slurm_picture_t *picture,
                               const helio_slurm_place_t *place, uint32_t *ret_gpus);

/*  The partitions and features of its nodes, as the options of a pool (site.h). None are reported of a pool without
 *  nodes. */
typedef struct helio_slurm_pool_options {
    helio_pool_option_t *items;
    uint32_t count;
} helio_slurm_pool_options_t;
void helio_slurm_pool_options(const helio_slurm_picture_t *picture, const helio_slurm_members_t *members,
                              helio_arena_t *arena, helio_slurm_pool_options_t *ret_options);

/*  Reserves capacity for the waiting attempts, and adds their holds. all: the members of each pool of the site. */
void helio_slurm_set_aside(helio_slurm_picture_t *self, const helio_slurm_members_t *all);
/*  Adds what is expected to become free. */
void helio_slurm_add_ahead(const helio_slurm_picture_t *self, const helio_slurm_members_t *members, uint32_t pool,
                           helio_pool_capacity_t *capacity);
/*  Takes back what limits do not allow. */
void helio_slurm_apply_limits(const helio_slurm_view_t *view, const helio_slurm_members_t *members,
                              helio_pool_capacity_t *capacity);
void helio_slurm_expected_wait(const helio_slurm_picture_t *self, const helio_slurm_members_t *members,
                               helio_u32s_t *ret_wait_s);

#endif
