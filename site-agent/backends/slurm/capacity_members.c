/*  capacity_members.c -- which nodes, and which of their GPUs, make up a pool. */
#include <strings.h>

#include "federation/model/gpu_name.h"

#include "site-agent/backends/slurm/capacity_internal.h"

bool helio_slurm_in_list(helio_text_t list, helio_text_t word)
{
    for (uint32_t at = 0; word.size && at + word.size <= list.size;) {
        uint32_t end = at;
        while (end < list.size && list.data[end] != ',')
            end++;
        if (helio_text_equal((helio_text_t){list.data + at, end - at}, word))
            return true;
        at = end + 1;
    }
    return false;
}

static bool same_word(helio_text_t a, helio_text_t b)
{
    return a.size == b.size && (!a.size || strncasecmp(a.data, b.data, a.size) == 0);
}

bool helio_slurm_has_gpus(const helio_slurm_members_t *self)
{
    return self->any_gres || self->gres.size;
}

/*  "a100_1g.5gb", "1g.5gb" or "nvidia_a100-sxm4-80gb_1g.5gb" for the pool's "A100/1g.5gb". */
static bool is_slice_of(helio_text_t type, helio_text_t gpu)
{
    helio_text_t profile = helio_gpu_slice(gpu), model = helio_gpu_model(gpu);
    if (type.size < profile.size ||
        !same_word((helio_text_t){type.data + type.size - profile.size, profile.size}, profile))
        return false;
    type.size -= profile.size;
    if (!type.size)
        return true;
    if (type.data[--type.size] != '_')
        return false;
    return same_word(type, model) || helio_gpu_is_product_of(type, model);
}

bool helio_slurm_has_kind(const helio_slurm_members_t *self, helio_text_t type)
{
    if (helio_slurm_part_of(type) != self->part)
        return false;
    if (self->part != HELIO_SLURM_WHOLE)
        return self->by_model ? is_slice_of(type, self->gres) : same_word(self->gres, type);
    if (self->any_gres || !type.size)
        return self->any_gres || self->untyped;
    return same_word(self->gres, type) || (self->by_model && helio_gpu_is_product_of(type, self->gres));
}

/*  A node of a job's request, where "" matches any. */
bool helio_slurm_fits_type(const helio_slurm_members_t *self, helio_text_t type)
{
    return !type.size || helio_slurm_has_kind(self, type);
}

uint32_t helio_slurm_total(const helio_slurm_members_t *self, const helio_slurm_place_t *place)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < place->node->gpu_kinds; i++)
        if (helio_slurm_has_kind(self, place->node->gpus[i].type))
            sum += place->node->gpus[i].count;
    return sum / self->units;
}

uint32_t helio_slurm_used(const helio_slurm_members_t *self, const helio_slurm_place_t *place)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < place->node->gpu_kinds; i++)
        if (helio_slurm_has_kind(self, place->node->gpus[i].type))
            sum += place->used[i];
    return (sum + self->units - 1) / self->units;
}

uint32_t helio_slurm_free(const helio_slurm_members_t *self, const helio_slurm_place_t *place)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < place->node->gpu_kinds; i++)
        if (helio_slurm_has_kind(self, place->node->gpus[i].type))
            sum += place->free[i];
    return sum / self->units;
}

bool helio_slurm_open(const helio_slurm_members_t *self, const helio_slurm_place_t *place)
{
    return self->partition_up && place->ready && !place->node->closed && !place->reserved && place->cpus &&
           (place->memory_bytes || !place->node->memory_bytes);
}

uint32_t helio_slurm_hold_gpus(const helio_slurm_members_t *self, const helio_slurm_picture_t *picture,
                               const helio_slurm_hold_t *hold)
{
    if (!helio_slurm_has_gpus(self))
        return 0;
    if (hold->job && hold->gpus == HELIO_SLURM_UNKNOWN)
        return helio_slurm_fits_type(self, hold->job->gpu_type) ? HELIO_SLURM_UNKNOWN : 0;
    if (hold->job)
        return helio_slurm_fits_type(self, hold->job->gpu_type) ? (hold->gpus + self->units - 1) / self->units : 0;
    if (hold->kind != HELIO_SLURM_HOLD_WAITING)
        return hold->gpus;
    const helio_slurm_node_t *node = picture->places[hold->node].node;
    for (uint32_t i = 0; i < node->gpu_kinds; i++)
        if (hold->kinds & UINT32_C(1) << i && helio_slurm_has_kind(self, node->gpus[i].type))
            return hold->gpus;
    return 0;
}

int64_t helio_slurm_rest_until(const helio_slurm_members_t *self, const helio_slurm_picture_t *picture,
                               const helio_slurm_place_t *place, uint32_t *ret_gpus)
{
    uint64_t told = 0;
    int64_t until = 0;
    bool unknown_intensity = false;
    uint32_t used = helio_slurm_used(self, place);
    for (const helio_slurm_hold_t *hold = place->holds; hold; hold = hold->next) {
        if (hold->kind != HELIO_SLURM_HOLD_RUNS)
            continue;
        uint32_t gpus = helio_slurm_hold_gpus(self, picture, hold);
        if (gpus != HELIO_SLURM_UNKNOWN) {
            told += gpus;
            continue;
        }
        unknown_intensity = true;
        until = hold->end_s > until ? hold->end_s : until;
    }
    *ret_gpus = told < used ? used - (uint32_t)told : 0;
    return unknown_intensity ? until : HELIO_SLURM_FOREVER;
}

/* ---- which pool ---------------------------------------------------------------------------------------- */

