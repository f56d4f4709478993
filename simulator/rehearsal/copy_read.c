/*  copy_read.c -- sorts the parts of a snapshot. */
#include <stdlib.h>

#include "federation/model/attempt.h"
#include "simulator/rehearsal/copy.h"
#include "simulator/rehearsal/sound.h"

static uint32_t pool_of(const reh_site_copy_t *self, helio_text_t name)
{
    uint32_t i = 0;
    while (i < self->profile.pools.count && !helio_text_equal(self->profile.pools.items[i].name, name))
        i++;
    return i;
}

static void add_site(reh_copy_t *self, const helio_row_site_t *row)
{
    self->sites = helio_grow(self->sites, self->site_count + 1, sizeof *self->sites);
    reh_site_copy_t *site = &self->sites[self->site_count++];
    *site = (reh_site_copy_t){.row = row, .profile = helio_row_site_profile(row)};
    site->profile.pools.items = helio_arena_alloc(self->arena, HELIO_SITE_POOLS_MAX, sizeof(helio_pool_t));
}

static void add_pool(reh_copy_t *self, const helio_row_pool_t *row)
{
    reh_site_copy_t *site = reh_copy_site(self, row->site);
    bool gone = !row->nodes && !row->max_nodes; /* no longer in the site file */
    if (!site || gone)
        return;
    self->node_count += row->nodes;
    site->profile.pools.items[site->profile.pools.count++] = helio_row_pool_profile(row);
}

static reh_job_copy_t *add_job(reh_copy_t *self, helio_ev_load_job_t *load)
{
    reh_job_copy_t *job = helio_arena_alloc(self->arena, 1, sizeof *job);
    job->id = load->row.job;
    job->load = load;
    job->class_id = load->row.class_id;
    job->time_limit_ms = load->row.time_limit_ms;
    HASH_ADD(hh, self->jobs, id, sizeof job->id, job);
    return job;
}

/*  Dependencies are left out: what they named may be over since before that time. */
static void add_past_job(reh_copy_t *self, helio_ev_load_job_t *load)
{
    load->spec.after_ok.count = load->spec.after_any.count = load->spec.after_not_ok.count = 0;
    load->spec.after_start.count = load->spec.after_task.count = 0;
    load->spec.not_before_wall_ms = 0;
    self->past_jobs = helio_grow(self->past_jobs, self->past_job_count + 1, sizeof *self->past_jobs);
    self->past_jobs[self->past_job_count++] = add_job(self, load);
}

static void add_past_run(reh_copy_t *self, const helio_snapshot_run_t *row)
{
    reh_past_run_t *run = helio_arena_alloc(self->arena, 1, sizeof *run);
    run->key = row->key;
    run->run_ms = row->run_ms;
    HASH_ADD(hh, self->past_runs, key, sizeof run->key, run);
}

static int by_submission(const void *a_, const void *b_)
{
    const helio_row_job_t *a = &(*(const reh_job_copy_t *const *)a_)->load->row;
    const helio_row_job_t *b = &(*(const reh_job_copy_t *const *)b_)->load->row;
    if (a->submitted_ms != b->submitted_ms)
        return a->submitted_ms < b->submitted_ms ? -1 : 1;
    return helio_uuid_compare(a->job, b->job);
}

static void add_state(reh_copy_t *self, const helio_row_state_t *row)
{
    self->last_state = &row->key;
    if (helio_job_state_is_terminal(row->state)) {
        reh_copy_job(self, row->key.job)->over_count++;
        self->over = helio_grow(self->over, self->over_count + 1, sizeof *self->over);
        self->over[self->over_count++] = row->key;
    }
    if (!helio_job_state_is_live(row->state))
        return;
    self->attempts = helio_grow(self->attempts, self->attempt_count + 1, sizeof *self->attempts);
    self->attempts[self->attempt_count++] = (reh_attempt_copy_t){.state = row};
}

/*  Attempts are sorted by key, as the rows came. */
static int by_key(const void *key_, const void *attempt_)
{
    const helio_job_key_t *key = key_;
    const reh_attempt_copy_t *attempt = attempt_;
    int order = helio_uuid_compare(key->job, attempt->state->key.job);
    return order ? order : (key->task > attempt->state->key.task) - (key->task < attempt->state->key.task);
}

