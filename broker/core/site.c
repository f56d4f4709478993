/*  site.c -- sites and their sessions; what silence means, and what its end. */
#include <stdlib.h>
#include <string.h>

#include "broker/core/internal.h"

site_t *core_site_find(helio_broker_core_t *self, helio_text_t name)
{
    site_t *site;
    HASH_FIND(hh, self->sites, name.data, name.size, site);
    return site;
}

site_t *core_site_get(helio_broker_core_t *self, helio_text_t name)
{
    site_t *site = core_site_find(self, name);
    if (site)
        return site;
    site = helio_new(1, sizeof *site);
    (void)helio_text_copy(name, site->name, sizeof site->name);
    site->arena = helio_arena_new();
    site->profile.name = helio_text_of(site->name);
    site->profile.carbon_g_per_kwh = -1;
    HASH_ADD_KEYPTR(hh, self->sites, site->name, strlen(site->name), site);
    return site;
}

site_t *core_site_of_peer(helio_broker_core_t *self, uint64_t peer)
{
    site_t *site;
    HASH_FIND(hh_peer, self->peers, &peer, sizeof peer, site);
    return site;
}

pool_t *core_pool_find(site_t *site, helio_text_t name)
{
    for (uint32_t i = 0; i < site->pool_count; i++)
        if (helio_text_equal(site->pools[i].info.name, name))
            return &site->pools[i];
    return NULL;
}

void core_sites_free(helio_broker_core_t *self)
{
    site_t *site, *next;
    HASH_CLEAR(hh_peer, self->peers);
    HASH_ITER(hh, self->sites, site, next)
    {
        HASH_DEL(self->sites, site);
        core_site_pools_free(self, site);
        core_site_series_free(site);
        core_pasts_free(site);
        core_booked_free(site);
        helio_arena_destroy(&site->arena);
        free(site);
    }
}

void core_site_row(helio_broker_core_t *self, site_t *site)
{
    const helio_site_profile_t *profile = &site->profile;
    helio_row_site_t row = {
        .site = helio_text_of(site->name),
        .state = site->state,
        .draining = site->draining,
        .drain_reason = helio_text_of(site->drain_reason),
        .backend = profile->backend,
        .region = profile->region,
        .latitude = profile->latitude,
        .longitude = profile->longitude,
        .timezone = profile->timezone,
        .pue = profile->pue,
        .carbon_g_per_kwh = profile->carbon_g_per_kwh,
        .electricity_usd_per_kwh = profile->electricity_usd_per_kwh,
        .containers = profile->containers,
        .leases = profile->leases,
        .agent_version = helio_text_of(site->agent_version),
        .seen_ms = site->heard_wall_ms,
        .refused = helio_text_of(site->refused),
        .refused_ms = site->refused_wall_ms,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_SITE, &row);
    site->row_ms = self->now_ms;
}

/*  The broker's own bound on a lease: grant + L * 1.02 + margin (clocks drift less than 1 %). A site keeps the lease
 *  that ends last, so a shorter one that is granted later shortens nothing. */
void core_site_lease(const helio_broker_core_t *self, site_t *site, uint64_t former_ms)
{
    uint64_t lease = self->options.lease_ms > former_ms ? self->options.lease_ms : former_ms;
    int64_t over_ms = self->now_ms + (int64_t)(lease + lease / 50) + LEASE_MARGIN_MS;
    if (over_ms > site->lease_over_ms)
        site->lease_over_ms = over_ms;
}

static void pool_row(helio_broker_core_t *self, const site_t *site, const helio_pool_t *pool)
{
    helio_row_pool_t row = {
        .site = helio_text_of(site->name),
        .pool = pool->name,
        .gpu = pool->gpu,
        .gpu_memory_bytes = pool->gpu_memory_bytes,
        .nodes = pool->nodes,
        .max_nodes = pool->max_nodes,
        .gpus_per_node = pool->gpus_per_node,
        .cpus_per_node = pool->cpus_per_node,
        .memory_bytes_per_node = pool->memory_bytes_per_node,
        .interconnect = pool->interconnect,
        .sharing = pool->sharing,
        .owned = pool->owned,
        .price_usd_per_gpu_h = pool->price_usd_per_gpu_h,
        .idle_w = pool->idle_w,
        .base_w = pool->base_w,
        .slope_w = pool->slope_w,
        .host_w = pool->host_w,
    };
    core_emit(self, HELIO_BROKER_FX_ROW_POOL, &row);
}