static helio_slurm_pool_t mapping_of(const helio_slurm_settings_t *settings, helio_text_t pool)
{
    for (uint32_t i = 0; settings && i < settings->pools.count; i++)
        if (helio_text_equal(settings->pools.items[i].pool, pool))
            return settings->pools.items[i];
    return (helio_slurm_pool_t){.pool = pool};
}

/*  Leaves partition_up false when no such partition exists. */
static void find_partition(const helio_slurm_partitions_t *partitions, helio_slurm_members_t *members)
{
    members->partition_up = !partitions;
    for (uint32_t i = 0; partitions && i < partitions->count; i++) {
        const helio_slurm_partition_t *partition = &partitions->items[i];
        if (members->partition.size ? !helio_text_equal(partition->name, members->partition) : !partition->is_default)
            continue;
        members->partition = partition->name;
        members->partition_up = partition->up;
        members->qos = partition->qos;
        members->max_nodes = partition->max_nodes;
        return;
    }
}

static bool names_types(const helio_slurm_nodes_t *nodes)
{
    for (uint32_t i = 0; nodes && i < nodes->count; i++)
        for (uint32_t k = 0; k < nodes->items[i].gpu_kinds; k++)
            if (nodes->items[i].gpus[k].type.size &&
                helio_slurm_part_of(nodes->items[i].gpus[k].type) == HELIO_SLURM_WHOLE)
                return true;
    return false;
}

static void find_gres(const helio_slurm_nodes_t *nodes, helio_slurm_members_t *members, helio_text_t gres)
{
    bool slices = !gres.size && helio_gpu_slice(members->pool->gpu).size;
    members->part = slices ? HELIO_SLURM_SLICE : helio_slurm_part_of(gres);
    if (helio_text_is(gres, "*")) {
        members->any_gres = true;
    } else if (gres.size) {
        members->gres = gres;
    } else if (members->pool->gpu.size) {
        members->gres = members->pool->gpu;
        members->by_model = true;
        members->untyped = !slices && !names_types(nodes); /* a cluster that names no types has one */
    } else {
        members->any_gres = members->pool->gpus_per_node > 0;
    }
}

void helio_slurm_members(const helio_slurm_picture_t *self, uint32_t pool, helio_slurm_members_t *ret_members)
{
    const helio_slurm_view_t *view = self->view;
    helio_slurm_members_t members = {.pool = &view->site->pools.items[pool]};
    helio_slurm_pool_t mapping = mapping_of(view->settings, members.pool->name);
    members.partition = mapping.partition;
    members.units = mapping.units ? mapping.units : 1;
    find_partition(view->partitions, &members);
    find_gres(view->nodes, &members, mapping.gres);
    members.places = helio_arena_alloc(self->arena, self->count + 1, sizeof *members.places);
    for (uint32_t i = 0; i < self->count; i++) {
        const helio_slurm_place_t *place = &self->places[i];
        bool everywhere = !members.partition.size && !view->partitions;
        if (!everywhere && !helio_slurm_in_list(place->node->partitions, members.partition))
            continue;
        if (!helio_slurm_has_gpus(&members) || helio_slurm_total(&members, place))
            members.places[members.count++] = i;
    }
    *ret_members = members;
}

/* ---- nodes that several pools have ------------------------------------------------------------------------ */

bool helio_slurm_have_both(const helio_slurm_members_t *a, const helio_slurm_members_t *b,
                           const helio_slurm_place_t *place)
{
    if (!helio_slurm_has_gpus(a) || !helio_slurm_has_gpus(b))
        return !helio_slurm_has_gpus(a) && !helio_slurm_has_gpus(b);
    if (a->part != b->part && (a->part == HELIO_SLURM_SHARE || b->part == HELIO_SLURM_SHARE)) /* of the same GPUs */
        return helio_slurm_total(a, place) && helio_slurm_total(b, place);
    for (uint32_t k = 0; k < place->node->gpu_kinds; k++)
        if (helio_slurm_has_kind(a, place->node->gpus[k].type) && helio_slurm_has_kind(b, place->node->gpus[k].type))
            return true;
    return false;
}

/*  Leaves it the nodes whose GPUs no pool has before it. pools_of: bit p = pool p has offered that place. */
static void keep_new(const helio_slurm_picture_t *self, helio_slurm_members_t *all, uint32_t pool, uint64_t *pools_of)
{
    helio_slurm_members_t *mine = &all[pool];
    uint32_t count = mine->count;
    mine->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = mine->places[i];
        bool others = false;
        for (uint32_t p = 0; pools_of[at] && p < self->view->site->pools.count; p++)
            if ((pools_of[at] >> p & 1) && helio_slurm_have_both(&all[p], mine, &self->places[at])) {
                others = true;
                mine->with = p;
            }
#ifdef HELIO_MUTANT_shared_nodes_offered_twice
        others = false;
#endif
        mine->of_others += others;
        if (!others) {
            mine->places[mine->count++] = at;
            pools_of[at] |= UINT64_C(1) << pool;
        }
    }
}

helio_slurm_members_t *helio_slurm_members_of_all(const helio_slurm_picture_t *self)
{
    helio_slurm_members_t *all = helio_arena_alloc(self->arena, self->view->site->pools.count + 1, sizeof *all);
    for (uint32_t p = 0; p < self->view->site->pools.count; p++)
        helio_slurm_members(self, p, &all[p]);
    return all;
}

void helio_slurm_share_out(const helio_slurm_picture_t *self, helio_slurm_members_t *all)
{
    uint64_t *pools_of = helio_arena_alloc(self->arena, self->count + 1, sizeof *pools_of);
    for (int up = 1; up >= 0; up--)
        for (uint32_t p = 0; p < self->view->site->pools.count; p++)
            if (all[p].partition_up == (up == 1))
                keep_new(self, all, p, pools_of);
}
