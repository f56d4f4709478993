/*  start_estimate.h -- the core's start estimate of a job, as members of a response. */
#ifndef HELIO_BROKER_HTTP_ROUTES_START_ESTIMATE_H
#define HELIO_BROKER_HTTP_ROUTES_START_ESTIMATE_H

#include "broker/model/effects.h"
#include "federation/base/json.h"

/*  Writes "expected" {earliest, latest, basis}, "ahead" {jobs, gpus, first} and "hints"; each is null if unknown, and
 *  all are null for NULL. For a running job it writes "better_site" if the estimate has one. */
void helio_start_estimate_put(helio_json_writer_t *json, const helio_start_estimate_t *start_estimate);

#endif
