/*  capacity_picture.c -- assigns jobs and reservations to the nodes that they name. */
#include <string.h>

#include "site-agent/backends/slurm/capacity_internal.h"
#include "site-agent/shim/hostlist.h"

enum { NAMES_MAX = 100000 }; /* in one list of nodes */

/* ---- names --------------------------------------------------------------------------------------------- */

static uint32_t hash(helio_text_t name)
{
    uint32_t value = 2166136261u;
    for (uint32_t i = 0; i < name.size; i++)
        value = (value ^ (unsigned char)name.data[i]) * 16777619u;
    return value ^ value >> 15;
}

static void index_names(helio_slurm_picture_t *self)
{
    uint32_t size = 16;
    while (size < self->count * 2)
        size *= 2;
    self->buckets = helio_arena_alloc(self->arena, size, sizeof *self->buckets);
    self->bucket_mask = size - 1;
    for (uint32_t i = 0; i < self->count; i++) {
        uint32_t at = hash(self->places[i].node->name) & self->bucket_mask;
        while (self->buckets[at])
            at = (at + 1) & self->bucket_mask;
        self->buckets[at] = i + 1;
    }
}

uint32_t helio_slurm_place_of(const helio_slurm_picture_t *self, helio_text_t name)
{
    for (uint32_t at = hash(name) & self->bucket_mask; self->buckets[at]; at = (at + 1) & self->bucket_mask)
        if (helio_text_equal(self->places[self->buckets[at] - 1].node->name, name))
            return self->buckets[at] - 1;
    return HELIO_SLURM_NONE;
}

/* ---- holds --------------------------------------------------------------------------------------------- */

typedef struct placing {
    helio_slurm_picture_t *picture;
    helio_slurm_hold_t pattern;
    helio_slurm_hold_t *first;
} placing_t;

static bool place_hold(void *arg, helio_text_t name)
{
    placing_t *placing = arg;
    uint32_t at = helio_slurm_place_of(placing->picture, name);
    if (at == HELIO_SLURM_NONE)
        return true;
    helio_slurm_place_t *place = &placing->picture->places[at];
    helio_slurm_hold_t *hold = helio_arena_alloc(placing->picture->arena, 1, sizeof *hold);
    *hold = placing->pattern;
    hold->node = at;
    hold->next = place->holds;
    place->holds = hold;
    hold->sibling = placing->first;
    placing->first = hold;
    return true;
}

/*  A list that cannot be read names no node. What its job has in use shows in the nodes' own figures. */
static void place_list(placing_t *placing, helio_text_t list)
{
    if (!memchr(list.data, '[', list.size) && !memchr(list.data, ',', list.size))
        (void)place_hold(placing, list);
    else if (helio_hostlist_each(list, NAMES_MAX, place_hold, placing))
        return;
}

static int64_t end_of(const helio_slurm_job_t *job)
{
    return job->end_s ? job->end_s : HELIO_SLURM_FOREVER;
}

static uint32_t gpus_a_node(const helio_slurm_job_t *job)
{
    return job->gpus_per_node ? job->gpus_per_node : HELIO_SLURM_UNKNOWN;
}

static void place_job(helio_slurm_picture_t *self, uint32_t index)
{
    const helio_slurm_job_t *job = &self->view->jobs->items[index];
    if (helio_slurm_state_is_over(job->state))
        return;
    placing_t placing = {.picture = self};
    helio_slurm_hold_t *pattern = &placing.pattern;
    *pattern = (helio_slurm_hold_t){.job = job, .gpus = gpus_a_node(job), .end_s = end_of(job)};
    if (job->node_list.size) {
        pattern->kind = HELIO_SLURM_HOLD_RUNS;
        pattern->start_s = self->now_s;
        place_list(&placing, job->node_list);
    } else if (job->planned.size && job->start_s) {
        pattern->kind = HELIO_SLURM_HOLD_EXPECTED;
        pattern->start_s = job->start_s;
        place_list(&placing, job->planned);
    }
    self->of_job[index] = placing.first;
    self->unplaced += !placing.first && job->state == HELIO_SLURM_PENDING && job->start_s;
}

static void place_jobs(helio_slurm_picture_t *self)
{
    const helio_slurm_jobs_t *jobs = self->view->jobs;
    if (!jobs || !jobs->count)
        return;
    self->of_job = helio_arena_alloc(self->arena, jobs->count, sizeof(helio_slurm_hold_t *));
    for (uint32_t i = 0; i < jobs->count; i++)
        place_job(self, i);
}

/* ---- reservations -------------------------------------------------------------------------------------- */

typedef struct counting {
    const helio_slurm_picture_t *picture;
    uint64_t cpus;
    uint32_t nodes;
} counting_t;

static bool count_cpus(void *arg, helio_text_t name)
{
    counting_t *counting = arg;
    uint32_t at = helio_slurm_place_of(counting->picture, name);
    if (at != HELIO_SLURM_NONE) {
        counting->cpus += counting->picture->places[at].node->cpus;
        counting->nodes++;
    }
    return true;
}

