/*  capacity_inner.h -- who holds which node until when: what all figures are made from. Lives in the arena.
 */
#ifndef HELIO_BACKENDS_SLURM_CAPACITY_INNER_H
#define HELIO_BACKENDS_SLURM_CAPACITY_INNER_H

#include "site-agent/backends/slurm/capacity.h"
#include "site-agent/core/capacity.h"

#define HELIO_SLURM_FOREVER INT64_MAX
#define HELIO_SLURM_NONE UINT32_MAX   /* no such place */
#define HELIO_SLURM_UNKNOWN UINT32_MAX /* a number that Slurm does not tell */

typedef enum helio_slurm_hold_kind {
    HELIO_SLURM_HOLD_RUNS,     /* a job that has the node */
    HELIO_SLURM_HOLD_EXPECTED, /* a pending one that Slurm expects to have it */
    HELIO_SLURM_HOLD_RESERVED, /* a reservation of the whole node */
    HELIO_SLURM_HOLD_PART,     /* a reservation of some of its GPUs */
    HELIO_SLURM_HOLD_WAITING   /* an attempt of ours that will have it at once */
} helio_slurm_hold_kind_t;

typedef struct helio_slurm_hold {
    struct helio_slurm_hold *next;    /* of the same node */
    struct helio_slurm_hold *sibling; /* of the same job */
    const helio_slurm_job_t *job;     /* NULL: none of squeue's */
    helio_slurm_hold_kind_t kind;
    uint32_t node;
    uint32_t gpus;          /* of this node; HELIO_SLURM_UNKNOWN: some, or none */
    uint32_t kinds;         /* WAITING: bit i = some are of the node's gpus[i] */
    int64_t start_s, end_s; /* end: FOREVER = not known */
} helio_slurm_hold_t;

typedef struct helio_slurm_place {
    const helio_slurm_node_t *node;
    helio_slurm_hold_t *holds;
    bool ready;                          /* can run jobs, or would be started for one */
    bool reserved;                       /* all of it, now */
    uint32_t part;                       /* GPUs of it that a reservation has, now */
    uint32_t free[HELIO_SLURM_GRES_MAX]; /* GPUs of each kind: not in use, not taken for what waits */
    uint32_t cpus;                       /* the same */
    uint64_t memory_bytes;               /* the same */
} helio_slurm_place_t;

typedef struct helio_slurm_picture {
    const helio_slurm_view_t *view;
    helio_arena_t *arena;
    int64_t now_s;
    helio_slurm_place_t *places; /* one for each node of the view */
    uint32_t count;
    uint32_t *buckets; /* of the names: open addressing */
    uint32_t bucket_mask;
    helio_slurm_hold_t **of_job; /* for each job of the view: the first of its holds, or NULL */
    uint32_t unplaced;           /* pending jobs with an expected start and no nodes told */
    uint32_t holds_most;         /* of any one node, without WAITING */
} helio_slurm_picture_t;

/*  A pool: the places that belong to it, and which of their GPUs do. */
typedef struct helio_slurm_members {
    const helio_pool_t *pool;
    helio_text_t partition, gres;
    bool any_gres; /* of any type */
    bool untyped;  /* GPUs without a type, too */
    bool partition_up;
    uint32_t max_nodes; /* of the partition; 0 = unlimited */
    uint32_t *places;
    uint32_t count;
} helio_slurm_members_t;

void helio_slurm_picture(const helio_slurm_view_t *view, helio_arena_t *arena,
                         helio_slurm_picture_t *ret_picture);
uint32_t helio_slurm_place_of(const helio_slurm_picture_t *self, helio_text_t name); /* or HELIO_SLURM_NONE */

void helio_slurm_members(const helio_slurm_picture_t *self, uint32_t pool,
                         helio_slurm_members_t *ret_members);
bool helio_slurm_in_list(helio_text_t list, helio_text_t word); /* "main,urgent" */
bool helio_slurm_has_gpus(const helio_slurm_members_t *self);
bool helio_slurm_has_kind(const helio_slurm_members_t *self, helio_text_t type); /* of a node's GPUs */
bool helio_slurm_fits_type(const helio_slurm_members_t *self, helio_text_t type);
/*  Of a place, counting the GPUs of the pool's types only. */
uint32_t helio_slurm_total(const helio_slurm_members_t *self, const helio_slurm_place_t *place);
uint32_t helio_slurm_used(const helio_slurm_members_t *self, const helio_slurm_place_t *place);
uint32_t helio_slurm_free(const helio_slurm_members_t *self, const helio_slurm_place_t *place);
/*  Whether something can start there now. */
bool helio_slurm_open(const helio_slurm_members_t *self, const helio_slurm_place_t *place);
/*  GPUs of the pool that the hold takes there; HELIO_SLURM_UNKNOWN. */
uint32_t helio_slurm_hold_gpus(const helio_slurm_members_t *self, const helio_slurm_picture_t *picture,
                               const helio_slurm_hold_t *hold);
/*  Until when GPUs stay in use that no running job with a told number explains; now: there are none. */
int64_t helio_slurm_rest_until(const helio_slurm_members_t *self, const helio_slurm_picture_t *picture,
                               const helio_slurm_place_t *place, uint32_t *ret_gpus);

/*  Sets aside what waits, and says so in holds. all: the members of each pool of the site. */
void helio_slurm_set_aside(helio_slurm_picture_t *self, const helio_slurm_members_t *all);
void helio_slurm_expected_wait(const helio_slurm_picture_t *self, const helio_slurm_members_t *members,
                               helio_u32s_t *ret_wait_s);

#endif
