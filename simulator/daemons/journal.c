/*  journal.c -- the rows of a virtual journal, and its batches: open, in flight, committed or lost. */
#include "simulator/daemons/journal.h"

#include <stdlib.h>
#include <uthash.h>

typedef struct batch {
    helio_effect_t *rows;
    uint32_t count, capacity;
} batch_t;

typedef struct attempt {
    helio_jrow_attempt_t row;
    bool used;
} attempt_t;

typedef struct seen {
    helio_job_key_t key;
    helio_jrow_seen_t row;
    UT_hash_handle hh;
} seen_t;

struct sim_journal {
    sim_engine_t *engine;
    batch_t open, flight;
    bool in_flight;
    helio_jrow_meta_t meta;
    bool has_meta;
    seen_t *seen;
    attempt_t *attempts;
    uint32_t attempt_count;
    helio_report_t *reports;
    uint32_t report_count;
};

sim_journal_t *sim_journal_new(sim_engine_t *engine)
{
    sim_journal_t *self = helio_new(1, sizeof *self);
    self->engine = engine;
    return self;
}

static void forget_rows(sim_journal_t *self)
{
    seen_t *seen, *next;
    HASH_ITER(hh, self->seen, seen, next)
    {
        HASH_DEL(self->seen, seen);
        free(seen);
    }
    free(self->attempts);
    free(self->reports);
    self->attempts = NULL;
    self->reports = NULL;
    self->attempt_count = self->report_count = 0;
    self->has_meta = false;
}

void sim_journal_destroy(sim_journal_t **self_p)
{
    sim_journal_t *self = *self_p;
    if (!self)
        return;
    forget_rows(self);
    free(self->open.rows);
    free(self->flight.rows);
    free(self);
    *self_p = NULL;
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static void put_attempt(sim_journal_t *self, const helio_jrow_attempt_t *row)
{
    uint32_t at = 0, unused = UINT32_MAX;
    for (; at < self->attempt_count; at++) {
        const attempt_t *attempt = &self->attempts[at];
        if (!attempt->used)
            unused = at;
        else if (attempt->row.order.epoch == row->order.epoch &&
                 helio_job_key_equal(attempt->row.order.key, row->order.key))
            break;
    }
    bool found = at < self->attempt_count;
    if (row->state == HELIO_JOB_QUEUED) {
        if (found)
            self->attempts[at].used = false;
        return;
    }
    if (!found && unused != UINT32_MAX)
        at = unused;
    if (at == self->attempt_count)
        self->attempts = helio_grow(self->attempts, ++self->attempt_count, sizeof *self->attempts);
    self->attempts[at].used = true;
    helio_record_copy(&helio_jrow_attempt_type, sim_arena(self->engine), row, &self->attempts[at].row);
}

static void put_acked(sim_journal_t *self, uint64_t seq)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < self->report_count; i++)
        if (self->reports[i].seq > seq)
            self->reports[kept++] = self->reports[i];
    self->report_count = kept;
}

static void put_seen(sim_journal_t *self, const helio_jrow_seen_t *row)
{
    seen_t *seen;
    HASH_FIND(hh, self->seen, &row->key, sizeof row->key, seen);
    if (!seen) {
        seen = helio_new(1, sizeof *seen);
        seen->key = row->key;
        HASH_ADD(hh, self->seen, key, sizeof seen->key, seen);
    }
    seen->row = *row;
}

static void put_report(sim_journal_t *self, const helio_report_t *row)
{
    self->reports = helio_grow(self->reports, self->report_count + 1, sizeof *self->reports);
    helio_record_copy(&helio_report_type, sim_arena(self->engine), row, &self->reports[self->report_count++]);
}

static void apply(sim_journal_t *self, const helio_effect_t *row)
{
    if (row->kind == HELIO_AGENT_FX_ROW_META) {
        self->meta = *(const helio_jrow_meta_t *)row->payload;
        self->has_meta = true;
    } else if (row->kind == HELIO_AGENT_FX_ROW_SEEN) {
        put_seen(self, row->payload);
    } else if (row->kind == HELIO_AGENT_FX_ROW_ATTEMPT) {
        put_attempt(self, row->payload);
    } else if (row->kind == HELIO_AGENT_FX_ROW_REPORT) {
        put_report(self, row->payload);
    } else if (row->kind == HELIO_AGENT_FX_ROW_ACKED) {
        put_acked(self, ((const helio_jrow_acked_t *)row->payload)->seq);
    }
}

