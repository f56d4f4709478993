/*  classes.c -- groups jobs by what they ask for, then by the pools that have it. */
#include "simulator/experiment/classes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <uthash.h>

#include "federation/base/number.h"
#include "federation/policy/choice.h"
#include "federation/policy/pool_forecast.h"

enum { UTIL_STEPS = 10 }; /* jobs of one class differ by a tenth at most */

/*  All that decides about a job's class, as bytes, and the class. */
typedef struct shape {
    char *key;
    uint32_t number;
    UT_hash_handle hh;
} shape_t;

typedef struct grouping {
    exp_classes_t *classes;
    const exp_fleet_t *fleet;
    shape_t *shapes;
    uint32_t *able; /* places of the job at hand */
} grouping_t;

static uint32_t util_step(const exp_job_t *job)
{
    return (uint32_t)(job->util * UTIL_STEPS);
}

static void put_key(const exp_job_t *job, helio_buffer_t *key)
{
    helio_buffer_reset(key);
    helio_buffer_printf(key, "%u %u %d %u %d %u:%.*s", job->gpus_per_node, job->nodes, job->checkpoint_ms != 0,
                        util_step(job), job->pinned ? (int)job->home : -1, job->model.size,
                        HELIO_TEXT_ARGS(job->model));
    for (uint32_t i = 0; i < job->site_count; i++)
        helio_buffer_printf(key, " %u:%.*s", job->sites[i].text.size, HELIO_TEXT_ARGS(job->sites[i].text));
}

/*  By the filter that the broker uses. */
static uint32_t find_able(grouping_t *self, const exp_job_t *job)
{
    helio_gpu_ask_t ask = {.model = job->model, .count = job->gpus_per_node};
    helio_requirement_t want = {.gpus = {&ask, 1},
                                .nodes = job->nodes,
                                .sites = {.items = job->sites, .count = job->site_count},
                                .spot = job->checkpoint_ms != 0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->classes->place_count; i++) {
        const exp_place_t *place = &self->classes->places[i];
        const helio_site_profile_t *site = &self->fleet->items[place->site].profile;
        if (!(job->pinned && place->site != job->home) &&
            helio_choice_filter(&want, site, &site->pools.items[place->pool]).rejection == HELIO_REJECTION_NONE)
            self->able[count++] = i;
    }
    return count;
}

static uint32_t add_class(grouping_t *self, uint32_t able_count, double util)
{
    exp_classes_t *classes = self->classes;
    if (classes->count == EXP_CLASSES_MAX)
        return EXP_CLASSES_MAX - 1;
    if (classes->count == EXP_CLASSES_MAX - 1) /* the last one may run anywhere */
        for (able_count = 0; able_count < classes->place_count; able_count++)
            self->able[able_count] = able_count;
    classes->items = helio_grow(classes->items, classes->count + 1, sizeof *classes->items);
    exp_class_t *item = &classes->items[classes->count];
    *item = (exp_class_t){.place_count = able_count, .util_low = util, .util_high = util};
    item->places = helio_new(able_count, sizeof *item->places);
    memcpy(item->places, self->able, able_count * sizeof *item->places);
    return classes->count++;
}

static uint32_t class_of_able(grouping_t *self, const exp_job_t *job)
{
    uint32_t able_count = find_able(self, job);
    if (!able_count)
        return EXP_CLASS_NONE;
    for (uint32_t i = 0; i < self->classes->count; i++) {
        const exp_class_t *item = &self->classes->items[i];
        if (item->place_count == able_count && (uint32_t)(item->util_low * UTIL_STEPS) == util_step(job) &&
            memcmp(item->places, self->able, able_count * sizeof *item->places) == 0)
            return i;
    }
    return add_class(self, able_count, job->util);
}