static void set_state(helio_broker_core_t *self, site_t *site, helio_site_state_t state)
{
    if (site->state == (uint32_t)state)
        return;
    site->state = state;
    core_facts_changed(self, site);
    core_site_row(self, site);
}

/*  One that sends ever other versions costs a row now and then, not one for each. */
static void refuse(helio_broker_core_t *self, site_t *site, uint32_t rc, helio_text_t text)
{
    bool other = !helio_text_is(text, site->refused);
    if (other && site->refused[0] && self->now_ms - site->refused_row_ms < REFUSED_ROW_MS)
        return;
    site->refused_ms = self->now_ms;
    site->refused_rc = rc;
    if (!other)
        return;
    site->refused_row_ms = self->now_ms;
    site->refused_wall_ms = self->wall_ms;
    (void)helio_text_copy(text, site->refused, sizeof site->refused);
    core_site_row(self, site);
}

/*  A session opened, or goes on. A refusal is shown for a while beside one: who sent what cannot be read gets
 * sessions all the same, and another agent of the site may be refused. */
static void forgive(const helio_broker_core_t *self, site_t *site, bool opened)
{
    bool lasts = !opened || site->refused_rc == HELIO_PROTOCOL;
    if (lasts && self->now_ms - site->refused_ms < REFUSED_KEPT_MS)
        return;
    site->refused[0] = '\0';
    site->refused_rc = HELIO_OK;
    site->refused_wall_ms = 0;
}

void core_on_refused(helio_broker_core_t *self, const helio_ev_site_refused_t *event)
{
    refuse(self, core_site_get(self, event->site), event->rc, event->text);
}

/*  Every word from a site proves that it lives. */
void core_site_heard(helio_broker_core_t *self, site_t *site)
{
    site->heard_ms = self->now_ms;
    site->heard_wall_ms = self->wall_ms;
    if (site->refused[0])
        forgive(self, site, false);
    if (site->stale)
        core_facts_changed(self, site);
    site->stale = false;
    if (self->now_ms - site->row_ms >= CAPACITY_ROW_MS)
        core_site_row(self, site);
}

/*  The profile may have changed since the last session; jobs that are there keep their pool by its name. */
static void take_profile(helio_broker_core_t *self, site_t *site, const helio_site_profile_t *profile)
{
    helio_arena_t *arena = helio_arena_new();
    helio_record_copy(&helio_site_profile_type, arena, profile, &site->profile);
    site->profile.name = helio_text_of(site->name); /* the principal, whatever the message says */
    core_profile_bound(&site->profile);
    helio_site_tenants_sort(&site->profile); /* whatever the order in which it told them */
    core_site_pools_free(self, site);
    site->pool_count = site->profile.pools.count;
    site->pools = helio_new(site->pool_count, sizeof *site->pools);
    for (uint32_t i = 0; i < site->pool_count; i++) {
        site->pools[i].info = site->profile.pools.items[i];
        core_pool_bound(&site->pools[i].info);
        pool_row(self, site, &site->pools[i].info);
    }
    helio_arena_destroy(&site->arena);
    site->arena = arena;
    site->past_version++;
    job_t *job;
    DL_FOREACH(site->live, job)
    {
        job->pool = core_pool_find(site, helio_text_of(core_job_pool(job)));
        job->counted = false;
        job->dispatch_seq = 0;
    }
}

/*  Why a site that has seen more than this broker knows is not let in; NULL = it has not. */
static const char *older_than(helio_broker_core_t *self, const helio_ev_site_hello_t *event)
{
    if (event->incarnation_seen > self->incarnation)
        return core_printf(
            self,
            "this broker has incarnation %llu, but the site has seen %llu: an old database was restored; "
            "`helio-broker restored` mends it",
            (unsigned long long)self->incarnation, (unsigned long long)event->incarnation_seen);
    if (event->incarnation_seen == self->incarnation && event->broker_epoch_seen > self->broker_epoch)
        return core_printf(
            self,
            "this broker has epoch %llu, but the site has seen %llu: another broker leads, or an old "
            "database was restored; `helio-broker restored` mends the latter",
            (unsigned long long)self->broker_epoch, (unsigned long long)event->broker_epoch_seen);
    return NULL;
}