static void add_expected(reh_copy_t *self, const helio_row_expected_use_t *row)
{
    reh_attempt_copy_t *attempt =
        self->attempt_count ? bsearch(&row->key, self->attempts, self->attempt_count, sizeof *self->attempts, by_key)
                            : NULL;
    if (!attempt || attempt->state->epoch != row->epoch)
        return;
    attempt->expected_ms = row->expected_ms;
    attempt->transfer_ms = row->transfer_ms;
}

static void add_capacity(const reh_copy_t *self, const helio_row_capacity_t *row)
{
    reh_site_copy_t *site = reh_copy_site(self, row->site);
    uint32_t pool = site ? pool_of(site, row->pool) : 0;
    if (site && pool < site->profile.pools.count)
        site->capacities[pool] = row;
}

static void add_series(const reh_copy_t *self, helio_row_series_t *row)
{
    reh_site_copy_t *site = reh_copy_site(self, row->site);
    if (!site || !row->step_s)
        return;
    site->series = helio_grow(site->series, site->series_count + 1, sizeof *site->series);
    site->series[site->series_count++] = row;
}

static void take_edit(reh_job_copy_t *job, const helio_row_edit_t *row)
{
    job->class_id = row->class_id ? row->class_id : job->class_id;
    job->time_limit_ms = row->time_limit_ms ? row->time_limit_ms : job->time_limit_ms;
}

static helio_rc take_part(void *arg, uint32_t kind, void *record, helio_error_t *err)
{
    reh_copy_t *self = arg;
    reh_job_copy_t *job;
    helio_rc rc = reh_sound_part(self, kind, record, err);
    if (rc != HELIO_OK)
        return rc;
    switch (kind) {
    case HELIO_SNAPSHOT_OPTIONS:
        self->options = *(const helio_snapshot_options_t *)record;
        return HELIO_OK;
    case HELIO_SNAPSHOT_TAKEN:
        self->taken_ms = ((const helio_snapshot_taken_t *)record)->wall_ms;
        return HELIO_OK;
    case HELIO_SNAPSHOT_CAPACITY:
        add_capacity(self, record);
        return HELIO_OK;
    case HELIO_SNAPSHOT_SERIES:
        add_series(self, record);
        return HELIO_OK;
    case HELIO_SNAPSHOT_PAST:
        self->is_past = true;
        self->past_to_ms = ((const helio_snapshot_past_t *)record)->to_ms;
        self->taken_ms = ((const helio_snapshot_past_t *)record)->from_ms;
        return HELIO_OK;
    case HELIO_SNAPSHOT_PAST_JOB:
        add_past_job(self, record);
        return HELIO_OK;
    case HELIO_SNAPSHOT_PAST_RUN:
        add_past_run(self, record);
        return HELIO_OK;
    case HELIO_BROKER_EV_LOAD_FEDERATION:
        self->incarnation = ((const helio_row_federation_t *)record)->incarnation;
        break;
    case HELIO_BROKER_EV_LOAD_SITE:
        add_site(self, record);
        break;
    case HELIO_BROKER_EV_LOAD_POOL:
        add_pool(self, record);
        break;
    case HELIO_BROKER_EV_LOAD_JOB:
        (void)add_job(self, record);
        break;
    case HELIO_BROKER_EV_LOAD_EDIT:
        job = reh_copy_job(self, ((const helio_row_edit_t *)record)->job);
        if (job)
            take_edit(job, record);
        break;
    case HELIO_BROKER_EV_LOAD_STATE:
        add_state(self, record);
        break;
    case HELIO_BROKER_EV_LOAD_EXPECTED_USE:
        add_expected(self, record);
        break;
    default:
        break;
    }
    self->parts = helio_grow(self->parts, self->part_count + 1, sizeof *self->parts);
    self->parts[self->part_count++] = (reh_part_t){kind, record};
    return HELIO_OK;
}

helio_rc reh_copy_read(helio_text_t bytes, reh_copy_t *ret_copy, helio_error_t *err)
{
    reh_copy_t self = {.arena = helio_arena_new()};
    helio_rc rc = helio_snapshot_each(bytes, self.arena, take_part, &self, err);
    if (rc == HELIO_OK && (!self.incarnation || self.taken_ms <= 0))
        rc = helio_fail(err, HELIO_INVALID, "the snapshot is damaged: it does not say of which federation or when");
    if (rc != HELIO_OK)
        reh_copy_clear(&self);
    else if (self.past_job_count)
        qsort(self.past_jobs, self.past_job_count, sizeof *self.past_jobs, by_submission);
    *ret_copy = self;
    return rc;
}
