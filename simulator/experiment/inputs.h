/*  inputs.h -- the files of an experiment, read and checked against one another. */
#ifndef HELIO_SIMULATOR_EXPERIMENT_INPUTS_H
#define HELIO_SIMULATOR_EXPERIMENT_INPUTS_H

#include <stdio.h>

#include "simulator/experiment/result.h"

/*  What the user asks for. Paths that are NULL are not given. */
typedef struct exp_request {
    const char *fleet, *jobs, *carbon, *price, *forecast, *price_forecast, *local_jobs, *inference, *rent;
    exp_trace_defaults_t defaults;
    double usd_per_eur;
    double load;      /* 0 = the fleet as it is */
    int64_t shift_ms; /* of all series */
    bool by_distance; /* a policy needs round trips */
} exp_request_t;

typedef struct exp_inputs {
    exp_fleet_t fleet;
    exp_trace_t trace;
    exp_local_trace_t local;
    exp_series_set_t demand; /* of inference */
    exp_reserves_t *reserves;
    exp_world_t world; /* points at the others: an exp_inputs_t is not copied */
} exp_inputs_t;

/*  Errors of the fleet file, several at once, go to `problems`; then err has no text. The inputs are for
 *  exp_inputs_clear in any case. Texts live in the arena. */
HELIO_MUST_CHECK helio_rc exp_inputs_load(const exp_request_t *request, helio_arena_t *arena, FILE *problems,
                                          exp_inputs_t *ret_inputs, helio_error_t *err);
void exp_inputs_clear(exp_inputs_t *self);

#endif