void core_on_hello(helio_broker_core_t *self, const helio_ev_site_hello_t *event)
{
    site_t *site = core_site_get(self, event->site);
    const char *older = older_than(self, event);
    if (older) {
        helio_fx_peer_t refusal = {event->peer, HELIO_FENCED, helio_text_of(older)};
        core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
        refuse(self, site, refusal.rc, refusal.text);
        return;
    }
    if (site->peer) { /* the last authenticated HELLO wins */
        HASH_DELETE(hh_peer, self->peers, site);
        if (site->peer != event->peer) {
            helio_fx_peer_t refusal = {site->peer, HELIO_CONFLICT,
                                       HELIO_TEXT("another agent with this site's key has opened a session")};
            core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
        }
    }
    take_profile(self, site, &event->profile);
    (void)helio_text_copy(event->agent_version, site->agent_version, sizeof site->agent_version);
    site->peer = event->peer;
    site->session = ++self->session;
    site->inventory_closed = false;
    site->capacity_known = false;
    site->summary_seq = 0;
    site->dispatch_seq = 0;
    site->unanswered = 0;
    core_site_lease(self, site, 0);
    HASH_ADD(hh_peer, self->peers, peer, sizeof site->peer, site);
    forgive(self, site, true);
    core_site_heard(self, site);
    core_site_row(self, site);
    helio_fx_welcome_t welcome = {event->peer,           self->incarnation,       self->broker_epoch,
                                  self->options.lease_ms, self->options.renew_ms, self->options.summary_ms};
    core_emit(self, HELIO_BROKER_FX_WELCOME, &welcome);
}

static void rule(helio_broker_core_t *self, const site_t *site, const helio_holding_t *holding, helio_verdict_t verdict)
{
    helio_fx_ruling_t fx = {site->peer, {holding->key, holding->epoch, verdict}};
    core_emit(self, HELIO_BROKER_FX_RULING, &fx);
}

/*  The site has it: it is no longer suspect; what it missed is said again when the inventory closes. */
static void take_holding(helio_broker_core_t *self, site_t *site, const helio_holding_t *holding)
{
    job_t *job = core_job_find(self, holding->key);
    if (!job || job->site != site || job->epoch != holding->epoch) {
        rule(self, site, holding, HELIO_VERDICT_FENCED);
        return;
    }
    job->inventory = site->session;
    if (job->state == HELIO_JOB_SUSPECT)
        core_job_move(self, job, job->before, "the site is back", core_printf(self, "site:%s", site->name));
    rule(self, site, holding, HELIO_VERDICT_KEEP);
}

/*  What the site should have had but does not, and what it was told while away. */
static void close_inventory(helio_broker_core_t *self, site_t *site)
{
    const char *actor = core_printf(self, "site:%s", site->name);
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        bool held = job->inventory == site->session;
        if (job->state == HELIO_JOB_SUSPECT)
            core_job_move(self, job, job->before, "the site is back", actor);
        if (job->state == HELIO_JOB_STOPPING) {
            core_stop(self, job, core_evict_mode(job), "again");
        } else if (!held && job->state == HELIO_JOB_OFFERED) {
            core_order(self, job);
        } else if (!held) {
            /* its journal lost it, or its end is among the reports that follow: the stop's answer is the proof */
            job->intent = HELIO_INTENT_REQUEUE;
            core_job_move(self, job, HELIO_JOB_STOPPING, "the site does not know it", actor);
            core_stop(self, job, HELIO_STOP_MODE_KILL, "not in the inventory");
        }
    }
}

void core_on_inventory(helio_broker_core_t *self, const helio_ev_site_inventory_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (!site || site->inventory_closed)
        return;
    core_site_heard(self, site);
    for (uint32_t i = 0; i < event->holdings.count; i++)
        take_holding(self, site, &event->holdings.items[i]);
    if (!event->last)
        return;
    site->inventory_closed = true;
    site->awaited = false;
    helio_fx_peer_t done = {.peer = site->peer};
    core_emit(self, HELIO_BROKER_FX_RULINGS_DONE, &done);
    close_inventory(self, site);
    set_state(self, site, HELIO_SITE_STATE_READY);
}

