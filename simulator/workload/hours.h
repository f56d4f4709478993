/*  hours.h -- the grid of the virtual world: what an hour at a site truly emits, and what the site's feeds say of it.
 *
 *  In half of the worlds the hours differ, and jobs may wait for a cheaper hour, which begins while faults still
 *  strike. Everything depends on the seed and the arguments alone: the other half runs as if this file did not exist.
 */
#ifndef HELIO_SIMULATOR_WORKLOAD_HOURS_H
#define HELIO_SIMULATOR_WORKLOAD_HOURS_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "simulator/engine/engine.h"

#define SIM_HOUR_WALL_MS INT64_C(1764547200000) /* the first full hour of all worlds, at which a month begins */

enum { SIM_NOISE_G = 80 };

bool sim_hours_differ(uint64_t seed);
int64_t sim_hours_begin_wall_ms(uint64_t seed); /* what a true wall clock shows when the world begins */
/*  g/kWh. Forecasts of an hour lie above the true value, by less than the noise. */
uint64_t sim_hours_truth(const sim_engine_t *engine, uint32_t site, int64_t hour_ms);
/*  Adds a forecast, which is reissued every 20 s, and the GPUs that the site reserves, which change every two minutes.
 *  The site reserves none after the first minutes, so that every job ends. The series live in the engine's arena. */
void sim_hours_feed(sim_engine_t *engine, uint32_t site, int64_t wall_ms, helio_site_summary_t *summary);

#endif
