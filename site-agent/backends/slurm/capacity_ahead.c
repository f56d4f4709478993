/*  capacity_ahead.c -- what will be free within moments, offered before it is. */
#include <string.h>

#include "site-agent/backends/slurm/capacity_internal.h"

static bool is_attempts(helio_text_t name)
{
    static const char prefix[] = "helio-";
    return name.size >= sizeof prefix && memcmp(name.data, prefix, sizeof prefix - 1) == 0;
}

/*  Its turn has come, or will when there is room. */
static bool waits_for_room(const helio_slurm_job_t *job)
{
    return job->state == HELIO_SLURM_PENDING &&
           (!job->reason.size || helio_text_is(job->reason, "Resources") || helio_text_is(job->reason, "Priority"));
}

static bool others_wait(const helio_slurm_picture_t *self, const helio_slurm_members_t *members)
{
    const helio_slurm_jobs_t *jobs = self->view->jobs;
#ifdef HELIO_MUTANT_queued_behind_others
    jobs = NULL;
#endif
    for (uint32_t i = 0; jobs && i < jobs->count; i++) {
        const helio_slurm_job_t *job = &jobs->items[i];
        if (waits_for_room(job) && !is_attempts(job->name) &&
            (!members->partition.size || helio_slurm_in_list(job->partition, members->partition)) &&
            helio_slurm_fits_type(members, job->gpu_type))
            return true;
    }
    return false;
}

/*  Of GPUs where something new can start; what is free now is no turn to come. */
static uint32_t turns_to_come(const helio_slurm_picture_t *self, const helio_slurm_members_t *members, uint32_t turns)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; members->partition_up && i < members->count; i++) {
        const helio_slurm_place_t *place = &self->places[members->places[i]];
        if (place->ready && !place->node->closed && !place->reserved)
            sum += helio_slurm_used(members, place) + (turns - 1) * helio_slurm_total(members, place);
    }
    return sum;
}

void helio_slurm_add_ahead(const helio_slurm_picture_t *self, const helio_slurm_members_t *members, uint32_t pool,
                           helio_pool_capacity_t *capacity)
{
    const helio_slurm_view_t *view = self->view;
    uint32_t turns = 0;
    for (uint32_t i = 0; i < view->ahead_count; i++)
        if (view->ahead[i].nodes && view->ahead[i].turns > turns &&
            helio_text_equal(view->ahead[i].pool, members->pool->name))
            turns = view->ahead[i].turns;
    if (!turns || others_wait(self, members))
        return;
    uint32_t left = turns_to_come(self, members, turns), waiting[HELIO_SLURM_LEVELS];
    memcpy(waiting, &self->unplaced_nodes[(size_t)pool * HELIO_SLURM_LEVELS], sizeof waiting);
    for (uint32_t k = 1; k < HELIO_SLURM_LEVELS; k++) {
        uint64_t taken = (uint64_t)k * waiting[k];
        left = taken < left ? left - (uint32_t)taken : 0;
    }
    for (uint32_t i = 0; i < view->ahead_count; i++) {
        const helio_slurm_ahead_t *ahead = &view->ahead[i];
        uint32_t k = ahead->gpus_per_node;
        if (!helio_text_equal(ahead->pool, members->pool->name) || !k || k >= capacity->free_nodes.count)
            continue;
        uint32_t taken = waiting[k] < ahead->nodes ? waiting[k] : ahead->nodes, nodes = ahead->nodes - taken;
        nodes = nodes < left / k ? nodes : left / k;
        waiting[k] -= taken;
        left -= nodes * k;
        capacity->free_nodes.items[k] += nodes;
        capacity->cpus_free += nodes * ahead->cpus_per_node;
        capacity->memory_free_bytes += nodes * ahead->memory_bytes_per_node;
    }
}
