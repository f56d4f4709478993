#include "broker/core/holds/expected_starts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/forecast/queue_wait.h"
#include "broker/core/holds/expected_ends.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/submissions.h"

enum { KEPT_MAX = 8 }; /* answers of a pool: jobs of few shapes wait at the same time */

/*  What is asked for. */
typedef struct shape {
    uint32_t nodes, gpus_per_node, cpus;
    uint64_t memory_bytes;
    int64_t reported_ms; /* the site's own estimate; 0 = it has none, or its time has passed */
} shape_t;

/*  As far as it was looked for. */
typedef struct answer {
    shape_t shape;
    ends_walk_t walk;    /* has passed what found.back has */
    uint64_t gpus;       /* free and in found.back */
    int64_t until_ms;    /* no start is before */
    reservation_t found; /* at_ms: 0 = none yet */
} answer_t;

/*  The answers hold as long as all of this stands. */
typedef struct basis {
    int64_t wall_ms; /* jobs that have not begun end later with every moment */
    uint64_t ends;
    uint32_t gpus_per_node, cpus_per_node;
    uint64_t memory_bytes_per_node;
    free_nodes_t free;
} basis_t;

struct expected_starts {
    basis_t basis;
    uint32_t count, next;
    answer_t answers[KEPT_MAX];
};

