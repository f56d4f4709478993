/*  trace.c -- reads the jobs of a trace. */
#include "simulator/experiment/trace.h"

#include <math.h>
#include <stdlib.h>

#include <uthash.h>

#include "federation/base/number.h"
#include "simulator/experiment/csv.h"
#include "simulator/experiment/links.h"

/* clang-format off */
#define COLUMNS(X)                                                                                                     \
    X(SUBMIT, "submit_unix", true) X(DURATION, "duration_s", true) X(GPUS, "gpus", true) X(NODES, "nodes", false)      \
    X(MODEL, "gpu_type", false) X(USER, "user", false) X(TEAM, "team", false) X(KIND, "kind", false)                   \
    X(HOME, "home_site", false) X(PIN, "pin", false) X(SITES, "sites", false) X(QUEUE, "queue", false)                 \
    X(FLEXIBLE, "flexible_s", false) X(DEADLINE, "deadline_unix", false) X(LIMIT, "time_limit_s", false)               \
    X(CHECKPOINT, "checkpoint_s", false) X(DATA, "data_gb", false)                                             \
    X(DATA_SITE, "data_site", false) X(UTIL, "util", false)
/* clang-format on */
#define ENUMERATOR(name, word, required) COLUMN_##name,
enum { COLUMNS(ENUMERATOR) COLUMN_COUNT };

static const exp_csv_column_t columns[COLUMN_COUNT] = {
#define X(name, word, required) [COLUMN_##name] = {word, required},
    COLUMNS(X)
#undef X
};

static const double GPUS_MAX = (double)HELIO_JOB_NODES_MAX * HELIO_JOB_GPUS_PER_NODE_MAX;
enum { JOBS_MAX = 20000000 };
static const int64_t SPAN_MAX_MS = INT64_C(10) * 366 * 86400000;            /* every hour of it is simulated */
static const double DATA_GB_MAX = 1e6;                                      /* a petabyte */
static const double SECONDS_MAX = 366.0 * 86400, UNIX_MAX = 253402300799.0; /* the end of the year 9999 */

typedef struct team {
    helio_text_t name;
    uint32_t number;
    UT_hash_handle hh;
} team_t;

typedef struct reader {
    const exp_csv_t *csv;
    const exp_fleet_t *fleet;
    const exp_trace_defaults_t *defaults;
    helio_arena_t *arena;
    exp_trace_t *trace;
    uint32_t capacity, team_capacity;
    int64_t first_ms, last_ms; /* submissions so far */
    team_t *teams;             /* those of the trace, by name */
    bool *linked;              /* each site (row) to each other one; NULL = there are no links */
    helio_error_t *err;
} reader_t;

/*  The text of a cell for good; jobs of a row of equal cells share one copy. */
static helio_text_t keep(const reader_t *self, uint32_t column, helio_text_t latest)
{
    helio_text_t cell = exp_csv_text(self->csv, column);
    return helio_text_equal(cell, latest) ? latest : helio_arena_text(self->arena, cell);
}

static uint32_t most_gpus_per_node(const exp_fleet_site_t *site)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < site->profile.pools.count; i++)
        if (site->profile.pools.items[i].gpus_per_node > most)
            most = site->profile.pools.items[i].gpus_per_node;
    return most;
}

/*  Spreads the GPUs evenly over the nodes: at least as many as the home site needs, or else the first site with GPUs. */
static helio_rc take_shape(const reader_t *self, exp_job_t *job)
{
    double gpus = 0, nodes = 0;
    uint32_t per_node = most_gpus_per_node(&self->fleet->items[job->home]);
    for (uint32_t i = 0; !per_node; i++)
        per_node = most_gpus_per_node(&self->fleet->items[i]);
    helio_rc rc = exp_csv_number(self->csv, COLUMN_GPUS, 0, GPUS_MAX, &gpus, self->err);
    if (rc == HELIO_OK)
        rc = exp_csv_number(self->csv, COLUMN_NODES, 0, HELIO_JOB_NODES_MAX, &nodes, self->err);
    if (rc != HELIO_OK)
        return rc;
    if (gpus <= 0)
        return exp_csv_fail(self->csv, COLUMN_GPUS, self->err, "a job needs GPUs");
    double least = ceil(ceil(gpus) / per_node);
    nodes = nodes < least ? least : ceil(nodes);
    if (nodes > HELIO_JOB_NODES_MAX)
        return exp_csv_fail(self->csv, COLUMN_GPUS, self->err, "more than %d nodes of %u GPUs", HELIO_JOB_NODES_MAX,
                            per_node);
    job->nodes = (uint32_t)nodes;
    job->gpus_per_node = (uint32_t)ceil(ceil(gpus) / nodes);
    return HELIO_OK;
}