/*  A reservation with fewer CPUs than its nodes have leaves the rest to everyone. Slurm does not report how its GPUs
 *  spread over the nodes, so they count evenly, rounded up. */
static void place_reservation(helio_slurm_picture_t *self, const helio_slurm_reservation_t *reservation)
{
    counting_t counting = {.picture = self};
    if (!reservation->nodes.size || helio_hostlist_each(reservation->nodes, NAMES_MAX, count_cpus, &counting) ||
        !counting.nodes)
        return;
    bool part = reservation->cpus && reservation->cpus < counting.cpus;
    placing_t placing = {.picture = self};
    placing.pattern = (helio_slurm_hold_t){
        .kind = part ? HELIO_SLURM_HOLD_PART : HELIO_SLURM_HOLD_RESERVED,
        .gpus =
            part ? reservation->gpus / counting.nodes + (reservation->gpus % counting.nodes > 0) : HELIO_SLURM_UNKNOWN,
        .start_s = reservation->start_s,
        .end_s = reservation->end_s ? reservation->end_s : HELIO_SLURM_FOREVER};
    place_list(&placing, reservation->nodes);
}

/* ---- places -------------------------------------------------------------------------------------------- */

static void read_place(helio_slurm_place_t *place, const helio_slurm_node_t *node)
{
    place->node = node;
    place->ready = node->up || node->idle_off;
    for (uint32_t i = 0; i < node->gpu_kinds; i++)
        place->used[i] = node->gpus[i].used;
    place->cpus = node->cpus > node->cpus_allocated ? node->cpus - node->cpus_allocated : 0;
    place->memory_bytes =
        node->memory_bytes > node->memory_allocated_bytes ? node->memory_bytes - node->memory_allocated_bytes : 0;
}

/*  The shares that running jobs asked for, where Slurm tells only on how many GPUs some are in use. */
static uint32_t shares_of_jobs(const helio_slurm_place_t *place, helio_text_t type)
{
    uint64_t sum = 0;
    for (const helio_slurm_hold_t *hold = place->holds; hold; hold = hold->next)
        if (hold->kind == HELIO_SLURM_HOLD_RUNS && hold->gpus != HELIO_SLURM_UNKNOWN &&
            helio_text_equal(hold->job->gpu_type, type))
            sum += hold->gpus;
    return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX - 1;
}

static void see_free(helio_slurm_place_t *place)
{
    for (uint32_t i = 0; i < place->node->gpu_kinds; i++) {
        const helio_slurm_gres_t *kind = &place->node->gpus[i];
        uint64_t asked = helio_slurm_part_of(kind->type) == HELIO_SLURM_SHARE
                             ? (uint64_t)shares_of_jobs(place, kind->type) + kind->whole
                             : 0;
        if (asked > place->used[i])
            place->used[i] = asked < kind->count ? (uint32_t)asked : kind->count;
        place->free[i] = kind->count - place->used[i];
    }
}

/*  A node's flag tells that a reservation has a part of it; the reservations tell whether that is the whole node. */
static void see_reserved(helio_slurm_picture_t *self, helio_slurm_place_t *place)
{
    bool explained = false;
    uint32_t holds = 0;
    for (const helio_slurm_hold_t *hold = place->holds; hold; hold = hold->next) {
        holds++;
        bool part = hold->kind == HELIO_SLURM_HOLD_PART;
        if ((!part && hold->kind != HELIO_SLURM_HOLD_RESERVED) || hold->start_s > self->now_s ||
            hold->end_s <= self->now_s)
            continue;
        explained = true;
        place->reserved = place->reserved || !part;
        place->part += part && hold->gpus <= UINT32_MAX - place->part ? hold->gpus : 0;
    }
    self->holds_most = holds > self->holds_most ? holds : self->holds_most;
    if (place->node->reserved && !explained)
        place->reserved = true;
}

void helio_slurm_picture(const helio_slurm_view_t *view, helio_arena_t *arena, helio_slurm_picture_t *ret_picture)
{
    helio_slurm_picture_t self = {.view = view, .arena = arena, .now_s = view->wall_ms / 1000};
    self.count = view->nodes ? view->nodes->count : 0;
    self.places = helio_arena_alloc(arena, self.count + 1, sizeof *self.places);
    for (uint32_t i = 0; i < self.count; i++)
        read_place(&self.places[i], &view->nodes->items[i]);
    index_names(&self);
    place_jobs(&self);
    for (uint32_t i = 0; view->reservations && i < view->reservations->count; i++)
        place_reservation(&self, &view->reservations->items[i]);
    for (uint32_t i = 0; i < self.count; i++) {
        see_free(&self.places[i]);
        see_reserved(&self, &self.places[i]);
    }
    *ret_picture = self;
}
