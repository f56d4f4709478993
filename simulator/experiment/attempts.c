/*  attempts.c -- what starts, ends and stops at sites, and what remains of its work. */
#include <assert.h>
#include <stdlib.h>

#include "federation/base/number.h"
#include "federation/spec/value.h"
#include "simulator/experiment/internal.h"
#include "simulator/experiment/links.h"

enum { RESTART_MS = 60000 /* of a job that goes on from a checkpoint */ };

/*  Its nodes that are instances which were ordered for what waits. */
static uint32_t ordered_nodes(const exp_run_t *self, const exp_attempt_t *attempt)
{
    const exp_instances_t *instances = self->sites[attempt->site].instances[attempt->pool];
    uint32_t count = 0;
    for (uint32_t i = 0; instances && i < attempt->node_count; i++)
        count += exp_instances_is_ordered(instances, attempt->nodes[i]);
    return count;
}

static void charge(exp_run_t *self, const exp_attempt_t *attempt)
{
    exp_use_t use = {.site = attempt->site,
                     .pool = attempt->pool,
                     .gpus = attempt->node_count * attempt->gpus_per_node,
                     .ordered_gpus = ordered_nodes(self, attempt) * attempt->gpus_per_node,
                     .job = attempt->job,
                     .from_ms = attempt->started_ms,
                     .to_ms = self->wall_ms};
    if (attempt->local) {
        exp_result_add_local(self->result, self->world, &use);
        return;
    }
    const exp_job_t *job = &self->world->trace->jobs[attempt->job];
    use.util = job->util;
    use.team = job->team_number;
    exp_result_add_use(self->result, self->world, &use);
}

/*  The job's document is its number in the trace. */
void exp_attempts_start(exp_run_t *self, const helio_fx_order_t *fx)
{
    uint64_t number;
    helio_rc rc = helio_u64_parse(fx->order.source, &number);
    assert(rc == HELIO_OK && number < self->world->trace->count && fx->peer && fx->peer <= self->world->fleet->count);
    (void)rc;
    exp_life_t *life = &self->lives[number];
    uint32_t site = (uint32_t)fx->peer - 1;
    const exp_job_t *job = &self->world->trace->jobs[number];
    exp_attempt_t *attempt = exp_site_start(&self->sites[site], &fx->order, self->wall_ms);
    if (!attempt)
        return;
    bool again = life->first_start_ms != 0;
    helio_transfer_t transfer = exp_transfer(self->world->fleet, job->data_site, site, job->data_bytes);
    self->result->placements++;
    self->result->moves += again && life->site != site;
    exp_detail_add_start(&self->result->detail, site, self->wall_ms);
    exp_result_add_egress(self->result, transfer.egress_micro_usd);
    life->first_start_ms = again ? life->first_start_ms : self->wall_ms;
    life->site = site;
    attempt->job = (uint32_t)number;
    attempt->site = site;
    const exp_queue_t *queue = exp_queue_find(job->queue);
    if (queue && queue->tier == HELIO_TIER_CRITICAL)
        exp_site_exempt(&self->sites[site], attempt);
    attempt->number = ++self->attempts;
    attempt->works_ms = self->wall_ms + (int64_t)transfer.ms + (again ? RESTART_MS : 0);
    attempt->ends_ms = attempt->works_ms + life->left_ms;
    helio_heap_put(&self->ends, &attempt->item);
    if (self->sites[site].instances[attempt->pool])
        exp_instances_order(self->sites[site].instances[attempt->pool], self->wall_ms);
    self->waiting--;
    self->latest_ms = self->wall_ms;
}

static void end(exp_run_t *self, exp_attempt_t *attempt)
{
    charge(self, attempt);
    exp_site_end(&self->sites[attempt->site], attempt, HELIO_REPORT_KIND_ENDED, self->wall_ms);
    if (!attempt->local) {
        exp_life_t *life = &self->lives[attempt->job];
        assert(!life->over);
        exp_result_add_end(self->result, &self->world->trace->jobs[attempt->job], life->first_start_ms, self->wall_ms);
        life->over = true;
        self->over++;
        self->latest_ms = self->wall_ms;
    }
    free(attempt);
}

void exp_attempts_take_ends(exp_run_t *self)
{
    helio_heap_item_t *first;
    while ((first = helio_heap_first(&self->ends)) &&
           HELIO_HEAP_OWNER(first, exp_attempt_t, item)->ends_ms <= self->wall_ms)
        end(self, HELIO_HEAP_OWNER(helio_heap_take(&self->ends), exp_attempt_t, item));
}

/*  Checkpoints count from the beginning of the work. What it did since the last one is lost: its work modulo the
 *  interval, and all of it without checkpoints. Returns what is lost. */
static int64_t lose(exp_run_t *self, const exp_attempt_t *attempt)
{
    int64_t every_ms = self->world->trace->jobs[attempt->job].checkpoint_ms;
    int64_t worked_ms = self->wall_ms - attempt->works_ms, kept_ms = 0;
    exp_life_t *life = &self->lives[attempt->job];
    if (every_ms && worked_ms > 0)
        kept_ms = helio_lesser_i64(worked_ms - worked_ms % every_ms, life->left_ms);
    life->left_ms -= kept_ms;
    self->waiting++;
    return worked_ms > kept_ms ? worked_ms - kept_ms : 0;
}

