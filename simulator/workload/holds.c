/*  holds.c -- users hold their waiting jobs and release them, and an operator holds some too. A user's release ends the
 *  holds of users only. What runs already is requeued instead. */
#include "simulator/workload/internal.h"

enum { HOLDS = 24, HELD_FOR_MS = 90000 };

static bool has_holds(const sim_workload_t *self)
{
    return sim_seed(self->engine) % 5 == 3;
}

static uint64_t draw_of(const sim_workload_t *self, uint64_t number)
{
    enum { HOLD_DRAW = 91 };
    return sim_draw(self->engine, HOLD_DRAW, number);
}

/*  One in eight is asked for by another tenant, one in eight by an operator. */
static helio_ev_command_t command_of(const sim_workload_t *self, uint64_t number)
{
    uint64_t draw = draw_of(self, number);
    const sim_job_t *job = &self->jobs[draw % self->job_count];
    bool operates = draw / 64 % 8 == 0, foreign = draw / 64 % 8 == 1;
    return (helio_ev_command_t){.call = HOLDS_CALL + number,
                                .tenant = helio_text_of(foreign ? "green" : job->tenant),
                                .actor = operates ? HELIO_TEXT("user:ops/operator") : HELIO_TEXT("user:acme/ana"),
                                .role = operates ? HELIO_ROLE_OPERATOR : HELIO_ROLE_USER,
                                .key = {job->id, HELIO_NO_TASK}};
}

static void on_release(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    helio_ev_command_t release = command_of(self, item->number);
    release.call += HOLDS;
    if (workload_broker(self))
        sim_broker_take(workload_broker(self), HELIO_BROKER_EV_RELEASE, &release);
}

static void on_hold(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    helio_ev_command_t hold = command_of(self, item->number);
    if (!workload_broker(self) || !self->jobs[draw_of(self, item->number) % self->job_count].answered)
        return;
    sim_broker_take(workload_broker(self), HELIO_BROKER_EV_HOLD, &hold);
    hold.call += 2 * HOLDS;
    if (workload_broker(self) && draw_of(self, item->number) / 512 % 2)
        sim_broker_take(workload_broker(self), HELIO_BROKER_EV_REQUEUE, &hold);
    sim_later(self->engine, HELD_FOR_MS, on_release, self)->number = item->number;
}

/*  In a fifth of the worlds. The operator of workload.c releases what is left after the faults. */
void workload_holds_begin(sim_workload_t *self)
{
    enum { HOLD_TIME_DRAW = 92 };
    for (uint32_t i = 0; has_holds(self) && i < HOLDS; i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, HOLD_TIME_DRAW, i) % (uint64_t)(self->faults_ms + 1));
        sim_later(self->engine, at_ms, on_hold, self)->number = i;
    }
}

/*  Each may be refused: the job may be at a site, over, not held, of another tenant, or held by an operator. */
void workload_holds_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    bool releases = reply->call - HOLDS_CALL >= HOLDS && reply->call - HOLDS_CALL < 2 * HOLDS;
    if (reply->rc != HELIO_OK && reply->rc != HELIO_NOT_FOUND && !(releases && reply->rc == HELIO_CONFLICT))
        workload_refused(self, reply, "a good hold or release was refused");
}
