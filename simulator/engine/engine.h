/*  engine.h -- virtual time: a queue of happenings, the random numbers of one seed, and the record of a run.
 *
 *  One 64-bit seed decides everything: the same seed gives the same run, event by event. Time is true time in ms and
 *  starts at 0. The engine knows nothing of brokers, sites or jobs.
 *
 *  Random numbers are of two kinds. sim_chance and sim_between draw from one stream, so each draw shifts all later
 *  ones. sim_draw depends on the seed and its arguments alone, so a caller of sim_draw leaves all other draws
 *  unchanged.
 */
#ifndef HELIO_SIMULATOR_ENGINE_ENGINE_H
#define HELIO_SIMULATOR_ENGINE_ENGINE_H

#include "federation/base/heap.h"
#include "federation/base/memory.h"
#include "federation/base/record.h"

typedef struct sim_engine sim_engine_t;
typedef struct sim_happening sim_happening_t;
typedef void sim_happening_fn(void *arg, sim_happening_t *happening);

/*  Something that will happen. The engine calls fn at its time and frees the happening afterwards. The members below
 *  `arg` are for the code that made it; that code keeps the payload alive. Happenings of the same ms happen in the
 *  order in which they were made. */
struct sim_happening {
    helio_heap_item_t item;
    int64_t at_ms;
    uint64_t seq;
    sim_happening_fn *fn;
    void *arg;
    uint32_t site;
    uint64_t generation; /* life of its owner: the handler drops a happening of an earlier life */
    uint32_t kind;
    uint64_t number;
    void *payload;
};

typedef struct sim_engine_options {
    uint64_t seed;
    int64_t wall_ms; /* what a wall clock without skew shows at time 0 */
    bool trace;      /* print every event */
    bool hash;       /* hash every event */
} sim_engine_options_t;

sim_engine_t *sim_engine_new(sim_engine_options_t options);
void sim_engine_destroy(sim_engine_t **self_p);

/*  Time. */
int64_t sim_now_ms(const sim_engine_t *self);
int64_t sim_true_wall_ms(const sim_engine_t *self); /* as a wall clock without skew shows it */
/*  A negative delay counts as 0. The result is valid until it happens. */
sim_happening_t *sim_later(sim_engine_t *self, int64_t delay_ms, sim_happening_fn *fn, void *arg);
/*  Schedules the same happening once more, with everything that it carries. */
void sim_again(sim_engine_t *self, const sim_happening_t *happening, int64_t delay_ms);
/*  Advances time to the next happening and runs it. False: no happening is left. */
bool sim_engine_step(sim_engine_t *self);

/*  Random numbers. */
uint64_t sim_seed(const sim_engine_t *self);
bool sim_chance(sim_engine_t *self, double probability);
int64_t sim_between(sim_engine_t *self, int64_t low, int64_t high); /* inclusive */
double sim_unit(sim_engine_t *self);                                /* [0, 1) */
uint64_t sim_next(sim_engine_t *self);
/*  Depends on the seed and the arguments alone. Its low bits follow those of the seed; sim_one_in uses others. */
uint64_t sim_draw(const sim_engine_t *self, uint64_t what, uint64_t which);
bool sim_one_in(const sim_engine_t *self, uint64_t worlds, uint64_t what); /* true in one of `worlds` worlds */

/*  Memory that lives as long as the engine. */
helio_arena_t *sim_arena(sim_engine_t *self);
void *sim_copy(sim_engine_t *self, const helio_record_type_t *type, const void *record);

/*  The record of a run: each event that a node handles is counted, hashed and, on demand, printed. */
void sim_record(sim_engine_t *self, const char *node, const char *event, const helio_record_type_t *type,
                const void *payload);
void sim_note(const sim_engine_t *self, const char *node, const char *effect, const helio_record_type_t *type,
              const void *payload); /* likewise printed, but neither counted nor hashed: what a node has decided */
void sim_remark(const sim_engine_t *self, const char *what, const char *which); /* printed with the events */
uint64_t sim_hash(const sim_engine_t *self);                                    /* of no event without the option */
uint64_t sim_steps(const sim_engine_t *self);

/*  Records the first broken promise, which ends the run. Later ones are dropped. */
void sim_violate(sim_engine_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
const char *sim_violation(const sim_engine_t *self); /* "" while every promise holds */

#endif