/* ---- batches ------------------------------------------------------------------------------------------- */

void sim_journal_append(sim_journal_t *self, const helio_effect_t *row)
{
    batch_t *open = &self->open;
    if (open->count == open->capacity) {
        open->capacity = open->capacity ? open->capacity * 2 : 32;
        open->rows = helio_grow(open->rows, open->capacity, sizeof *open->rows);
    }
    open->rows[open->count] = *row;
    open->rows[open->count++].payload = sim_copy(self->engine, helio_agent_effects[row->kind].type, row->payload);
}

uint32_t sim_journal_open_rows(const sim_journal_t *self)
{
    return self->open.count;
}

bool sim_journal_in_flight(const sim_journal_t *self)
{
    return self->in_flight;
}

void sim_journal_seal(sim_journal_t *self)
{
    batch_t empty = self->flight;
    empty.count = 0;
    self->flight = self->open;
    self->open = empty;
    self->in_flight = true;
}

void sim_journal_commit(sim_journal_t *self)
{
    for (uint32_t i = 0; i < self->flight.count; i++)
        apply(self, &self->flight.rows[i]);
    self->flight.count = 0;
    self->in_flight = false;
}

void sim_journal_crash(sim_journal_t *self, bool arrived)
{
    if (self->in_flight && arrived)
        sim_journal_commit(self);
    self->flight.count = self->open.count = 0;
    self->in_flight = false;
}

void sim_journal_wipe(sim_journal_t *self)
{
    seen_t *seen, *next;
    HASH_ITER(hh, self->seen, seen, next)
    {
        HASH_DEL(self->seen, seen);
        free(seen);
    }
    sim_journal_crash(self, false);
    self->has_meta = false;
    self->attempt_count = self->report_count = 0;
}

void sim_journal_load(const sim_journal_t *self, sim_journal_emit_fn *emit, void *arg)
{
    if (self->has_meta)
        emit(arg, HELIO_AGENT_EV_LOAD_META, &self->meta);
    for (const seen_t *seen = self->seen; seen; seen = seen->hh.next)
        emit(arg, HELIO_AGENT_EV_LOAD_SEEN, &seen->row);
    for (uint32_t i = 0; i < self->attempt_count; i++)
        if (self->attempts[i].used)
            emit(arg, HELIO_AGENT_EV_LOAD_ATTEMPT, &self->attempts[i].row);
    for (uint32_t i = 0; i < self->report_count; i++)
        emit(arg, HELIO_AGENT_EV_LOAD_REPORT, &self->reports[i]);
}

/* ---- copies -------------------------------------------------------------------------------------------- */

/*  The texts of rows live in the engine's arena. */
static void take_rows(sim_journal_t *self, const sim_journal_t *from)
{
    self->meta = from->meta;
    self->has_meta = from->has_meta;
    for (const seen_t *seen = from->seen; seen; seen = seen->hh.next)
        put_seen(self, &seen->row);
    self->attempt_count = from->attempt_count;
    self->attempts = helio_grow(NULL, from->attempt_count + 1, sizeof *self->attempts);
    for (uint32_t i = 0; i < from->attempt_count; i++)
        self->attempts[i] = from->attempts[i];
    self->report_count = from->report_count;
    self->reports = helio_grow(NULL, from->report_count + 1, sizeof *self->reports);
    for (uint32_t i = 0; i < from->report_count; i++)
        self->reports[i] = from->reports[i];
}

sim_journal_t *sim_journal_copy(const sim_journal_t *self)
{
    sim_journal_t *copy = sim_journal_new(self->engine);
    take_rows(copy, self);
    return copy;
}

void sim_journal_restore(sim_journal_t *self, const sim_journal_t *copy)
{
    forget_rows(self);
    if (copy)
        take_rows(self, copy);
}
