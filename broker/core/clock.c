/*  clock.c -- the two clocks of a step, and what happens to plans when the wall clock is set.
 *
 *  Many things are due at a time of day: site reservation windows, preemptions that take too long, delayed starts. If
 *  the clock is set back, such a time can be a day away although it was meant as a minute, and decisions by the wrong
 *  time stand. So setting the clock counts as a change of capacity: all waiting classes are asked again, and what was
 *  due in a minute still is. */
#include "broker/core/clock.h"

#include <utlist.h>

#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"

enum { SET_MS = 1000 /* between two steps, a slewed clock is never off by this much */ };

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
    int64_t latest_ms = self->latest_wall_ms + (event->now_ms - self->now_ms);
    self->now_ms = event->now_ms;
    self->wall_ms = event->wall_ms;
    self->wall_ahead_ms = ahead_ms;
    self->latest_wall_ms = self->wall_ms > latest_ms ? self->wall_ms : latest_ms;
    if (!self->loaded || (set_ms < SET_MS && set_ms > -SET_MS))
        return;
    shift_plans(self, set_ms);
    core_facts_changed(self, NULL);
}