static uint32_t class_of(grouping_t *self, const exp_job_t *job, helio_buffer_t *key)
{
    shape_t *shape;
    put_key(job, key);
    HASH_FIND(hh, self->shapes, key->data, key->size, shape);
    if (!shape) {
        shape = helio_new(1, sizeof *shape);
        shape->key = helio_new(key->size, 1);
        memcpy(shape->key, key->data, key->size);
        shape->number = class_of_able(self, job);
        HASH_ADD_KEYPTR(hh, self->shapes, shape->key, key->size, shape);
    }
    if (shape->number == EXP_CLASS_NONE)
        return EXP_CLASS_NONE;
    exp_class_t *item = &self->classes->items[shape->number];
    item->util_low = job->util < item->util_low ? job->util : item->util_low;
    item->util_high = job->util > item->util_high ? job->util : item->util_high;
    return shape->number;
}

static void find_places(exp_classes_t *self, const exp_fleet_t *fleet)
{
    for (uint32_t site = 0; site < fleet->count; site++) {
        uint32_t pools = fleet->items[site].profile.pools.count;
        self->places = helio_grow(self->places, self->place_count + pools + 1, sizeof *self->places);
        for (uint32_t pool = 0; pool < pools; pool++)
            self->places[self->place_count++] = (exp_place_t){site, pool};
    }
}

void exp_classes_init(exp_classes_t *self, const exp_fleet_t *fleet, const exp_trace_t *trace)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t key = {0};
    shape_t *shape, *next;
    *self = (exp_classes_t){0};
    find_places(self, fleet);
    grouping_t grouping = {.classes = self, .fleet = fleet};
    grouping.able = helio_new(self->place_count + 1, sizeof *grouping.able);
    self->of_job = helio_new(trace->count, sizeof *self->of_job);
    for (uint32_t i = 0; i < trace->count; i++)
        self->of_job[i] = class_of(&grouping, &trace->jobs[i], &key);
    HASH_ITER(hh, grouping.shapes, shape, next)
    {
        HASH_DEL(grouping.shapes, shape);
        free(shape->key);
        free(shape);
    }
    free(grouping.able);
}

void exp_classes_clear(exp_classes_t *self)
{
    for (uint32_t i = 0; i < self->count; i++)
        free(self->items[i].places);
    free(self->items);
    free(self->places);
    free(self->of_job);
    *self = (exp_classes_t){0};
}

void exp_demand_init(exp_demand_t *self, uint32_t classes, int64_t first_ms)
{
    *self = (exp_demand_t){.first_hour = helio_hour_of(first_ms) / HELIO_HOUR_MS, .classes = classes};
}

void exp_demand_clear(exp_demand_t *self)
{
    free(self->gpu_hours);
    *self = (exp_demand_t){0};
}

static double *cell(exp_demand_t *self, int64_t hour, uint32_t class_)
{
    assert(hour >= self->first_hour && class_ < self->classes);
    uint32_t at = (uint32_t)(hour - self->first_hour);
    if (at >= self->capacity) {
        uint32_t capacity = at < 64 ? 128 : 2 * at;
        self->gpu_hours = helio_grow(self->gpu_hours, (size_t)capacity * self->classes, sizeof *self->gpu_hours);
        memset(self->gpu_hours + (size_t)self->capacity * self->classes, 0,
               (size_t)(capacity - self->capacity) * self->classes * sizeof *self->gpu_hours);
        self->capacity = capacity;
    }
    self->hours = at + 1 > self->hours ? at + 1 : self->hours;
    return &self->gpu_hours[(size_t)at * self->classes + class_];
}

void exp_demand_add(exp_demand_t *self, uint32_t class_, uint32_t gpus, int64_t from_ms, int64_t to_ms)
{
    for (int64_t at_ms = from_ms, next_ms; at_ms < to_ms; at_ms = next_ms) {
        int64_t hour_ms = helio_hour_of(at_ms);
        next_ms = helio_lesser_i64(hour_ms + HELIO_HOUR_MS, to_ms);
        *cell(self, hour_ms / HELIO_HOUR_MS, class_) += gpus * (double)(next_ms - at_ms) / (double)HELIO_HOUR_MS;
    }
}
