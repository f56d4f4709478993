/*  fuzz_slurm.c -- any bytes as what Slurm's commands print. Whatever is accepted must lie within what was
 * read and keep its bounds; whatever is refused must have a printable reason; and four lists with \1 between
 * them (nodes, partitions, reservations, jobs) are a cluster, which may not offer more than it has. */
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/slurm/capacity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void within(helio_text_t part, helio_text_t whole)
{
    require(!part.size || (part.data >= whole.data && part.data + part.size <= whole.data + whole.size));
}

static void refused(helio_rc rc, const helio_error_t *err)
{
    require(rc == HELIO_INVALID && err->text[0]);
    for (const char *c = err->text; *c; c++)
        require((unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f);
}

static void check_jobs(helio_text_t text, helio_arena_t *arena, helio_slurm_jobs_t *jobs)
{
    helio_error_t err = {0};
    helio_rc rc = helio_slurm_read_jobs(text, arena, jobs, &err);
    if (rc) {
        refused(rc, &err);
        return;
    }
    for (uint32_t i = 0; i < jobs->count; i++) {
        const helio_slurm_job_t *job = &jobs->items[i];
        require(job->id.size > 0 && job->id.size <= 64 && (unsigned)job->state < HELIO_SLURM_STATE_COUNT);
        require(job->name.size <= 56 && job->reason.size <= 40 && job->start_s >= 0 && job->end_s >= 0);
        within(job->id, text);
        within(job->name, text);
        within(job->gpu_type, text);
        within(job->node_list, text);
        within(job->planned, text);
        require(!memchr(job->id.data, '\n', job->id.size));
    }
}

static void check_nodes(helio_text_t text, helio_arena_t *arena, helio_slurm_nodes_t *nodes)
{
    helio_error_t err = {0};
    helio_rc rc = helio_slurm_read_nodes(text, arena, nodes, &err);
    if (rc) {
        refused(rc, &err);
        return;
    }
    for (uint32_t i = 0; i < nodes->count; i++) {
        const helio_slurm_node_t *node = &nodes->items[i];
        require(node->name.size > 0 && node->gpu_kinds <= HELIO_SLURM_GRES_MAX && !(node->up && node->idle_off));
        within(node->name, text);
        within(node->reason, text);
        within(node->features, text);
        for (uint32_t k = 0; k < node->gpu_kinds; k++) {
            require(node->gpus[k].used <= node->gpus[k].count);
            within(node->gpus[k].type, text);
        }
    }
}

static void check_partitions(helio_text_t text, helio_arena_t *arena, helio_slurm_partitions_t *partitions)
{
    helio_error_t err = {0};
    helio_rc rc = helio_slurm_read_partitions(text, arena, partitions, &err);
    if (rc)
        refused(rc, &err);
    for (uint32_t i = 0; !rc && i < partitions->count; i++) {
        require(partitions->items[i].name.size > 0);
        within(partitions->items[i].nodes, text);
    }
}

static void check_reservations(helio_text_t text, helio_arena_t *arena, helio_slurm_reservations_t *all)
{
    helio_error_t err = {0};
    helio_rc rc = helio_slurm_read_reservations(text, arena, all, &err);
    if (rc)
        refused(rc, &err);
    for (uint32_t i = 0; !rc && i < all->count; i++)
        within(all->items[i].nodes, text);
}

static void check_limits(helio_text_t text, helio_arena_t *arena)
{
    helio_slurm_all_qos_t qos;
    helio_slurm_associations_t all;
    helio_error_t err = {0};
    helio_rc rc = helio_slurm_read_qos(text, arena, &qos, &err);
    if (rc)
        refused(rc, &err);
    for (uint32_t i = 0; !rc && i < qos.count; i++) {
        within(qos.items[i].users, text);
        (void)helio_slurm_room_of_user(&qos.items[i], 65534);
    }
    rc = helio_slurm_read_associations(text, arena, &all, &err);
    if (rc)
        refused(rc, &err);
    for (uint32_t i = 0; !rc && i < all.count; i++) {
        require(all.items[i].account.size > 0);
        within(all.items[i].parent, text);
    }
    (void)helio_slurm_read_enforced(text);
}

static void check_others(helio_text_t text, helio_arena_t *arena)
{
    helio_slurm_ends_t ends;
    helio_slurm_detail_t detail;
    helio_error_t err = {0};
    char id[32];
    helio_rc rc = helio_slurm_read_ends(text, arena, &ends, &err);
    if (rc)
        refused(rc, &err);
    for (uint32_t i = 0; !rc && i < ends.count; i++) {
        within(ends.items[i].name, text);
        require(ends.items[i].id.size > 0 && ends.items[i].cancelled_by >= -1);
    }
    rc = helio_slurm_read_detail(text, &detail, &err);
    if (rc) {
        refused(rc, &err);
    } else {
        within(detail.reason, text);
        require(detail.name.size > 0 && !memchr(detail.name.data, ' ', detail.name.size));
    }
    if (helio_slurm_read_submitted(text, id) == HELIO_OK)
        require(strlen(id) < sizeof id && strspn(id, "0123456789") == strlen(id));
    require((unsigned)helio_slurm_trouble_of(text) <= HELIO_SLURM_ALREADY_OVER);
}

static void check_offer(const helio_pool_capacity_t *pool)
{
    uint64_t gpus = 0, nodes = 0;
    for (uint32_t k = 0; k < pool->free_nodes.count; k++) {
        gpus += (uint64_t)k * pool->free_nodes.items[k];
        nodes += pool->free_nodes.items[k];
    }
    require(nodes <= pool->nodes_up);
    require(gpus + pool->gpus_allocated + pool->gpus_reserved <= pool->gpus_total);
    for (uint32_t i = 1; i < pool->expected_wait_s.count; i++)
        require(pool->expected_wait_s.items[i - 1] <= pool->expected_wait_s.items[i]);
}

static void check_cluster(helio_text_t parts[4], helio_arena_t *arena)
{
    helio_slurm_nodes_t nodes = {0};
    helio_slurm_partitions_t partitions = {0};
    helio_slurm_reservations_t reservations = {0};
    helio_slurm_jobs_t jobs = {0};
    check_nodes(parts[0], arena, &nodes);
    check_partitions(parts[1], arena, &partitions);
    check_reservations(parts[2], arena, &reservations);
    check_jobs(parts[3], arena, &jobs);
    helio_pool_t pools[] = {{.name = HELIO_TEXT("a"), .gpu = HELIO_TEXT("H100"), .gpus_per_node = 8},
                            {.name = HELIO_TEXT("b"), .gpus_per_node = 64},
                            {.name = HELIO_TEXT("c")}};
    helio_site_profile_t site = {.pools = {pools, 3}};
    helio_slurm_settings_t settings = {0};
    helio_slurm_waiting_t waiting[] = {{.pool = pools[1].name, .nodes = 1, .gpus_per_node = 3},
                                       {.pool = pools[0].name, .nodes = 2, .gpus_per_node = 1, .time_limit_ms = 1}};
    helio_slurm_view_t view = {.site = &site,
                               .settings = &settings,
                               .nodes = &nodes,
                               .partitions = &partitions,
                               .reservations = &reservations,
                               .jobs = &jobs,
                               .waiting = waiting,
                               .waiting_count = 2,
                               .wall_ms = 1795245155000};
    helio_aev_capacity_t capacity;
    helio_aev_series_t series;
    helio_slurm_capacity(&view, arena, &capacity);
    for (uint32_t p = 0; p < capacity.pools.count; p++)
        check_offer(&capacity.pools.items[p]);
    helio_slurm_free_series(&view, 48, arena, &series);
    for (uint32_t s = 0; s < series.series.count; s++)
        for (uint32_t h = 0; h < series.series.items[s].values.count; h++)
            require(series.series.items[s].values.items[h] <= capacity.pools.items[s].gpus_total);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    helio_arena_t *arena = helio_arena_new();
    helio_text_t text = {(const char *)data, (uint32_t)size}, parts[4];
    uint32_t count = 0;
    for (uint32_t from = 0, at = 0; at <= text.size && count < 4; at++)
        if (at == text.size || text.data[at] == 1) {
            parts[count++] = (helio_text_t){text.data + from, at - from};
            from = at + 1;
        }
    if (count == 4) {
        check_cluster(parts, arena);
    } else {
        check_jobs(text, arena, &(helio_slurm_jobs_t){0});
        check_nodes(text, arena, &(helio_slurm_nodes_t){0});
        check_partitions(text, arena, &(helio_slurm_partitions_t){0});
        check_reservations(text, arena, &(helio_slurm_reservations_t){0});
        check_limits(text, arena);
        check_others(text, arena);
    }
    helio_arena_destroy(&arena);
    return 0;
}
