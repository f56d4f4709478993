/*  writer.c -- sessions with the virtual database: who leads, and which batches are written. */
#include "simulator/database/writer.h"

#include <stdlib.h>

#include "simulator/database/database_rows.h"

struct sim_writer {
    sim_database_t *database;
    rows_t open, flight;
    helio_uuid_t open_from; /* of the batch in flight */
    uint64_t epoch;         /* 0 = it never led */
    uint64_t batch;         /* the number of the newest sealed batch */
    bool in_flight;
    bool session; /* with the server */
};

sim_writer_t *sim_writer_new(sim_database_t *database)
{
    sim_writer_t *self = helio_new(1, sizeof *self);
    self->database = database;
    return self;
}

void sim_writer_destroy(sim_writer_t **self_p)
{
    sim_writer_t *self = *self_p;
    if (!self)
        return;
    sim_writer_end_session(self);
    free(self->open.items);
    free(self->flight.items);
    free(self);
    *self_p = NULL;
}

/* ---- who leads ----------------------------------------------------------------------------------------- */

bool sim_writer_lead(sim_writer_t *self, int64_t now_ms, uint64_t grants_ms)
{
    sim_database_t *database = self->database;
    if (database->lock)
        return false;
    int64_t until_ms = now_ms + (int64_t)database->lease_ms; /* the last leader may have granted until now */
    database->leases_until_ms = until_ms > database->leases_until_ms ? until_ms : database->leases_until_ms;
    database->leases_left_ms = (uint64_t)(database->leases_until_ms > now_ms ? database->leases_until_ms - now_ms : 0);
    database->lease_ms = grants_ms;
    database->lock = self;
    database->last_batch = 0;
    self->epoch = ++database->epoch;
    self->batch = 0;
    self->session = true;
    return true;
}

bool sim_writer_is_newest(const sim_writer_t *self)
{
    return self->epoch && self->epoch == self->database->epoch;
}

uint64_t sim_writer_epoch(const sim_writer_t *self)
{
    return self->epoch;
}

bool sim_writer_lose_lock(sim_writer_t *self)
{
    bool had_lock = self->database->lock == self;
    if (had_lock)
        self->database->lock = NULL;
    return had_lock;
}

void sim_writer_end_session(sim_writer_t *self)
{
    (void)sim_writer_lose_lock(self);
    self->session = false;
}

bool sim_writer_has_session(const sim_writer_t *self)
{
    return self->session;
}

sim_resumed_t sim_writer_resume(sim_writer_t *self)
{
    sim_database_t *database = self->database;
    if (!sim_writer_is_newest(self))
        return SIM_RESUMED_FENCED;
    if (database->lock && database->lock != self)
        return SIM_RESUMED_LOCKED;
    database->lock = self;
    self->session = true;
    if (!self->in_flight)
        return SIM_RESUMED;
    if (database->last_batch != self->batch)
        return SIM_RESUMED_LOST;
    sim_writer_answered(self);
    return SIM_RESUMED_WRITTEN;
}

/* ---- batches ------------------------------------------------------------------------------------------- */

void sim_writer_append(sim_writer_t *self, const helio_effect_t *effect)
{
    const helio_record_type_t *type = helio_broker_effects[effect->kind].type;
    helio_arena_t *arena = self->database->arena;
    if (self->open.count == self->open.capacity) {
        self->open.capacity = self->open.capacity ? self->open.capacity * 2 : 64;
        self->open.items = helio_grow(self->open.items, self->open.capacity, sizeof *self->open.items);
    }
    helio_effect_t *copy = &self->open.items[self->open.count++];
    *copy = *effect;
    copy->payload = helio_arena_alloc(arena, 1, type->size);
    helio_record_copy(type, arena, effect->payload, copy->payload);
}

uint32_t sim_writer_open_rows(const sim_writer_t *self)
{
    return self->open.count;
}

bool sim_writer_in_flight(const sim_writer_t *self)
{
    return self->in_flight;
}

uint64_t sim_writer_batch(const sim_writer_t *self)
{
    return self->batch;
}

void sim_writer_seal(sim_writer_t *self, helio_uuid_t open_from)
{
    rows_t empty = self->flight;
    empty.count = 0;
    self->flight = self->open;
    self->open_from = open_from;
    self->open = empty;
    self->in_flight = true;
    self->batch++;
}

sim_written_t sim_writer_commit(sim_writer_t *self)
{
    sim_database_t *database = self->database;
    if (!self->session)
        return SIM_WRITTEN_NOT;
    bool is_next = sim_writer_is_newest(self) && database->last_batch + 1 == self->batch;
#ifdef HELIO_MUTANT_fence_open
    is_next = true;
#endif
    if (!is_next)
        return SIM_WRITTEN_FENCED;
    if (self->epoch < database->written_epoch)
        database_violate(database, "an older leader wrote after a newer one", (helio_job_key_t){.task = HELIO_NO_TASK},
                         0);
    database->written_epoch = self->epoch;
    database->last_batch = self->batch;
    database_apply(database, &self->flight, self->open_from);
    return SIM_WRITTEN;
}

void sim_writer_answered(sim_writer_t *self)
{
    self->flight.count = 0;
    self->in_flight = false;
}

void sim_writer_crash(sim_writer_t *self, bool silently)
{
    if (!silently)
        sim_writer_end_session(self);
    self->flight.count = self->open.count = 0;
    self->in_flight = false;
}
