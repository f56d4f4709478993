/*  batch.c -- the rows of one transaction, by kind, in as many statements as their size requires. */
#include "broker/store/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <uthash.h>

/*  Statements of one kind. Those beyond `used` are empty, and kept for their memory. */
typedef struct shelf {
    helio_columns_t **items;
    uint32_t used;
    uint32_t count;
} shelf_t;

typedef struct state {
    helio_row_state_t row;
    UT_hash_handle hh; /* by row.key */
} state_t;

_Static_assert(sizeof(helio_job_key_t) == sizeof(helio_uuid_t) + sizeof(uint32_t), "a key has no bytes of no meaning");

struct helio_batch {
    shelf_t shelves[HELIO_BATCH_KINDS];
    uint32_t rows;
    bool finished;
    /* STATE rows wait here until the batch is finished: by key, in the order of the first row of each key. */
    helio_arena_t *arena;
    state_t *states;
};

helio_batch_t *helio_batch_new(void)
{
    helio_batch_t *self = helio_new(1, sizeof *self);
    self->arena = helio_arena_new();
    return self;
}

void helio_batch_destroy(helio_batch_t **self_p)
{
    helio_batch_t *self = *self_p;
    if (!self)
        return;
    for (uint32_t kind = 0; kind < HELIO_BATCH_KINDS; kind++) {
        for (uint32_t i = 0; i < self->shelves[kind].count; i++)
            helio_columns_destroy(&self->shelves[kind].items[i]);
        free(self->shelves[kind].items);
    }
    HASH_CLEAR(hh, self->states);
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}

void helio_batch_reset(helio_batch_t *self)
{
    for (uint32_t kind = 0; kind < HELIO_BATCH_KINDS; kind++) {
        shelf_t *shelf = &self->shelves[kind];
        for (uint32_t i = 0; i < shelf->used; i++)
            helio_columns_reset(shelf->items[i]);
        /* One statement of each kind keeps its memory; the memory of a burst is freed. */
        for (; shelf->count > 1; shelf->count--)
            helio_columns_destroy(&shelf->items[shelf->count - 1]);
        shelf->used = 0;
    }
    HASH_CLEAR(hh, self->states);
    helio_arena_reset(self->arena);
    self->rows = 0;
    self->finished = false;
}

/*  A burst of submissions is rows of jobs: in these every empty text means null, and the text of the id comes with them. */
static helio_columns_t *columns_of(uint32_t kind)
{
    bool of_jobs = kind == HELIO_BROKER_FX_ROW_JOB;
    helio_columns_t *columns = helio_columns_new(helio_broker_effects[kind].type,
                                                 of_jobs ? HELIO_COLUMNS_EMPTY_IS_NULL : HELIO_COLUMNS_EMPTY_IS_TEXT);
    if (of_jobs)
        helio_columns_add_id_text(columns);
    return columns;
}

static void shelve(helio_batch_t *self, uint32_t kind, const void *record)
{
    shelf_t *shelf = &self->shelves[kind];
    if (!shelf->used || helio_columns_full(shelf->items[shelf->used - 1])) {
        if (shelf->used == shelf->count) {
            shelf->items = helio_grow(shelf->items, shelf->count + 1, sizeof(helio_columns_t *));
            shelf->items[shelf->count++] = columns_of(kind);
        }
        shelf->used++;
    }
    helio_columns_append(shelf->items[shelf->used - 1], record);
}

static void keep_state(helio_batch_t *self, const helio_row_state_t *row)
{
    state_t *state;
    HASH_FIND(hh, self->states, &row->key, sizeof row->key, state);
    if (!state) {
        state = helio_arena_alloc(self->arena, 1, sizeof *state);
        state->row.key = row->key;
        HASH_ADD(hh, self->states, row.key, sizeof state->row.key, state);
        self->rows++;
    }
    helio_record_copy(&helio_row_state_type, self->arena, row, &state->row);
}

void helio_batch_append(helio_batch_t *self, const helio_effect_t *effect)
{
    assert(effect->kind < HELIO_BATCH_KINDS);
    assert(!self->finished);
    if (effect->kind == HELIO_BROKER_FX_ROW_STATE) {
        keep_state(self, effect->payload);
        return;
    }
    shelve(self, effect->kind, effect->payload);
    self->rows++;
}

uint32_t helio_batch_rows(const helio_batch_t *self)
{
    return self->rows;
}

