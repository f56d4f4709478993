/*  host.h -- a machine of the virtual world: its clocks, and whether its program runs, is paused or has ended.
 *
 *  The boot clock drifts from true time; the wall clock is skewed and can jump. Only the code that runs the program
 *  writes the members; any code may read them.
 */
#ifndef HELIO_SIMULATOR_ENGINE_HOST_H
#define HELIO_SIMULATOR_ENGINE_HOST_H

#include "simulator/engine/engine.h"

typedef struct sim_clock {
    int64_t offset_ms; /* what the boot clock shows at time 0 */
    double rate;       /* 1 +- 0.005 */
    int64_t wall_skew_ms;
} sim_clock_t;

typedef struct sim_host {
    sim_clock_t clock;
    bool up;
    uint64_t life; /* counts starts; happenings of an earlier life are dropped */
    int64_t paused_until_ms;
    bool off; /* without power: its program cannot start */
} sim_host_t;

sim_clock_t sim_clock_of(sim_engine_t *engine); /* drawn */
int64_t sim_boot_ms(const sim_engine_t *engine, const sim_clock_t *clock);
int64_t sim_wall_ms(const sim_engine_t *engine, const sim_clock_t *clock);
/*  The delay until the boot clock shows boot_ms; 0 if it already does. */
int64_t sim_delay_ms(const sim_engine_t *engine, const sim_clock_t *clock, int64_t boot_ms);

/*  True: the host still lives the life in which the happening was made. */
bool sim_host_lives(const sim_host_t *self, const sim_happening_t *happening);

#endif
