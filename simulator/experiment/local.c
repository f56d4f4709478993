/*  local.c -- reads the jobs of sites' own users, and their queues. */
#include "simulator/experiment/local.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "simulator/experiment/csv.h"

enum { COLUMN_SITE, COLUMN_SUBMIT, COLUMN_DURATION, COLUMN_GPUS, COLUMN_POOL, COLUMN_NODES, COLUMN_COUNT };
enum { JOBS_MAX = 20000000 }; /* as many as the federation's own (trace.c) */
static const double SECONDS_MAX = 366.0 * 86400, UNIX_MAX = 253402300799.0; /* as in a trace */

/*  The pool by its name, or the first one with GPUs. */
static helio_rc take_pool(const exp_csv_t *csv, const exp_fleet_t *fleet, exp_local_job_t *job, helio_error_t *err)
{
    helio_text_t site = exp_csv_text(csv, COLUMN_SITE), name = exp_csv_text(csv, COLUMN_POOL);
    job->site = exp_fleet_find(fleet, site);
    if (job->site == fleet->count)
        return exp_csv_fail(csv, COLUMN_SITE, err, "the fleet has no site '%.*s'", HELIO_TEXT_ARGS(site));
    const helio_site_profile_t *profile = &fleet->items[job->site].profile;
    for (job->pool = 0; job->pool < profile->pools.count; job->pool++) {
        const helio_pool_t *pool = &profile->pools.items[job->pool];
        if (name.size ? helio_text_equal(pool->name, name) : pool->gpus_per_node && pool->nodes)
            break;
    }
    if (job->pool == profile->pools.count || !profile->pools.items[job->pool].gpus_per_node)
        return exp_csv_fail(csv, COLUMN_POOL, err, "site '%.*s' has no pool '%.*s' with GPUs", HELIO_TEXT_ARGS(site),
                            HELIO_TEXT_ARGS(name));
    if (profile->pools.items[job->pool].elastic || profile->pools.items[job->pool].spot)
        return exp_csv_fail(csv, COLUMN_POOL, err, "the site's own users have no jobs in elastic and spot pools");
    return HELIO_OK;
}

/*  Spread evenly, as in a trace. */
static helio_rc take_shape(const exp_csv_t *csv, const exp_fleet_t *fleet, exp_local_job_t *job, helio_error_t *err)
{
    const helio_pool_t *pool = &fleet->items[job->site].profile.pools.items[job->pool];
    double most = (double)pool->nodes * pool->gpus_per_node, gpus = 0, nodes = 0;
    helio_rc rc = exp_csv_number(csv, COLUMN_GPUS, 0, HELIO_JOB_NODES_MAX * HELIO_JOB_GPUS_PER_NODE_MAX, &gpus, err);
    rc = rc == HELIO_OK ? exp_csv_number(csv, COLUMN_NODES, 0, pool->nodes, &nodes, err) : rc;
    if (rc != HELIO_OK)
        return rc;
    gpus = ceil(gpus);
    if (gpus < 1 || gpus > most)
        return exp_csv_fail(csv, COLUMN_GPUS, err, "a job of pool '%.*s' has 1 to %.0f GPUs",
                            HELIO_TEXT_ARGS(pool->name), most);
    nodes = fmax(ceil(nodes), ceil(gpus / pool->gpus_per_node));
    job->nodes = (uint32_t)nodes;
    job->gpus_per_node = (uint32_t)ceil(gpus / nodes);
    return HELIO_OK;
}

static helio_rc take_row(const exp_csv_t *csv, const exp_fleet_t *fleet, exp_local_job_t *job, helio_error_t *err)
{
    *job = (exp_local_job_t){0};
    helio_rc rc = exp_csv_seconds(csv, COLUMN_SUBMIT, UNIX_MAX, &job->submit_ms, err);
    rc = rc == HELIO_OK ? exp_csv_seconds(csv, COLUMN_DURATION, SECONDS_MAX, &job->duration_ms, err) : rc;
    rc = rc == HELIO_OK ? take_pool(csv, fleet, job, err) : rc;
    rc = rc == HELIO_OK ? take_shape(csv, fleet, job, err) : rc;
    if (rc == HELIO_OK && job->submit_ms <= 0)
        return exp_csv_fail(csv, COLUMN_SUBMIT, err, "a job needs the time of its submission");
    if (rc == HELIO_OK && job->duration_ms <= 0)
        return exp_csv_fail(csv, COLUMN_DURATION, err, "a job needs a duration of at least a second");
    return rc;
}