static helio_rc take_times(const reader_t *self, exp_job_t *job)
{
    const exp_csv_t *csv = self->csv;
    helio_error_t *err = self->err;
    job->flexible_ms = self->defaults->flexible_ms;
    job->checkpoint_ms = self->defaults->checkpoint_ms;
    helio_rc rc = exp_csv_seconds(csv, COLUMN_SUBMIT, UNIX_MAX, &job->submit_ms, err);
    rc = rc == HELIO_OK ? exp_csv_seconds(csv, COLUMN_DURATION, SECONDS_MAX, &job->duration_ms, err) : rc;
    rc = rc == HELIO_OK ? exp_csv_seconds(csv, COLUMN_FLEXIBLE, SECONDS_MAX, &job->flexible_ms, err) : rc;
    rc = rc == HELIO_OK ? exp_csv_seconds(csv, COLUMN_DEADLINE, UNIX_MAX, &job->deadline_ms, err) : rc;
    rc = rc == HELIO_OK ? exp_csv_seconds(csv, COLUMN_LIMIT, SECONDS_MAX, &job->limit_ms, err) : rc;
    rc = rc == HELIO_OK ? exp_csv_seconds(csv, COLUMN_CHECKPOINT, SECONDS_MAX, &job->checkpoint_ms, err) : rc;
    if (rc != HELIO_OK)
        return rc;
    if (job->submit_ms <= 0)
        return exp_csv_fail(csv, COLUMN_SUBMIT, err, "a job needs the time of its submission");
    if (job->duration_ms <= 0)
        return exp_csv_fail(csv, COLUMN_DURATION, err, "a job needs a duration of at least a second");
    if (!job->limit_ms)
        job->limit_ms = self->defaults->limit_ms ? self->defaults->limit_ms : job->duration_ms;
    return HELIO_OK;
}

/*  "oregon;eu-*": patterns as in a job file. */
static void take_sites(const reader_t *self, exp_job_t *job)
{
    helio_text_t cell = helio_arena_text(self->arena, exp_csv_text(self->csv, COLUMN_SITES));
    if (!cell.size)
        return;
    job->sites = helio_arena_alloc(self->arena, HELIO_JOB_LIST_MAX, sizeof *job->sites);
    for (uint32_t at = 0; at < cell.size && job->site_count < HELIO_JOB_LIST_MAX;) {
        uint32_t end = at;
        while (end < cell.size && cell.data[end] != ';')
            end++;
        if (end > at)
            job->sites[job->site_count++].text = (helio_text_t){cell.data + at, end - at};
        at = end + 1;
    }
}

/*  At its home site, unless the trace says where. Every site must be within reach, so that no policy is barred. */
static helio_rc take_data(const reader_t *self, exp_job_t *job)
{
    const exp_csv_t *csv = self->csv;
    const exp_fleet_t *fleet = self->fleet;
    helio_text_t name = exp_csv_text(csv, COLUMN_DATA_SITE);
    double gb = 0;
    helio_rc rc = exp_csv_number(csv, COLUMN_DATA, 0, DATA_GB_MAX, &gb, self->err);
    job->data_bytes = (uint64_t)(gb * 1e9);
    job->data_site = name.size ? exp_fleet_find(fleet, name) : job->home;
    if (rc == HELIO_OK && job->data_site == fleet->count)
        return exp_csv_fail(csv, COLUMN_DATA_SITE, self->err, "the fleet has no site '%.*s'", HELIO_TEXT_ARGS(name));
    for (uint32_t to = 0; rc == HELIO_OK && job->data_bytes && fleet->links.count && to < fleet->count; to++)
        if (to != job->data_site && !self->linked[(size_t)job->data_site * fleet->count + to])
            rc = exp_csv_fail(csv, COLUMN_DATA, self->err,
                              "the fleet has no link from site '%.*s', which has the data, to site '%.*s': a link from "
                              "\"*\" to \"*\" holds for all others",
                              HELIO_TEXT_ARGS(fleet->items[job->data_site].profile.name),
                              HELIO_TEXT_ARGS(fleet->items[to].profile.name));
    return rc;
}

