/*  fuzz_kubernetes.c -- what a cluster's API, a kubeconfig or a credential plug-in could send. The first byte chooses the
 *  reader. Figures never offer more than there is, and nothing is left of what went; a stream gives the same events in pieces of any size; a verdict that
 *  reports has a word; a larger gang never waits less; what is refused has a reason. */
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/kubernetes/answer.h"
#include "site-agent/backends/kubernetes/base64.h"
#include "site-agent/backends/kubernetes/capacity.h"
#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/kubeconfig.h"
#include "site-agent/backends/kubernetes/line.h"
#include "site-agent/backends/kubernetes/quota.h"
#include "site-agent/backends/kubernetes/state.h"
#include "site-agent/backends/kubernetes/watch.h"
#include "tests/unit/site-agent/backends/kubernetes/figures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void read_access(helio_text_t text, helio_arena_t *arena)
{
    helio_kube_access_t access = {0};
    helio_error_t err = {0};
    int64_t until_ms;
    if (helio_kubeconfig_read((helio_spec_source_t){.text = text}, "/etc", (helio_text_t){0}, arena, &access, &err))
        require(err.text[0] != '\0');
    else
        require(access.server.size > 8 && memcmp(access.server.data, "https://", 8) == 0);
    if (helio_kube_plugin_read(text, arena, &access, &until_ms, &err) == HELIO_OK)
        require(access.token.text.size || (access.certificate.text.size && access.key.text.size));
    helio_text_t bytes;
    if (helio_base64_decode(text, arena, &bytes) == HELIO_OK)
        require(bytes.size <= text.size);
}

static void count(void *arg, const helio_kube_event_t *event)
{
    require(event->object && (event->change >= HELIO_KUBE_STALE || event->version.size));
    ++*(uint32_t *)arg;
}

static uint32_t events_of(helio_text_t text, uint32_t piece)
{
    helio_kube_stream_t stream = {0};
    helio_error_t err = {0};
    uint32_t events = 0;
    helio_rc rc = HELIO_OK;
    for (uint32_t at = 0; at < text.size && !rc; at += piece) {
        helio_text_t part = {text.data + at, text.size - at < piece ? text.size - at : piece};
        rc = helio_kube_stream_take(&stream, part, count, &events, &err);
    }
    require(!rc || err.text[0]);
    helio_kube_stream_clear(&stream);
    return events;
}

static void read_figures(const json_t *nodes, const json_t *pods, helio_arena_t *arena)
{
    helio_pool_t pools[] = {{.name = HELIO_TEXT("p"), .gpu = HELIO_TEXT("H200")}, {.name = HELIO_TEXT("c")}};
    helio_site_profile_t site = {.pools = {pools, 2}};
    helio_kube_waiting_t waiting[] = {{HELIO_TEXT("p"), 2, 1, 1, 1}, {HELIO_TEXT("c"), 1, 0, 1, 1}};
    figures_view_t view = {nodes, pods};
    helio_aev_capacity_t capacity;
    helio_kube_fleet_t *fleet = helio_kube_fleet_new(&site, NULL, 0);
    figures_put(fleet, &view, false);
    helio_kube_capacity(fleet, waiting, 2, arena, &capacity);
    figures_put(fleet, &view, true);
    require(!fleet->nodes && !fleet->pods && !fleet->owners && !fleet->absurd && !fleet->queued[0]);
    helio_kube_fleet_destroy(&fleet);
    for (uint32_t i = 0; i < capacity.pools.count; i++) {
        const helio_pool_capacity_t *pool = &capacity.pools.items[i];
        uint64_t offered = 0, free_nodes = 0;
        for (uint32_t k = 0; k < pool->free_nodes.count; k++) {
            offered += (uint64_t)k * pool->free_nodes.items[k];
            free_nodes += pool->free_nodes.items[k];
        }
        require(pool->free_nodes.count <= HELIO_JOB_GPUS_PER_NODE_MAX + 1 && free_nodes <= pool->nodes_up);
        require(offered + pool->gpus_allocated + pool->gpus_reserved <= pool->gpus_total);
    }
}

static void read_state(const json_t *document)
{
    for (uint32_t flags = 0; flags < 16; flags++) {
        helio_kube_verdict_t verdict;
        helio_kube_sight_t sight = {.job = flags & 1 ? json_object_get(document, "job") : document,
                                    .pods = json_object_get(document, "items"),
                                    .workload = document,
                                    .nodes = 1,
                                    .time_limit_ms = 1000,
                                    .begun = flags & 2,
                                    .known = flags & 4,
                                    .deleted = flags & 8};
        helio_kube_look(&sight, &verdict);
        require(verdict.word < HELIO_BACKEND_REPORT_COUNT && verdict.cause < HELIO_CAUSE_COUNT);
        require(memchr(verdict.why, '\0', sizeof verdict.why) != NULL);
    }
}

/*  A larger gang never waits less. */
static void read_line(const json_t *document)
{
    helio_pool_t pools[] = {{.name = HELIO_TEXT("p"), .gpu = HELIO_TEXT("H200"), .gpus_per_node = 8},
                            {.name = HELIO_TEXT("c")}};
    helio_site_profile_t site = {.pools = {pools, 2}};
    const json_t *local = json_object_get(document, "local"), *cluster = json_object_get(document, "cluster");
    const json_t *items = json_object_get(document, "items");
    uint32_t waits[HELIO_KUBE_LINE_SIZES_MAX];
    helio_kube_quota_t quota;
    helio_kube_quota_read(local, cluster, &site, &quota);
    helio_kube_line_t *line = helio_kube_line_new(&site, HELIO_TEXT("heliostat"), local, cluster);
    helio_kube_line_take_queues(line, json_object_get(document, "queues"));
    helio_kube_line_take(line, items);
    for (uint32_t p = 0; p < 2; p++) {
        helio_kube_line_expect(line, p, quota.pools[p].gpus, INT64_C(1795226792000), HELIO_KUBE_LINE_SIZES_MAX, waits);
        for (uint32_t i = 1; i < HELIO_KUBE_LINE_SIZES_MAX; i++)
            require(waits[i] >= waits[i - 1]);
    }
    helio_kube_line_destroy(&line);
}

static void read_document(helio_text_t text, helio_arena_t *arena)
{
    helio_text_t message;
    json_t *document = json_loadb(text.data, text.size, JSON_DECODE_ANY, NULL);
    static const long statuses[] = {0, 200, 403, 404, 409, 410, 429, 504};
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        require(helio_kube_answer(statuses[i], document, &message) <= HELIO_KUBE_UNKNOWN);
    read_figures(json_object_get(document, "items"), json_object_get(document, "pods"), arena);
    read_state(document);
    read_line(document);
    json_decref(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 64 << 10)
        return 0;
    helio_text_t text = {(const char *)data + 1, (uint32_t)size - 1};
    helio_arena_t *arena = helio_arena_new();
    uint64_t milli;
    switch (data[0] % 4) {
    case 0:
        read_access(text, arena);
        break;
    case 1:
        require(events_of(text, 7) == events_of(text, 1 << 16));
        break;
    case 2:
        read_document(text, arena);
        break;
    default:
        (void)helio_kube_quantity(text, &milli);
        require(helio_kube_pause_ms(text) <= 60000);
    }
    helio_arena_destroy(&arena);
    return 0;
}
