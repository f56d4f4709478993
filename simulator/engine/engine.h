/*  engine.h -- virtual time: a queue of happenings, the random numbers of one seed, and the record of a run.
 *
 *  One 64-bit seed decides everything: the same seed gives the same run, event by event. Time is true time in ms and
 *  starts at 0. The engine knows nothing of brokers, sites or jobs.
 *
 *  Two kinds of random numbers: sim_chance and sim_between draw from one stream, so each draw moves all later ones;
 *  sim_draw depends on the seed and its arguments alone, so whoever uses it leaves all other draws as they were.
 */
#ifndef HELIO_SIMULATOR_ENGINE_ENGINE_H
#define HELIO_SIMULATOR_ENGINE_ENGINE_H

#include "federation/base/heap.h"
#include "federation/base/memory.h"
#include "federation/base/record.h"

typedef struct sim_engine sim_engine_t;
typedef struct sim_happening sim_happening_t;
typedef void sim_happening_fn(void *arg, sim_happening_t *happening);

/*  Something that will happen. The engine calls fn at its time and frees it afterwards; the members below `arg` are for
 *  whoever made it, which keeps the payload alive. Happenings of the same ms happen in the order of their making. */
struct sim_happening {
    helio_heap_item_t item;
    int64_t at_ms;
    uint64_t seq;
    sim_happening_fn *fn;
    void *arg;
    uint32_t site;
    uint64_t generation; /* of what it belongs to: the handler drops it when that has gone */
    uint32_t kind;
    uint64_t number;
    void *payload;
};

typedef struct sim_engine_options {
    uint64_t seed;
    int64_t wall_ms; /* what a wall clock without skew shows at time 0 */
    bool trace;      /* print every event */
} sim_engine_options_t;

sim_engine_t *sim_engine_new(sim_engine_options_t options);
void sim_engine_destroy(sim_engine_t **self_p);

/*  Time. */
int64_t sim_now_ms(const sim_engine_t *self);
int64_t sim_true_wall_ms(const sim_engine_t *self); /* as a wall clock without skew shows it */
/*  A delay below 0 is none. Valid until it happens. */
sim_happening_t *sim_later(sim_engine_t *self, int64_t delay_ms, sim_happening_fn *fn, void *arg);
/*  The same happening once more, with all that it carries. */
void sim_again(sim_engine_t *self, const sim_happening_t *happening, int64_t delay_ms);
/*  Time moves to the next happening, which happens. False: nothing is left to happen. */
bool sim_engine_step(sim_engine_t *self);

/*  Random numbers. */
uint64_t sim_seed(const sim_engine_t *self);
bool sim_chance(sim_engine_t *self, double probability);
int64_t sim_between(sim_engine_t *self, int64_t low, int64_t high); /* inclusive */
double sim_unit(sim_engine_t *self);                                /* [0, 1) */
uint64_t sim_next(sim_engine_t *self);
/*  Of seed and arguments alone. Its low bits follow those of the seed: sim_one_in takes others. */
uint64_t sim_draw(const sim_engine_t *self, uint64_t what, uint64_t which);
bool sim_one_in(const sim_engine_t *self, uint64_t worlds, uint64_t what); /* of so many worlds this is one */

/*  Memory that lives as long as the engine. */
helio_arena_t *sim_arena(sim_engine_t *self);
void *sim_copy(sim_engine_t *self, const helio_record_type_t *type, const void *record);

/*  The record of a run: each event that a node takes is counted, hashed and, on demand, printed. */
void sim_record(sim_engine_t *self, const char *node, const char *event, const helio_record_type_t *type,
                const void *payload);
void sim_remark(const sim_engine_t *self, const char *what, const char *which); /* printed with the events */
uint64_t sim_hash(const sim_engine_t *self);
uint64_t sim_steps(const sim_engine_t *self);

/*  The first broken promise ends a run. Later ones are dropped. */
void sim_violate(sim_engine_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
const char *sim_violation(const sim_engine_t *self); /* "" while every promise was kept */

#endif