/*  Granted for the whole site, counted from when the broker answers; no row is written. */
void core_on_renew(helio_broker_core_t *self, const helio_ev_site_renew_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (!site)
        return;
    core_site_heard(self, site);
    core_site_lease(self, site, 0);
    helio_fx_renewed_t renewed = {event->peer, event->sent_boot_ms, self->options.lease_ms};
    core_emit(self, HELIO_BROKER_FX_RENEWED, &renewed);
}

static void end_session(helio_broker_core_t *self, site_t *site)
{
    HASH_DELETE(hh_peer, self->peers, site);
    site->peer = 0;
    site->inventory_closed = false;
    site->capacity_known = false;
    core_facts_changed(self, site);
}

/*  The connection ended. That says nothing of the site's jobs: silence does, later. */
void core_on_gone(helio_broker_core_t *self, const helio_ev_site_gone_t *event)
{
    site_t *site = core_site_of_peer(self, event->peer);
    if (site)
        end_session(self, site);
}

static void suspect(helio_broker_core_t *self, job_t *job)
{
    if (job->state == HELIO_JOB_SUSPECT)
        return;
    job->before = job->state;
    core_job_move(self, job, HELIO_JOB_SUSPECT, "the site went silent", "broker");
}

static void requeue_lost(helio_broker_core_t *self, job_t *job, const char *reason, const char *actor)
{
    if (job->intent == HELIO_INTENT_CANCEL) {
        job->exit_code = 130;
        core_job_move(self, job, HELIO_JOB_CANCELLED, reason, actor);
    } else if (job->attempts >= LOST_ATTEMPTS_MAX) {
        core_job_move(self, job, HELIO_JOB_LOST, reason, actor);
    } else {
        core_job_move(self, job, HELIO_JOB_QUEUED, reason, actor);
    }
}

static void watch_site(helio_broker_core_t *self, site_t *site)
{
    if (!site->stale && self->now_ms - site->heard_ms >= HELIO_RISK_STALE_AFTER_MS &&
        site->state == HELIO_SITE_STATE_READY) {
        site->stale = true;
        core_facts_changed(self, site);
    }
    bool silent = self->now_ms - site->heard_ms >= (int64_t)self->options.silent_after_ms;
    if (!silent || site->state == HELIO_SITE_STATE_NEW || site->state == HELIO_SITE_STATE_LOST)
        return;
    set_state(self, site, HELIO_SITE_STATE_SILENT);
    if (site->peer) {
        /* What it missed meanwhile, and what became of its jobs, only an inventory can settle: it must begin anew. */
        helio_fx_peer_t refusal = {site->peer, HELIO_TIMEOUT,
                                   HELIO_TEXT("nothing was heard of this site for too long: say HELLO again")};
        core_emit(self, HELIO_BROKER_FX_REFUSAL, &refusal);
        end_session(self, site);
    }
    bool lease_over = self->now_ms >= site->lease_over_ms;
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        suspect(self, job);
        uint32_t policy = job->submission->on_site_loss;
        if (policy == HELIO_SITE_LOSS_EAGER)
            requeue_lost(self, job, "the site went silent; placed again at once", "broker");
        else if (policy == HELIO_SITE_LOSS_LEASE && lease_over)
            requeue_lost(self, job, "its lease expired", "broker");
    }
}

bool core_sites_awaited(const helio_broker_core_t *self)
{
    return self->restored_until_ms > self->now_ms;
}

/*  Every site has said what it runs, or had its time to. */
static void watch_restored(helio_broker_core_t *self)
{
    for (const site_t *site = self->sites; site && core_sites_awaited(self); site = site->hh.next)
        if (site->awaited)
            return;
    self->restored_until_ms = 0;
    self->capacity_version++;
    self->round_wanted = true;
}

void core_watch(helio_broker_core_t *self)
{
    for (site_t *site = self->sites; site; site = site->hh.next)
        watch_site(self, site);
    if (self->restored_until_ms)
        watch_restored(self);
    self->next_watch_ms = self->now_ms + 1000;
}

/*  The operator swears that nothing of ours runs there any more. */
void core_site_attest(helio_broker_core_t *self, site_t *site, const char *actor)
{
    job_t *job, *next;
    DL_FOREACH_SAFE(site->live, job, next)
    {
        suspect(self, job);
        requeue_lost(self, job, "the site was attested dead", actor);
    }
    site->awaited = false;
    set_state(self, site, HELIO_SITE_STATE_LOST);
}
