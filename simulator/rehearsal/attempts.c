/*  attempts.c -- how long jobs run, and what remains of their work. */
#include "federation/policy/migration.h"
#include "simulator/rehearsal/internal.h"

enum { LEAST_LEFT_MS = 60000 /* of a run that is longer than it ever was */ };

static bool ends_before(helio_heap_item_t *a_, helio_heap_item_t *b_)
{
    const reh_attempt_t *a = HELIO_HEAP_OWNER(a_, reh_attempt_t, item), *b = HELIO_HEAP_OWNER(b_, reh_attempt_t, item);
    return a->ends_ms != b->ends_ms ? a->ends_ms < b->ends_ms : a->number < b->number;
}

static void put(reh_run_t *self, reh_attempt_t *attempt, uint32_t site, int64_t ends_ms)
{
    attempt->site = site;
    attempt->number = ++self->attempts;
    attempt->ends_ms = ends_ms > self->wall_ms ? ends_ms : self->wall_ms + 1;
    self->ends.before = ends_before;
    helio_heap_put(&self->ends, &attempt->item);
}

static uint64_t limit_ms(const reh_life_t *life)
{
    return life->job ? life->job->time_limit_ms : 0;
}

/*  ---- what runs when the rehearsal begins ---- */

/*  The alternative of its document that the pool satisfies. */
static uint32_t gpus_per_node(const helio_job_spec_t *spec, helio_text_t model)
{
    for (uint32_t i = 0; i < spec->gpus.count; i++)
        if (helio_text_equal(spec->gpus.items[i].model, model))
            return spec->gpus.items[i].count;
    return spec->gpus.count ? spec->gpus.items[0].count : 0;
}

static helio_order_t order_of(const reh_run_t *self, const reh_attempt_copy_t *attempt, const reh_job_copy_t *job,
                              uint32_t site)
{
    const helio_job_spec_t *spec = &job->load->spec;
    const helio_site_profile_t *profile = &self->copy->sites[site].profile;
    uint32_t pool = helio_site_pool_index(profile, attempt->state->pool);
    return (helio_order_t){
        .key = attempt->state->key,
        .epoch = attempt->state->epoch,
        .pool = attempt->state->pool,
        .nodes = job->load->row.nodes,
        .gpus_per_node = gpus_per_node(spec, pool == UINT32_MAX ? (helio_text_t){0} : profile->pools.items[pool].gpu),
        .cpus_per_node = spec->cpus,
        .memory_bytes_per_node = spec->memory_bytes,
        .time_limit_ms = job->time_limit_ms};
}

/*  It ends when runs like it do; one that is longer, at its limit. */
static int64_t end_of(const reh_run_t *self, const reh_attempt_copy_t *attempt, int64_t started_ms, uint64_t most_ms)
{
    int64_t expected_ms = started_ms + (int64_t)(attempt->transfer_ms + attempt->expected_ms);
    int64_t limit_ms_ = started_ms + (int64_t)most_ms, least_ms = self->wall_ms + LEAST_LEFT_MS;
    if (attempt->expected_ms && expected_ms >= least_ms)
        return expected_ms;
    return limit_ms_ > least_ms ? limit_ms_ : least_ms;
}

static void adopt(reh_run_t *self, const reh_attempt_copy_t *copy)
{
    const helio_row_state_t *row = copy->state;
    const reh_site_copy_t *site_copy = reh_copy_site(self->copy, row->site);
    const reh_job_copy_t *job = reh_copy_job(self->copy, row->key.job);
    reh_life_t *life = reh_lives_find(&self->lives, row->key);
    if (!site_copy || !job || !life || row->state == HELIO_JOB_OFFERED)
        return; /* the broker sends its order again */
    uint32_t site = (uint32_t)(site_copy - self->copy->sites);
    if (!self->sites[site].up)
        return;
    helio_order_t order = order_of(self, copy, job, site);
    int64_t started_ms = row->started_ms ? row->started_ms : self->wall_ms;
    reh_attempt_t *attempt = reh_site_adopt(&self->sites[site], &order, started_ms, self->wall_ms);
    life->ran = true;
    if (!attempt) {
        life->interrupted = true;
        return;
    }
    attempt->works_ms = started_ms + (int64_t)copy->transfer_ms;
    life->expected_ms = copy->expected_ms ? copy->expected_ms : limit_ms(life);
    life->transfer_ms = copy->transfer_ms;
    (void)helio_text_copy(row->site, life->next_site, sizeof life->next_site);
    put(self, attempt, site, end_of(self, copy, started_ms, limit_ms(life)));
}

