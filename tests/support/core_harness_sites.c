/*  core_harness_sites.c -- sites that join, send their free capacity, and report. */
#include <stdio.h>
#include <string.h>

#include "tests/support/core_harness_rows.h"

helio_site_profile_t *harness_site(harness_t *self, const char *name)
{
    helio_site_profile_t *site = helio_arena_alloc(self->arena, 1, sizeof *site);
    *site = (helio_site_profile_t){.name = helio_arena_text(self->arena, helio_text_of(name)),
                                   .backend = HELIO_TEXT("local"),
                                   .region = HELIO_TEXT("EU-XX"),
                                   .pue = 1,
                                   .carbon_g_per_kwh = 100,
                                   .containers = true,
                                   .leases = true};
    site->pools.items = helio_arena_alloc(self->arena, POOLS_MAX, sizeof *site->pools.items);
    return site;
}

helio_pool_t *harness_pool(harness_t *self, helio_site_profile_t *site, const char *name, const char *gpu,
                           uint32_t nodes, uint32_t gpus, double price_usd_per_gpu_h)
{
    assert_true(site->pools.count < POOLS_MAX);
    helio_pool_t *pool = &site->pools.items[site->pools.count++];
    *pool = (helio_pool_t){.name = helio_arena_text(self->arena, helio_text_of(name)),
                           .gpu = helio_arena_text(self->arena, helio_text_of(gpu)),
                           .gpu_memory_bytes = UINT64_C(80) << 30,
                           .nodes = nodes,
                           .max_nodes = nodes,
                           .gpus_per_node = gpus,
                           .cpus_per_node = 64,
                           .memory_bytes_per_node = UINT64_C(512) << 30,
                           .price_usd_per_gpu_h = price_usd_per_gpu_h,
                           .base_w = 400};
    return pool;
}

void harness_hello(harness_t *self, uint64_t peer, const helio_site_profile_t *site)
{
    place_t *place = harness_place_get(self, site->name);
    place->peer = peer;
    place->dispatch_seq = 0;
    helio_ev_site_hello_t event = {
        .site = site->name, .peer = peer, .agent_version = HELIO_TEXT("0.1.0"), .profile = *site, .protocol = 8};
    harness_step(self, HELIO_BROKER_EV_SITE_HELLO, &event);
}

void harness_inventory(harness_t *self, uint64_t peer, helio_holding_t *holdings, uint32_t count)
{
    helio_ev_site_inventory_t event = {.peer = peer, .holdings = {holdings, count}, .last = true};
    harness_step(self, HELIO_BROKER_EV_SITE_INVENTORY, &event);
}

