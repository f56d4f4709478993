/*  classes.h -- jobs grouped by what a bound has to know of them: the pools that could ever run them, and what they draw
 *  there. A trace has few classes, however many jobs it has. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_CLASSES_H
#define HELIO_SIMULATOR_EXPERIMENT_CLASSES_H

#include "simulator/experiment/trace.h"

enum {
    /*  A bound takes time and memory by classes and hours. Each site of a large fleet with jobs of its own makes ten
     *  of them by utilisation; further ones share the last class, which may run anywhere: the bound is lower then, and
     *  still one. */
    EXP_CLASSES_MAX = 1024
};
#define EXP_CLASS_NONE UINT32_MAX /* of a job that no pool can ever run */

/*  A pool of a site. */
typedef struct exp_place {
    uint32_t site, pool;
} exp_place_t;

typedef struct exp_class {
    uint32_t *places; /* ascending; indices into those of the fleet */
    uint32_t place_count;
    double util_low, util_high; /* of its jobs */
} exp_class_t;

typedef struct exp_classes {
    exp_place_t *places; /* all pools of the fleet */
    uint32_t place_count;
    exp_class_t *items;
    uint32_t count;
    uint32_t *of_job; /* for each job of the trace */
} exp_classes_t;

/*  What a job may use under the policies that ask for most: home sites bind pinned jobs alone. */
void exp_classes_init(exp_classes_t *self, const exp_fleet_t *fleet, const exp_trace_t *trace);
void exp_classes_clear(exp_classes_t *self);

/*  GPU-hours by hour and class. */
typedef struct exp_demand {
    int64_t first_hour; /* since 1970; nothing is added before it */
    uint32_t hours, capacity, classes;
    double *gpu_hours; /* hours × classes */
} exp_demand_t;

void exp_demand_init(exp_demand_t *self, uint32_t classes, int64_t first_ms);
void exp_demand_clear(exp_demand_t *self);
void exp_demand_add(exp_demand_t *self, uint32_t class_, uint32_t gpus, int64_t from_ms, int64_t to_ms);

#endif