void reh_attempts_adopt(reh_run_t *self)
{
    for (uint32_t i = 0; i < self->copy->attempt_count; i++)
        adopt(self, &self->copy->attempts[i]);
}

/*  ---- starts and ends ---- */

void reh_attempts_start(reh_run_t *self, const helio_fx_order_t *fx)
{
    uint32_t site = (uint32_t)fx->peer - 1;
    reh_life_t *life = reh_lives_find(&self->lives, fx->order.key);
    if (!self->sites[site].up || !life)
        return;
    reh_attempt_t *attempt = reh_site_start(&self->sites[site], &fx->order, self->wall_ms);
    if (!attempt)
        return;
    uint64_t known_ms = reh_copy_run_ms(self->copy, life->origin); /* what it took then, it takes anywhere */
    life->expected_ms = known_ms ? known_ms : life->expected_ms;
    uint64_t whole_ms = life->expected_ms ? life->expected_ms : fx->order.time_limit_ms;
    uint64_t restart_ms = life->ran && life->done > 0 ? HELIO_MIGRATION_RESTART_MS : 0;
    attempt->works_ms = self->wall_ms + (int64_t)(life->transfer_ms + restart_ms);
    life->ran = true;
    put(self, attempt, site, attempt->works_ms + (int64_t)((double)whole_ms * (1 - life->done)));
}

void reh_attempts_take_ends(reh_run_t *self)
{
    helio_heap_item_t *first;
    while ((first = helio_heap_first(&self->ends)) &&
           HELIO_HEAP_OWNER(first, reh_attempt_t, item)->ends_ms <= self->wall_ms) {
        reh_attempt_t *attempt = HELIO_HEAP_OWNER(helio_heap_take(&self->ends), reh_attempt_t, item);
        reh_site_end(&self->sites[attempt->site], attempt, self->wall_ms);
    }
}

/*  Whole intervals of checkpoints remain of its work. Returns their time. */
static uint64_t save(reh_run_t *self, const reh_attempt_t *attempt)
{
    reh_life_t *life = reh_lives_find(&self->lives, attempt->order.key);
    int64_t worked_ms = self->wall_ms - attempt->works_ms;
    int64_t every_ms = life && life->job ? (int64_t)life->job->load->spec.checkpoint_every_ms : 0;
    if (!every_ms || worked_ms <= 0 || !life->expected_ms)
        return 0;
    int64_t saved_ms = worked_ms - worked_ms % every_ms;
    life->done += (double)saved_ms / (double)life->expected_ms;
    life->done = life->done < 1 ? life->done : 1;
    return (uint64_t)saved_ms;
}

void reh_attempts_stop(reh_run_t *self, const helio_fx_stop_t *fx)
{
    reh_site_t *site = &self->sites[fx->peer - 1];
    reh_attempt_t *attempt = site->attempts;
    if (!site->up)
        return;
    while (attempt &&
           (attempt->order.epoch != fx->stop.epoch || !helio_job_key_equal(attempt->order.key, fx->stop.key)))
        attempt = attempt->next;
    if (!attempt) { /* it has just ended, or the site never had it */
        reh_site_report_gone(site, &fx->stop, self->wall_ms);
        return;
    }
    helio_heap_remove(&self->ends, &attempt->item);
    reh_site_stop(site, attempt, save(self, attempt), self->wall_ms);
}

void reh_attempts_kill(reh_run_t *self, uint32_t index)
{
    reh_site_t *site = &self->sites[index];
    while (site->attempts) {
        reh_attempt_t *attempt = site->attempts;
        reh_life_t *life = reh_lives_find(&self->lives, attempt->order.key);
        (void)save(self, attempt);
        if (life)
            life->interrupted = true;
        helio_heap_remove(&self->ends, &attempt->item);
        reh_site_kill(site, attempt, self->wall_ms);
    }
}

int64_t reh_attempts_next_ms(const reh_run_t *self)
{
    helio_heap_item_t *first = helio_heap_first(&self->ends);
    return first ? HELIO_HEAP_OWNER(first, reh_attempt_t, item)->ends_ms : INT64_MAX;
}
