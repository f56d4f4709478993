/*  start_estimate.h -- what the core foresees of a job, as members of an answer. */
#ifndef HELIO_BROKER_HTTP_ROUTES_START_ESTIMATE_H
#define HELIO_BROKER_HTTP_ROUTES_START_ESTIMATE_H

#include "broker/model/effects.h"
#include "federation/base/json.h"

/*  Writes "expected" {earliest, latest, basis}, "ahead" {jobs, gpus, first} and "hints" of the object; null where
 *  nothing is known. start estimate NULL: all three are null. "better_site" of a job that runs and may be moved. */
void helio_start_estimate_put(helio_json_writer_t *json, const helio_start_estimate_t *start_estimate);

#endif
