/*  hours.h -- the grid of the virtual world: what an hour at a site truly emits, and what the site's feeds say of it.
 *
 *  Half of the worlds have hours that differ, and jobs that may wait for a better one, which begins amid the faults.
 *  All of it depends on the seed and the arguments alone: the other half runs as if this file did not exist.
 */
#ifndef HELIO_SIMULATOR_WORKLOAD_HOURS_H
#define HELIO_SIMULATOR_WORKLOAD_HOURS_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "simulator/engine/engine.h"

#define SIM_HOUR_WALL_MS INT64_C(1764547200000) /* the first full hour of all worlds: the first of a month */

enum { SIM_NOISE_G = 80 };

bool sim_hours_differ(uint64_t seed);
int64_t sim_hours_begin_wall_ms(uint64_t seed); /* what a true wall clock shows when the world begins */
/*  g/kWh. What is issued of an hour lies above it, by less than the noise. */
uint64_t sim_hours_truth(const sim_engine_t *engine, uint32_t site, int64_t hour_ms);
/*  Adds a forecast, which is another every 20 s, and the GPUs that the site keeps for itself, which change every two
 *  minutes; it keeps none after the first minutes, so that every job ends. The series live in the engine's arena. */
void sim_hours_feed(sim_engine_t *engine, uint32_t site, int64_t wall_ms, helio_site_summary_t *summary);

#endif
