/*  clock.c -- the two clocks of a step, and what becomes of plans when somebody sets the one on the wall.
 *
 *  Many things are to be looked at again at a time of day: GPUs that a site keeps, preemptions that take too long, starts
 * that were put off. After the clock has been set back such a time may be a day away although nobody meant that, and
 * what was decided by the wrong time stands. So a clock that was set is news like any change of what is free: all who
 * wait are asked again, and what was meant as "in a minute" is so still.
 */
#include "broker/core/clock.h"

#include <utlist.h>

#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"

enum { SET_MS = 1000 /* a clock that is slewed is never so far off from one step to the next */ };

static void shift_plans(helio_broker_core_t *self, int64_t by_ms)
{
    core_preempt_move_by(self, by_ms);
    core_migrations_move_by(self, by_ms);
    for (job_class_t *class = self->classes; class; class = class->hh.next)
        if (class->patient_until_ms)
            class->patient_until_ms += by_ms;
}

void core_clock_read(helio_broker_core_t *self, const helio_event_t *event)
{
    int64_t ahead_ms = event->wall_ms - event->now_ms;
    int64_t set_ms = ahead_ms - self->wall_ahead_ms;
    self->now_ms = event->now_ms;
    self->wall_ms = event->wall_ms;
    self->wall_ahead_ms = ahead_ms;
    if (self->wall_ms > self->latest_wall_ms)
        self->latest_wall_ms = self->wall_ms;
    if (!self->loaded || (set_ms < SET_MS && set_ms > -SET_MS))
        return;
    shift_plans(self, set_ms);
    core_facts_changed(self, NULL);
}