size_t helio_batch_bytes(const helio_batch_t *self)
{
    size_t bytes = helio_arena_bytes(self->arena);
    for (uint32_t kind = 0; kind < HELIO_BATCH_KINDS; kind++)
        for (uint32_t i = 0; i < self->shelves[kind].used; i++)
            bytes += helio_columns_bytes(self->shelves[kind].items[i]);
    return bytes;
}

void helio_batch_finish(helio_batch_t *self)
{
    if (self->finished)
        return;
    for (const state_t *state = self->states; state; state = state->hh.next)
        shelve(self, HELIO_BROKER_FX_ROW_STATE, &state->row);
    self->finished = true;
}

helio_columns_t *helio_batch_statement(const helio_batch_t *self, uint32_t index, uint32_t *ret_kind)
{
    assert(self->finished);
    for (uint32_t kind = 0; kind < HELIO_BATCH_KINDS; kind++) {
        if (index < self->shelves[kind].used) {
            *ret_kind = kind;
            return self->shelves[kind].items[index];
        }
        index -= self->shelves[kind].used;
    }
    return NULL;
}

const char *helio_batch_put_name(uint32_t kind)
{
    static const char *const names[HELIO_BATCH_KINDS] = {
        [HELIO_BROKER_FX_ROW_JOB] = "put_job",
        [HELIO_BROKER_FX_ROW_STATE] = "put_state",
        [HELIO_BROKER_FX_ROW_PLACEMENT] = "put_placement",
        [HELIO_BROKER_FX_ROW_ATTEMPT] = "put_attempt",
        [HELIO_BROKER_FX_ROW_LEDGER] = "put_ledger",
        [HELIO_BROKER_FX_ROW_TRANSITION] = "put_transition",
        [HELIO_BROKER_FX_ROW_DECISION] = "put_decision",
        [HELIO_BROKER_FX_ROW_CANDIDATE] = "put_candidate",
        [HELIO_BROKER_FX_ROW_CLASS] = "put_class",
        [HELIO_BROKER_FX_ROW_SITE] = "put_site",
        [HELIO_BROKER_FX_ROW_POOL] = "put_pool",
        [HELIO_BROKER_FX_ROW_CAPACITY] = "put_capacity",
        [HELIO_BROKER_FX_ROW_SERIES] = "put_series",
        [HELIO_BROKER_FX_ROW_AUDIT] = "put_audit",
        [HELIO_BROKER_FX_ROW_TOKEN] = "put_token",
        [HELIO_BROKER_FX_ROW_SITE_KEY] = "put_site_key",
        [HELIO_BROKER_FX_ROW_DEPENDENCY] = "put_dependency",
        [HELIO_BROKER_FX_ROW_DEPENDENCY_HOLD] = "put_dependency_hold",
        [HELIO_BROKER_FX_ROW_QUOTA] = "put_quota",
        [HELIO_BROKER_FX_ROW_HOURLY_PRICE] = "put_hourly_price",
        [HELIO_BROKER_FX_ROW_ACTUAL] = "put_actual",
        [HELIO_BROKER_FX_ROW_BASELINE] = "put_baseline",
        [HELIO_BROKER_FX_ROW_DATA] = "put_data",
        [HELIO_BROKER_FX_ROW_LINK] = "put_link",
        [HELIO_BROKER_FX_ROW_QUEUE] = "put_queue",
        [HELIO_BROKER_FX_ROW_QUEUE_RULE] = "put_queue_rule",
        [HELIO_BROKER_FX_ROW_OVERFLOW] = "put_overflow",
        [HELIO_BROKER_FX_ROW_EDIT] = "put_edit",
        [HELIO_BROKER_FX_ROW_EDITED] = "put_edited",
        [HELIO_BROKER_FX_ROW_TENANT] = "put_tenant",
        [HELIO_BROKER_FX_ROW_PRINCIPAL] = "put_principal",
        [HELIO_BROKER_FX_ROW_SITE_ENERGY] = "put_site_energy",
        [HELIO_BROKER_FX_ROW_BUDGET] = "put_budget",
        [HELIO_BROKER_FX_ROW_CURTAILMENT] = "put_curtailment",
        [HELIO_BROKER_FX_ROW_LABEL] = "put_label",
    };
    assert(kind < HELIO_BATCH_KINDS);
    return names[kind];
}
