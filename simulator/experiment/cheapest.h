/*  cheapest.h -- the least that hourly work can cost at places with limited room, if every GPU-hour goes where it is
 *  cheapest: it may be split at will and hop between places for nothing. What is found is never more than that least;
 *  with one class of jobs it is that least. Pure. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_CHEAPEST_H
#define HELIO_SIMULATOR_EXPERIMENT_CHEAPEST_H

#include "simulator/experiment/classes.h"

/*  A GPU-hour of a class costs fixed + kw × per_kwh at a place, with the lesser of its two kw. */
typedef struct exp_problem {
    const exp_classes_t *classes;
    uint32_t hours;
    const double *room;             /* hours × places: GPU-hours; 0 = none */
    const double *per_kwh;          /* hours × places */
    const double *fixed;            /* of each place */
    const double *kw_low, *kw_high; /* classes × places: of a GPU, by the utilisation of the class */
} exp_problem_t;

/*  may_wait: the work of an hour may be done in any later one; otherwise in this one alone. Hours of the demand and of
 *  the problem begin with the same one; the demand has no more of them. Work for which there is no room costs less
 *  than it would. */
double exp_cheapest(const exp_problem_t *problem, const exp_demand_t *demand, bool may_wait);

#endif
