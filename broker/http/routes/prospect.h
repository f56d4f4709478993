/*  prospect.h -- what the core foresees of a job, as members of an answer. */
#ifndef HELIO_BROKER_HTTP_ROUTES_PROSPECT_H
#define HELIO_BROKER_HTTP_ROUTES_PROSPECT_H

#include "broker/model/effects.h"
#include "federation/base/json.h"

/*  Writes "expected" {earliest, latest, basis}, "ahead" {jobs, gpus, first} and "hints" of the object; null where
 *  nothing is known. prospect NULL: all three are null. "better_site" of a job that runs and may be moved. */
void helio_prospect_put(helio_json_writer_t *json, const helio_prospect_t *prospect);

#endif