void harness_summary(harness_t *self, uint64_t peer, const helio_site_profile_t *site, uint64_t dispatch_seen,
                     uint32_t taken)
{
    helio_pool_capacity_t *pools = helio_arena_alloc(self->arena, site->pools.count, sizeof *pools);
    for (uint32_t i = 0; i < site->pools.count; i++) {
        const helio_pool_t *pool = &site->pools.items[i];
        uint32_t full = i == 0 ? taken : 0, top = pool->gpus_per_node;
        assert_true(full <= pool->nodes);
        pools[i] = (helio_pool_capacity_t){.pool = pool->name,
                                           .nodes_up = pool->nodes,
                                           .gpus_total = pool->nodes * top,
                                           .gpus_allocated = full * top,
                                           .cpus_free = pool->cpus_per_node * (pool->nodes - full),
                                           .memory_free_bytes = pool->memory_bytes_per_node * (pool->nodes - full)};
        pools[i].options.items = pool->options.items;
        pools[i].options.count = pool->options.count;
        pools[i].free_nodes.items = helio_arena_alloc(self->arena, top + 1, sizeof(uint32_t));
        pools[i].free_nodes.count = top + 1;
        pools[i].free_nodes.items[0] = full;
        pools[i].free_nodes.items[top] += pool->nodes - full;
    }
    helio_ev_site_summary_t event = {.peer = peer,
                                     .summary = {.seq = ++self->summary_seq,
                                                 .wall_ms = self->wall_ms,
                                                 .dispatch_seen = dispatch_seen,
                                                 .pools = {pools, site->pools.count},
                                                 .power_w = -1}};
    harness_step(self, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

void harness_series(harness_t *self, uint64_t peer, helio_series_t *series, uint32_t count)
{
    helio_ev_site_summary_t event = {
        .peer = peer,
        .summary = {.seq = ++self->summary_seq, .wall_ms = self->wall_ms, .series = {series, count}, .power_w = -1}};
    harness_step(self, HELIO_BROKER_EV_SITE_SUMMARY, &event);
}

void harness_join(harness_t *self, uint64_t peer, const helio_site_profile_t *site)
{
    harness_hello(self, peer, site);
    harness_inventory(self, peer, NULL, 0);
    harness_summary(self, peer, site, 0, 0);
}

void harness_renew(harness_t *self, uint64_t peer)
{
    helio_ev_site_renew_t event = {peer, 17};
    harness_step(self, HELIO_BROKER_EV_SITE_RENEW, &event);
}

void harness_gone(harness_t *self, uint64_t peer)
{
    helio_ev_site_gone_t event = {.peer = peer, .reason = HELIO_TEXT("the connection ended")};
    harness_step(self, HELIO_BROKER_EV_SITE_GONE, &event);
}

helio_report_t harness_report_of(const harness_t *self, helio_job_key_t key, uint32_t epoch, uint32_t kind)
{
    helio_report_t report = {.key = key, .epoch = epoch, .kind = kind, .wall_ms = self->wall_ms};
    bool ends = kind == HELIO_REPORT_KIND_ENDED || kind == HELIO_REPORT_KIND_STOPPED || kind == HELIO_REPORT_KIND_LOST;
    if (kind == HELIO_REPORT_KIND_RUNNING)
        report.started_wall_ms = self->wall_ms;
    if (ends) {
        report.started_wall_ms = self->wall_ms - 60000;
        report.ended_wall_ms = self->wall_ms;
        report.run_ms = report.gpu_ms = 60000;
    }
    if (kind == HELIO_REPORT_KIND_LOST || kind == HELIO_REPORT_KIND_REFUSED)
        report.reason = HELIO_TEXT("NodeFailure");
    return report;
}

void harness_report(harness_t *self, uint64_t peer, const helio_report_t *report)
{
    helio_report_t numbered = *report;
    if (!numbered.seq)
        numbered.seq = ++self->report_seq;
    helio_ev_site_reports_t event = {.peer = peer, .reports = {&numbered, 1}};
    harness_step(self, HELIO_BROKER_EV_SITE_REPORTS, &event);
}

void harness_say(harness_t *self, uint64_t peer, helio_job_key_t key, uint32_t epoch, uint32_t kind)
{
    helio_report_t report = harness_report_of(self, key, epoch, kind);
    harness_report(self, peer, &report);
}

void harness_run_up_to(harness_t *self, uint64_t peer, helio_job_key_t key, uint32_t epoch, uint32_t state)
{
    static const struct {
        uint32_t state, kind;
    } ladder[] = {{HELIO_JOB_ACCEPTED, HELIO_REPORT_KIND_ACCEPTED},
                  {HELIO_JOB_STARTING, HELIO_REPORT_KIND_STARTING},
                  {HELIO_JOB_RUNNING, HELIO_REPORT_KIND_RUNNING},
                  {HELIO_JOB_SUSPENDED, HELIO_REPORT_KIND_SUSPENDED}};
    for (size_t i = 0; i < sizeof ladder / sizeof ladder[0] && ladder[i].state <= state; i++)
        harness_say(self, peer, key, epoch, ladder[i].kind);
    assert_int_equal(harness_state(self, key), state);
}