static helio_rc take_words(const reader_t *self, exp_job_t *job, const exp_job_t *latest)
{
    const exp_csv_t *csv = self->csv;
    helio_text_t home = exp_csv_text(csv, COLUMN_HOME), kind = exp_csv_text(csv, COLUMN_KIND);
    double pin = 0;
    job->home = home.size ? exp_fleet_find(self->fleet, home) : 0;
    if (job->home == self->fleet->count)
        return exp_csv_fail(csv, COLUMN_HOME, self->err, "the fleet has no site '%.*s'", HELIO_TEXT_ARGS(home));
    if (kind.size && helio_job_kind_of(kind, &job->kind) != HELIO_OK)
        return exp_csv_fail(csv, COLUMN_KIND, self->err, "'%.*s' is no kind of job", HELIO_TEXT_ARGS(kind));
    job->model = keep(self, COLUMN_MODEL, latest->model);
    job->user = keep(self, COLUMN_USER, latest->user);
    job->team = keep(self, COLUMN_TEAM, latest->team);
    job->queue = keep(self, COLUMN_QUEUE, latest->queue);
    if (job->queue.size && !exp_queue_find(job->queue))
        return exp_csv_fail(csv, COLUMN_QUEUE, self->err,
                            "there is no queue '%.*s': express, reserved, standard, batch and preemptible exist",
                            HELIO_TEXT_ARGS(job->queue));
    if (!job->queue.size)
        job->queue = HELIO_TEXT("standard");
    if (!job->team.size)
        job->team = HELIO_TEXT("default");
    take_sites(self, job);
    helio_rc rc = exp_csv_number(csv, COLUMN_PIN, 0, 1, &pin, self->err);
    job->pinned = pin > 0;
    return rc;
}

static uint32_t team_number(reader_t *self, helio_text_t name)
{
    exp_trace_t *trace = self->trace;
    team_t *team;
    HASH_FIND(hh, self->teams, name.data, name.size, team);
    if (team)
        return team->number;
    team = helio_arena_alloc(self->arena, 1, sizeof *team);
    team->name = name;
    HASH_ADD_KEYPTR(hh, self->teams, team->name.data, team->name.size, team);
    if (trace->team_count == self->team_capacity) {
        self->team_capacity = self->team_capacity ? 2 * self->team_capacity : 64;
        trace->teams = helio_grow(trace->teams, self->team_capacity, sizeof *trace->teams);
    }
    team->number = trace->team_count;
    trace->teams[trace->team_count++] = name;
    return team->number;
}

/*  A trace may be in any order, but not longer than can be simulated. */
static helio_rc check_span(reader_t *self, const exp_job_t *job)
{
    bool first = !self->trace->count;
    self->first_ms = first ? job->submit_ms : helio_lesser_i64(self->first_ms, job->submit_ms);
    self->last_ms = first || job->submit_ms > self->last_ms ? job->submit_ms : self->last_ms;
    if (self->last_ms - self->first_ms > SPAN_MAX_MS)
        return exp_csv_fail(self->csv, COLUMN_SUBMIT, self->err,
                            "more than ten years between two submissions: --from and --to select a part");
    if (self->trace->count == JOBS_MAX)
        return exp_csv_fail(self->csv, COLUMN_SUBMIT, self->err, "more than %d jobs: --from and --to select a part",
                            JOBS_MAX);
    return HELIO_OK;
}

static helio_rc take_row(reader_t *self)
{
    exp_trace_t *trace = self->trace;
    const exp_job_t none = {0};
    exp_job_t job = {.util = 1};
    helio_rc rc = take_times(self, &job);
    rc = rc == HELIO_OK ? take_words(self, &job, trace->count ? &trace->jobs[trace->count - 1] : &none) : rc;
    rc = rc == HELIO_OK ? take_data(self, &job) : rc;
    rc = rc == HELIO_OK ? take_shape(self, &job) : rc;
    rc = rc == HELIO_OK ? exp_csv_number(self->csv, COLUMN_UTIL, 0, 1, &job.util, self->err) : rc;
    if (rc != HELIO_OK || job.submit_ms < self->defaults->from_ms || job.submit_ms >= self->defaults->to_ms)
        return rc;
    rc = check_span(self, &job);
    if (rc != HELIO_OK)
        return rc;
    if (trace->count == self->capacity) {
        self->capacity = self->capacity ? 2 * self->capacity : 1024;
        trace->jobs = helio_grow(trace->jobs, self->capacity, sizeof *trace->jobs);
    }
    job.team_number = team_number(self, job.team);
    trace->jobs[trace->count++] = job;
    return HELIO_OK;
}