void core_expected_starts_destroy(expected_starts_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

/*  Whether it fits at a time when this much has come back. */
static bool fits_then(const pool_t *pool, const room_t *back, const shape_t *shape)
{
    free_nodes_t then = pool->free;
    core_room_return(pool, &then, back);
    return core_room_fits(pool, &then, shape->nodes, shape->gpus_per_node, shape->cpus, shape->memory_bytes);
}

static void give_back(answer_t *answer, const expected_end_t *end)
{
    room_t *back = &answer->found.back;
    const returned_room_t *returns = end->returns;
    back->nodes_by_gpus[returns->gpus <= HELIO_JOB_GPUS_PER_NODE_MAX ? returns->gpus : 0] += returns->nodes;
    back->cpus += (uint64_t)returns->cpus * returns->nodes;
    back->memory_bytes += returns->memory_bytes * returns->nodes;
    answer->gpus += (uint64_t)returns->gpus * returns->nodes;
}

/*  By the time of the site's own estimate. */
static void find_reported(answer_t *answer, const pool_t *pool)
{
    for (ends_walk_t walk = answer->walk;; answer->walk = walk) {
        const expected_end_t end = core_expected_ends_next(&walk);
        if (!end.job || end.end_ms > answer->shape.reported_ms)
            break;
        give_back(answer, &end);
    }
    answer->found.at_ms = answer->shape.reported_ms;
    answer->found.known = fits_then(pool, &answer->found.back, &answer->shape);
}

/*  The first end after which it fits, if that is before before_ms. All jobs that end at a time count together. */
static void find_next(answer_t *answer, const pool_t *pool, int64_t before_ms)
{
    const uint64_t needed = (uint64_t)answer->shape.nodes * answer->shape.gpus_per_node;
    ends_walk_t walk = answer->walk;
    expected_end_t end = core_expected_ends_next(&walk);
    while (end.job && end.end_ms < before_ms && !answer->found.known) {
        const int64_t at_ms = end.end_ms;
        for (; end.job && end.end_ms == at_ms; end = core_expected_ends_next(&walk)) {
            give_back(answer, &end);
            answer->walk = walk;
        }
        if (answer->gpus >= needed && fits_then(pool, &answer->found.back, &answer->shape)) {
            answer->found.at_ms = at_ms;
            answer->found.known = true;
        }
    }
    answer->until_ms = before_ms;
}

static bool is_basis(const basis_t *basis, const pool_t *pool, int64_t wall_ms, uint64_t ends)
{
    const helio_pool_t *info = &pool->info;
#ifdef HELIO_MUTANT_starts_outlive_ends
    ends = basis->ends;
#endif
    return basis->wall_ms == wall_ms && basis->ends == ends && basis->gpus_per_node == info->gpus_per_node &&
           basis->cpus_per_node == info->cpus_per_node && basis->memory_bytes_per_node == info->memory_bytes_per_node &&
           basis->free.cpus == pool->free.cpus && basis->free.memory_bytes == pool->free.memory_bytes &&
           memcmp(basis->free.by_gpus, pool->free.by_gpus, sizeof pool->free.by_gpus) == 0;
}

/*  Its answers, none of which is out of date. */
static expected_starts_t *kept(pool_t *pool, int64_t wall_ms, uint64_t ends)
{
    if (!pool->expected_starts)
        pool->expected_starts = helio_new(1, sizeof *pool->expected_starts);
    expected_starts_t *starts = pool->expected_starts;
    if (is_basis(&starts->basis, pool, wall_ms, ends))
        return starts;
    const helio_pool_t *info = &pool->info;
    starts->basis =
        (basis_t){wall_ms, ends, info->gpus_per_node, info->cpus_per_node, info->memory_bytes_per_node, pool->free};
    starts->count = starts->next = 0;
    return starts;
}

static bool is_shape(const shape_t *a, const shape_t *b)
{
    return a->nodes == b->nodes && a->gpus_per_node == b->gpus_per_node && a->cpus == b->cpus &&
           a->memory_bytes == b->memory_bytes && a->reported_ms == b->reported_ms;
}

static answer_t *answer_of(expected_starts_t *starts, const shape_t *shape, const site_t *site, const pool_t *pool,
                           const ends_walk_t *walk)
{
    for (uint32_t i = 0; i < starts->count; i++)
        if (is_shape(&starts->answers[i].shape, shape))
            return &starts->answers[i];
    answer_t *place = &starts->answers[starts->next];
    starts->next = (starts->next + 1) % KEPT_MAX;
    starts->count += starts->count < KEPT_MAX;
    *place = (answer_t){.shape = *shape,
                        .walk = *walk,
                        .gpus = core_pool_gpus_free(pool),
                        .until_ms = INT64_MIN,
                        .found = {.site = site, .gpus_per_node = shape->gpus_per_node}};
    return place;
}

int64_t core_reserve_expect(helio_broker_core_t *self, const job_class_t *class, const site_t *site, pool_t *pool,
                            uint32_t gpus_per_node, int64_t before_ms, reservation_t *ret_reservation)
{
    const helio_requirement_t *want = &class->want;
    const ends_walk_t walk = core_expected_ends(self, site, pool);
    if (!core_expected_ends_any(&walk) && !pool->wait_count)
        return 0;
    int64_t reported_ms = core_queue_reported_ms(pool, want->nodes);
    const shape_t shape = {want->nodes, gpus_per_node, want->cpus, want->memory_bytes,
                           reported_ms > self->wall_ms ? reported_ms : 0};
    if (shape.reported_ms >= before_ms)
        return 0;
    expected_starts_t *starts = kept(pool, self->wall_ms, core_expected_ends_version(&walk));
    answer_t *answer = answer_of(starts, &shape, site, pool, &walk);
    if (!answer->found.at_ms && shape.reported_ms)
        find_reported(answer, pool);
    else if (!answer->found.at_ms && answer->until_ms < before_ms)
        find_next(answer, pool, before_ms);
    if (!answer->found.at_ms || answer->found.at_ms >= before_ms)
        return 0;
    if (ret_reservation)
        *ret_reservation = answer->found;
    return answer->found.at_ms;
}

void core_expected_starts_check(const helio_broker_core_t *self, const pool_t *pool)
{
    const expected_starts_t *starts = pool->expected_starts;
    for (uint32_t i = 0; starts && i < starts->count; i++) {
        const answer_t *kept_one = &starts->answers[i];
        if (!is_basis(&starts->basis, pool, self->wall_ms, core_expected_ends_version(&kept_one->walk)))
            return;
        answer_t found = {.shape = kept_one->shape,
                          .walk = core_expected_ends_again(&kept_one->walk),
                          .gpus = core_pool_gpus_free(pool)};
        if (found.shape.reported_ms)
            find_reported(&found, pool);
        else
            find_next(&found, pool, kept_one->until_ms);
        assert(found.found.at_ms == kept_one->found.at_ms && found.found.known == kept_one->found.known);
        assert(found.gpus == kept_one->gpus);
    }
}
