/*  host.c -- the clocks of a virtual machine. */
#include "simulator/engine/host.h"

sim_clock_t sim_clock_of(sim_engine_t *engine)
{
    sim_clock_t clock;
    clock.offset_ms = sim_between(engine, 1000, 100000000);
    clock.rate = 1 + (sim_unit(engine) - 0.5) * 0.01;
    clock.wall_skew_ms = sim_between(engine, -2000, 2000);
    return clock;
}

int64_t sim_boot_ms(const sim_engine_t *engine, const sim_clock_t *clock)
{
    return clock->offset_ms + (int64_t)((double)sim_now_ms(engine) * clock->rate);
}

int64_t sim_wall_ms(const sim_engine_t *engine, const sim_clock_t *clock)
{
    return sim_true_wall_ms(engine) + clock->wall_skew_ms;
}

int64_t sim_delay_ms(const sim_engine_t *engine, const sim_clock_t *clock, int64_t boot_ms)
{
    if (boot_ms > INT64_MAX / 4)
        return INT64_MAX / 4;
    int64_t at_ms = (int64_t)((double)(boot_ms - clock->offset_ms) / clock->rate) + 1;
    return at_ms > sim_now_ms(engine) ? at_ms - sim_now_ms(engine) : 0;
}

bool sim_host_lives(const sim_host_t *self, const sim_happening_t *happening)
{
    return self->up && self->life == happening->generation;
}