static exp_attempt_t *find(const exp_run_t *self, const helio_fx_stop_t *fx)
{
    exp_attempt_t *attempt = self->sites[fx->peer - 1].attempts;
    while (attempt &&
           (attempt->local || attempt->epoch != fx->stop.epoch || !helio_job_key_equal(attempt->key, fx->stop.key)))
        attempt = attempt->next;
    return attempt;
}

/*  An attempt that ended in an outage: the broker asks for it once the site is back. */
static void stop_dead(exp_run_t *self, const helio_fx_stop_t *fx)
{
    for (uint32_t i = 0; i < self->dead_count; i++) {
        exp_dead_t *dead = &self->dead[i];
        if (dead->epoch != fx->stop.epoch || !helio_job_key_equal(dead->key, fx->stop.key))
            continue;
        exp_site_report_stopped(&self->sites[fx->peer - 1], dead);
        *dead = self->dead[--self->dead_count];
        return;
    }
}

void exp_attempts_stop(exp_run_t *self, const helio_fx_stop_t *fx)
{
    assert(fx->peer && fx->peer <= self->world->fleet->count);
    exp_attempt_t *attempt = find(self, fx);
    if (!attempt) { /* it has just ended, or ended in an outage */
        stop_dead(self, fx);
        return;
    }
    (void)lose(self, attempt);
    charge(self, attempt);
    exp_site_end(&self->sites[attempt->site], attempt, HELIO_REPORT_KIND_STOPPED, self->wall_ms);
    helio_heap_remove(&self->ends, &attempt->item);
    free(attempt);
}

static bool is_on(const exp_attempt_t *attempt, uint32_t pool, uint32_t node)
{
    bool there = false;
    for (uint32_t i = 0; attempt->pool == pool && i < attempt->node_count; i++)
        there = there || attempt->nodes[i] == node;
    return there;
}

void exp_attempts_take_node(exp_run_t *self, uint32_t site, uint32_t pool, uint32_t node)
{
    for (exp_attempt_t *attempt = self->sites[site].attempts, *next; attempt; attempt = next) {
        next = attempt->next;
        if (!is_on(attempt, pool, node))
            continue;
        uint32_t gpus = attempt->node_count * attempt->gpus_per_node;
        charge(self, attempt);
        exp_result_add_interruption(self->result, self->world, site, pool);
        exp_result_add_taken(self->result, gpus, lose(self, attempt));
        exp_site_take_away(&self->sites[site], attempt, self->wall_ms);
        helio_heap_remove(&self->ends, &attempt->item);
        free(attempt);
    }
}

static void kill_one(exp_run_t *self, exp_attempt_t *attempt)
{
    exp_site_t *site = &self->sites[attempt->site];
    charge(self, attempt);
    if (attempt->local) {
        exp_site_queue_local(site, &self->world->local->jobs[attempt->job], attempt->job);
    } else {
        (void)lose(self, attempt);
        exp_result_add_interruption(self->result, self->world, attempt->site, attempt->pool);
        self->dead = helio_grow(self->dead, self->dead_count + 1, sizeof *self->dead);
        self->dead[self->dead_count++] = (exp_dead_t){.key = attempt->key,
                                                      .epoch = attempt->epoch,
                                                      .gpus = attempt->node_count * attempt->gpus_per_node,
                                                      .started_ms = attempt->started_ms,
                                                      .ended_ms = self->wall_ms};
    }
    exp_site_drop(site, attempt);
    helio_heap_remove(&self->ends, &attempt->item);
    free(attempt);
}

void exp_attempts_kill(exp_run_t *self, uint32_t site)
{
    while (self->sites[site].attempts)
        kill_one(self, self->sites[site].attempts);
}

/*  ---- the sites' own users ---- */

/*  What a job that was submitted before the first one of the federation has already done. */
static int64_t before_ms(const exp_run_t *self, const exp_local_job_t *job)
{
    return job->submit_ms < self->began_ms ? self->began_ms - job->submit_ms : 0;
}

static void start_local(exp_run_t *self, uint32_t index)
{
    exp_attempt_t *attempt;
    while ((attempt = exp_site_start_local(&self->sites[index], self->world->local, self->wall_ms))) {
        const exp_local_job_t *job = &self->world->local->jobs[attempt->job];
        attempt->site = index;
        attempt->number = ++self->attempts;
        attempt->ends_ms = attempt->limit_ms = attempt->limit_ms - before_ms(self, job);
        helio_heap_put(&self->ends, &attempt->item);
        self->result->local_started++;
        self->result->local_wait_sum_s += (double)(self->wall_ms - job->submit_ms - before_ms(self, job)) / 1000;
    }
}

void exp_attempts_take_local(exp_run_t *self)
{
    const exp_local_trace_t *local = self->world->local;
    for (; local && self->next_local < local->count; self->next_local++) {
        const exp_local_job_t *job = &local->jobs[self->next_local];
        if (job->submit_ms > self->wall_ms)
            break;
        if (before_ms(self, job) >= job->duration_ms)
            continue; /* it was over before the first job of the federation */
        exp_site_queue_local(&self->sites[job->site], job, self->next_local);
    }
    for (uint32_t i = 0; local && i < self->world->fleet->count; i++)
        if (!self->sites[i].down && self->sites[i].changed)
            start_local(self, i);
}

void exp_attempts_close(exp_run_t *self)
{
    helio_heap_item_t *item;
    while ((item = helio_heap_take(&self->ends))) {
        exp_attempt_t *attempt = HELIO_HEAP_OWNER(item, exp_attempt_t, item);
        charge(self, attempt);
        free(attempt);
    }
    helio_heap_clear(&self->ends);
}
