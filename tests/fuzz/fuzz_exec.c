/*  fuzz_exec.c -- what an adapter of the backend `exec` could print. What is read has sane figures, and is offered at most
 *  once; what is refused has a reason. */
#include <stdlib.h>
#include <string.h>

#include "federation/reason/codes.h"
#include "site-agent/backends/exec/capacity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_capacity(const helio_exec_answer_t *answer, helio_arena_t *arena)
{
    helio_pool_t pools[] = {{.name = HELIO_TEXT("p")}, {.name = HELIO_TEXT("q"), .cpus_per_node = 4}};
    helio_exec_waiting_t waiting[] = {
        {HELIO_TEXT("p"), 1, 2, 1, 1}, {HELIO_TEXT("q"), 2, 0, 1, 1}, {HELIO_TEXT("p"), 3, 64, 1, 1}};
    for (uint32_t count = 1; count <= 2; count++) {
        helio_site_profile_t site = {.pools = {pools, count}};
        helio_aev_capacity_t capacity;
        helio_exec_capacity(&site, answer, waiting, 3, arena, &capacity);
        for (uint32_t i = 0; i < capacity.pools.count; i++) {
            const helio_pool_capacity_t *pool = &capacity.pools.items[i];
            uint64_t offered = 0, nodes = 0;
            require(pool->free_nodes.count <= HELIO_JOB_GPUS_PER_NODE_MAX + 1);
            for (uint32_t k = 0; k < pool->free_nodes.count; k++) {
                offered += (uint64_t)k * pool->free_nodes.items[k];
                nodes += pool->free_nodes.items[k];
            }
            require(offered + pool->gpus_allocated == pool->gpus_total);
            require(nodes == pool->nodes_up && nodes <= answer->node_count);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 64 << 10)
        return 0;
    helio_arena_t *arena = helio_arena_new();
    helio_exec_answer_t answer = {0};
    helio_error_t err = {0};
    if (helio_exec_answer_read((helio_text_t){(const char *)data, (uint32_t)size}, arena, &answer, &err)) {
        require(err.text[0] != '\0' && !answer.nodes);
    } else {
        for (uint32_t i = 0; i < answer.attempt_count; i++) {
            const helio_exec_seen_t *seen = &answer.attempts[i];
            require(seen->state < HELIO_EXEC_STATES && seen->cause < HELIO_CAUSE_COUNT &&
                    seen->id.size < HELIO_EXEC_ID_SIZE);
            require(!memchr(seen->reason.size ? seen->reason.data : "", '\n', seen->reason.size));
        }
        check_capacity(&answer, arena);
    }
    helio_arena_destroy(&arena);
    return 0;
}