/*  Jobs of one second stay in the order of the file: mergesort is stable. */
static void sort(exp_job_t *jobs, exp_job_t *scratch, uint32_t count)
{
    if (count < 2)
        return;
    uint32_t half = count / 2, a = 0, b = half;
    sort(jobs, scratch, half);
    sort(jobs + half, scratch, count - half);
    for (uint32_t i = 0; i < count; i++)
        scratch[i] = b == count || (a < half && jobs[a].submit_ms <= jobs[b].submit_ms) ? jobs[a++] : jobs[b++];
    for (uint32_t i = 0; i < count; i++)
        jobs[i] = scratch[i];
}

/*  Looked up once: jobs are many. */
static bool *linked_sites(const exp_fleet_t *fleet)
{
    if (!fleet->links.count)
        return NULL;
    bool *linked = helio_new((size_t)fleet->count * fleet->count, sizeof *linked);
    for (uint32_t from = 0; from < fleet->count; from++)
        for (uint32_t to = 0; to < fleet->count; to++)
            linked[(size_t)from * fleet->count + to] = exp_link_of(fleet, from, to) != NULL;
    return linked;
}

helio_rc exp_trace_load(const char *path, const exp_fleet_t *fleet, const exp_trace_defaults_t *defaults,
                        helio_arena_t *arena, exp_trace_t *ret_trace, helio_error_t *err)
{
    *ret_trace = (exp_trace_t){0};
    HELIO_AUTO(exp_csv_close) exp_csv_t *csv = exp_csv_open(path, columns, COLUMN_COUNT, err);
    if (!csv)
        return err->code;
    reader_t reader = {
        .csv = csv, .fleet = fleet, .defaults = defaults, .arena = arena, .trace = ret_trace, .err = err};
    reader.linked = linked_sites(fleet);
    ret_trace->has_limits = exp_csv_has(csv, COLUMN_LIMIT) || defaults->limit_ms;
    ret_trace->has_utils = exp_csv_has(csv, COLUMN_UTIL);
    helio_rc rc;
    while ((rc = exp_csv_next(csv, err)) == HELIO_OK && (rc = take_row(&reader)) == HELIO_OK) {
    }
    HASH_CLEAR(hh, reader.teams);
    free(reader.linked);
    if (rc == HELIO_NOT_FOUND && !ret_trace->count)
        rc = helio_fail(err, HELIO_INVALID, "%s: no job is submitted in this time", path);
    if (rc != HELIO_NOT_FOUND) {
        exp_trace_free(ret_trace);
        return rc;
    }
    exp_job_t *scratch = helio_new(ret_trace->count, sizeof *scratch);
    sort(ret_trace->jobs, scratch, ret_trace->count);
    free(scratch);
    ret_trace->from_ms = defaults->from_ms == INT64_MIN ? ret_trace->jobs[0].submit_ms : defaults->from_ms;
    ret_trace->to_ms = defaults->to_ms == INT64_MAX ? ret_trace->jobs[ret_trace->count - 1].submit_ms : defaults->to_ms;
    return HELIO_OK;
}

void exp_trace_free(exp_trace_t *self)
{
    free(self->jobs);
    free(self->teams);
    *self = (exp_trace_t){0};
}

bool exp_trace_has_data(const exp_trace_t *self)
{
    uint32_t i = 0;
    while (i < self->count && !self->jobs[i].data_bytes)
        i++;
    return i < self->count;
}

double exp_trace_demand(const exp_trace_t *self)
{
    double gpu_ms = 0, span_ms = (double)(self->to_ms - self->from_ms);
    for (uint32_t i = 0; i < self->count; i++) {
        const exp_job_t *job = &self->jobs[i];
        int64_t end_ms = helio_lesser_i64(job->submit_ms + job->duration_ms, self->to_ms);
        if (end_ms > job->submit_ms)
            gpu_ms += (double)(end_ms - job->submit_ms) * job->nodes * job->gpus_per_node;
    }
    return span_ms > 0 ? gpu_ms / span_ms : 0;
}
