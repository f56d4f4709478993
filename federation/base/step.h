/*  step.h -- the input and output of a core: events and effects, as data.
 *
 *  A core is one function, step (core, event, effects). An event carries the time; an effect is carried out by a shell,
 *  in order. An effect's payload lives until the next step: the shell copies, serialises or carries it out.
 *
 *  Each effect has a release. A ROW joins the open batch. A HELD effect is carried out once the batch that was open
 *  when it was emitted has been committed; a FREE one at once. Batches are numbered from 1. The shell seals the open
 *  batch and tells the core by an event, so that a replay numbers the batches in the same way.
 */
#ifndef HELIO_BASE_STEP_H
#define HELIO_BASE_STEP_H

#include "federation/base/record.h"

typedef struct helio_event {
    uint32_t kind;       /* of the core's own event table */
    int64_t now_ms;      /* CLOCK_BOOTTIME, never goes back */
    int64_t wall_ms;     /* Unix time */
    const void *payload; /* the kind's record; borrowed for the step */
} helio_event_t;

typedef enum helio_release { HELIO_RELEASE_ROW, HELIO_RELEASE_HELD, HELIO_RELEASE_FREE } helio_release_t;

/*  One row of a core's event or effect table, for shells, recorders and tests that walk them. */
typedef struct helio_step_kind {
    const char *name;
    const helio_record_type_t *type;
    helio_release_t release; /* effects only */
} helio_step_kind_t;

typedef struct helio_effect {
    uint32_t kind; /* of the core's own effect table */
    helio_release_t release;
    uint64_t batch; /* ROW, HELD: the batch it belongs to or waits for */
    void *payload;  /* the kind's record, owned by the effects */
} helio_effect_t;

typedef struct helio_effects {
    helio_arena_t *arena;
    helio_effect_t *items;
    uint32_t count;
    uint32_t capacity;
    int64_t wake_ms; /* the core wants a TICK at this now_ms; INT64_MAX = none */
} helio_effects_t;

helio_effects_t *helio_effects_new(void);
void helio_effects_destroy(helio_effects_t **self_p);
void helio_effects_reset(helio_effects_t *self); /* a core does so at the beginning of each step */
/*  Appends a copy of the record and returns it. The record's views are not copied: they must live until the next step,
 *  or in self->arena. */
void *helio_effects_add(helio_effects_t *self, uint32_t kind, const helio_step_kind_t *kinds, uint64_t batch,
                        const void *record);

#endif
