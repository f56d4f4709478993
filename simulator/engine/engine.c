/*  engine.c -- virtual time: the queue of happenings, the random numbers, and the hash and trace of a run. */
#include "simulator/engine/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/rng.h"

struct sim_engine {
    sim_engine_options_t options;
    helio_arena_t *arena;
    helio_rng_t rng;
    int64_t now_ms;
    uint64_t made; /* happenings */
    helio_heap_t queue;
    uint64_t hash, steps;
    char violation[320];
};

static sim_happening_t *happening_of(helio_heap_item_t *item)
{
    return HELIO_HEAP_OWNER(item, sim_happening_t, item);
}

static bool before(helio_heap_item_t *left, helio_heap_item_t *right)
{
    const sim_happening_t *a = happening_of(left), *b = happening_of(right);
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->seq < b->seq;
}

sim_engine_t *sim_engine_new(sim_engine_options_t options)
{
    sim_engine_t *self = helio_new(1, sizeof *self);
    self->options = options;
    self->arena = helio_arena_new();
    self->rng.state = options.seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    self->queue.before = before;
    self->hash = HELIO_HASH_SEED;
    return self;
}

void sim_engine_destroy(sim_engine_t **self_p)
{
    sim_engine_t *self = *self_p;
    if (!self)
        return;
    helio_heap_item_t *item;
    while ((item = helio_heap_take(&self->queue)))
        free(happening_of(item));
    helio_heap_clear(&self->queue);
    helio_arena_destroy(&self->arena);
    free(self);
    *self_p = NULL;
}

/* ---- time ---------------------------------------------------------------------------------------------- */

int64_t sim_now_ms(const sim_engine_t *self)
{
    return self->now_ms;
}

int64_t sim_true_wall_ms(const sim_engine_t *self)
{
    return self->options.wall_ms + self->now_ms;
}

sim_happening_t *sim_later(sim_engine_t *self, int64_t delay_ms, sim_happening_fn *fn, void *arg)
{
    sim_happening_t *happening = helio_new(1, sizeof *happening);
    happening->at_ms = self->now_ms + (delay_ms > 0 ? delay_ms : 0);
    happening->seq = ++self->made;
    happening->fn = fn;
    happening->arg = arg;
    helio_heap_put(&self->queue, &happening->item);
    return happening;
}

void sim_again(sim_engine_t *self, const sim_happening_t *happening, int64_t delay_ms)
{
    sim_happening_t *again = sim_later(self, delay_ms, happening->fn, happening->arg);
    again->site = happening->site;
    again->generation = happening->generation;
    again->kind = happening->kind;
    again->number = happening->number;
    again->payload = happening->payload;
}

bool sim_engine_step(sim_engine_t *self)
{
    helio_heap_item_t *item = helio_heap_take(&self->queue);
    if (!item)
        return false;
    sim_happening_t *happening = happening_of(item);
    self->now_ms = happening->at_ms;
    happening->fn(happening->arg, happening);
    free(happening);
    return true;
}

/* ---- random numbers ------------------------------------------------------------------------------------ */

uint64_t sim_seed(const sim_engine_t *self)
{
    return self->options.seed;
}

bool sim_chance(sim_engine_t *self, double probability)
{
    return helio_rng_unit(&self->rng) < probability;
}

int64_t sim_between(sim_engine_t *self, int64_t low, int64_t high)
{
    return low + (int64_t)helio_rng_below(&self->rng, (uint64_t)(high - low + 1));
}

double sim_unit(sim_engine_t *self)
{
    return helio_rng_unit(&self->rng);
}

uint64_t sim_next(sim_engine_t *self)
{
    return helio_rng_next(&self->rng);
}

uint64_t sim_draw(const sim_engine_t *self, uint64_t what, uint64_t which)
{
    uint64_t numbers[] = {self->options.seed, what, which};
    return helio_hash(HELIO_HASH_SEED, numbers, sizeof numbers);
}

bool sim_one_in(const sim_engine_t *self, uint64_t worlds, uint64_t what)
{
    return (sim_draw(self, what, UINT64_MAX) >> 32) % worlds == 0;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

helio_arena_t *sim_arena(sim_engine_t *self)
{
    return self->arena;
}

void *sim_copy(sim_engine_t *self, const helio_record_type_t *type, const void *record)
{
    void *copy = helio_arena_alloc(self->arena, 1, type->size);
    helio_record_copy(type, self->arena, record, copy);
    return copy;
}

/* ---- the record of a run ------------------------------------------------------------------------------- */

static void print_event(const sim_engine_t *self, const char *node, const char *event, const helio_record_type_t *type,
                        const void *payload)
{
    printf("%9lld  %-7s %-14s", (long long)self->now_ms, node, event);
    for (size_t i = 0; i < type->field_count; i++) {
        const helio_field_t *field = &type->fields[i];
        const char *at = (const char *)payload + field->offset;
        char text[HELIO_KEY_SIZE];
        if (field->kind == HELIO_KIND_KEY) {
            helio_job_key_text(*(const helio_job_key_t *)at, text);
            printf(" %s=%s", field->name, text + 18);
        } else if (field->kind == HELIO_KIND_U32) {
            printf(" %s=%u", field->name, *(const uint32_t *)at);
        } else if (field->kind == HELIO_KIND_U64) {
            printf(" %s=%llu", field->name, (unsigned long long)*(const uint64_t *)at);
        } else if (field->kind == HELIO_KIND_TEXT) {
            const helio_text_t *value = (const helio_text_t *)at;
            printf(" %s=%.*s", field->name, (int)value->size, value->data);
        }
    }
    printf("\n");
}

void sim_record(sim_engine_t *self, const char *node, const char *event, const helio_record_type_t *type,
                const void *payload)
{
    self->steps++;
    if (self->options.hash) {
        self->hash = helio_hash(self->hash, &self->now_ms, sizeof self->now_ms);
        self->hash = helio_hash(self->hash, node, strlen(node));
        self->hash = helio_record_hash(type, payload, helio_hash(self->hash, event, strlen(event)));
    }
    if (self->options.trace)
        print_event(self, node, event, type, payload);
}

void sim_note(const sim_engine_t *self, const char *node, const char *effect, const helio_record_type_t *type,
              const void *payload)
{
    if (self->options.trace)
        print_event(self, node, effect, type, payload);
}

void sim_remark(const sim_engine_t *self, const char *what, const char *which)
{
    if (self->options.trace)
        printf("%9lld  %s: %s\n", (long long)self->now_ms, what, which);
}

uint64_t sim_hash(const sim_engine_t *self)
{
    return self->hash;
}

uint64_t sim_steps(const sim_engine_t *self)
{
    return self->steps;
}

void sim_violate(sim_engine_t *self, const char *format, ...)
{
    if (self->violation[0])
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(self->violation, sizeof self->violation, format, args);
    va_end(args);
}

const char *sim_violation(const sim_engine_t *self)
{
    return self->violation;
}