/*  Jobs of one second stay in the order of the file: they are in one array still, so their addresses say. */
static int by_submission(const void *a_, const void *b_)
{
    const exp_local_job_t *a = *(const exp_local_job_t *const *)a_, *b = *(const exp_local_job_t *const *)b_;
    if (a->submit_ms != b->submit_ms)
        return a->submit_ms < b->submit_ms ? -1 : 1;
    return (a > b) - (a < b);
}

static void sort(exp_local_trace_t *self)
{
    exp_local_job_t *sorted = helio_new(self->count ? self->count : 1, sizeof *sorted);
    const exp_local_job_t **order = helio_new(self->count ? self->count : 1, sizeof *order);
    for (uint32_t i = 0; i < self->count; i++)
        order[i] = &self->jobs[i];
    qsort(order, self->count, sizeof *order, by_submission);
    for (uint32_t i = 0; i < self->count; i++)
        sorted[i] = *order[i];
    free(order);
    free(self->jobs);
    self->jobs = sorted;
}

helio_rc exp_local_load(const char *path, const exp_fleet_t *fleet, exp_local_trace_t *ret_trace, helio_error_t *err)
{
    static const exp_csv_column_t columns[COLUMN_COUNT] = {{"site", true}, {"submit_unix", true}, {"duration_s", true},
                                                           {"gpus", true}, {"pool", false},       {"nodes", false}};
    *ret_trace = (exp_local_trace_t){0};
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = exp_csv_open(path, columns, COLUMN_COUNT, err);
    if (!csv)
        return err->code;
    exp_local_job_t job;
    uint32_t capacity = 0;
    helio_rc rc;
    while ((rc = exp_csv_next(csv, err)) == HELIO_OK && (rc = take_row(csv, fleet, &job, err)) == HELIO_OK) {
        if (ret_trace->count == JOBS_MAX) {
            rc = exp_csv_fail(csv, COLUMN_SITE, err, "more than %d jobs", JOBS_MAX);
            break;
        }
        if (ret_trace->count == capacity) {
            capacity = capacity ? 2 * capacity : 1024;
            ret_trace->jobs = helio_grow(ret_trace->jobs, capacity, sizeof *ret_trace->jobs);
        }
        ret_trace->jobs[ret_trace->count++] = job;
    }
    if (rc != HELIO_NOT_FOUND) {
        exp_local_free(ret_trace);
        return rc;
    }
    sort(ret_trace);
    return HELIO_OK;
}

void exp_local_free(exp_local_trace_t *self)
{
    free(self->jobs);
    *self = (exp_local_trace_t){0};
}

/*  ---- queues ---- */

void exp_local_put(exp_local_queue_t *self, uint32_t number)
{
    if (self->first + self->count == self->capacity) {
        for (uint32_t i = 0; i < self->count; i++)
            self->numbers[i] = self->numbers[self->first + i];
        self->first = 0;
        if (2 * self->count >= self->capacity) {
            self->capacity = self->capacity ? 2 * self->capacity : 16;
            self->numbers = helio_grow(self->numbers, self->capacity, sizeof *self->numbers);
        }
    }
    self->numbers[self->first + self->count++] = number;
}

uint32_t exp_local_first(const exp_local_queue_t *self)
{
    assert(self->count);
    return self->numbers[self->first];
}

void exp_local_drop_first(exp_local_queue_t *self)
{
    assert(self->count);
    self->first++;
    self->count--;
}

void exp_local_queue_clear(exp_local_queue_t *self)
{
    free(self->numbers);
    *self = (exp_local_queue_t){0};
}
