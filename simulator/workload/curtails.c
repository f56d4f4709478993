/*  curtails.c -- sites are curtailed for some minutes, in a quarter of the worlds; some curtailments are ended by hand. */
#include "simulator/workload/internal.h"

enum { CURTAILS = 8, LEAST_S = 60, SPAN_S = 600 };

static uint64_t draw_of(const sim_workload_t *self, uint64_t number)
{
    enum { CURTAIL_DRAW = 96 };
    return sim_draw(self->engine, CURTAIL_DRAW, number);
}

static void on_curtail(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    uint64_t draw = draw_of(self, item->number);
    bool later = draw / 8 % 4 == 0;
    helio_ev_curtail_t curtail = {.call = CURTAILS_CALL + item->number,
                                  .actor = HELIO_TEXT("user:ops/operator"),
                                  .role = HELIO_ROLE_OPERATOR,
                                  .site = self->federation->profiles[draw % self->federation->site_count].name,
                                  .end = draw / 32 % 4 == 0,
                                  .percent = (uint32_t)(draw / 128 % 5 * 20),
                                  .for_ms = (LEAST_S + draw / 1024 % SPAN_S) * 1000,
                                  .from_wall_ms = later ? sim_true_wall_ms(self->engine) + LEAST_S * 1000 : 0,
                                  .reason = HELIO_TEXT("the grid asks")};
    if (workload_broker(self))
        sim_broker_take(workload_broker(self), HELIO_BROKER_EV_CURTAIL, &curtail);
}

void sim_workload_begin_curtails(sim_workload_t *self)
{
    enum { CURTAILS_DRAW = 97, CURTAIL_TIME_DRAW = 98 };
    for (uint32_t i = 0; sim_one_in(self->engine, 4, CURTAILS_DRAW) && i < CURTAILS; i++) {
        int64_t at_ms = (int64_t)(sim_draw(self->engine, CURTAIL_TIME_DRAW, i) % (uint64_t)(self->faults_ms + 1));
        sim_later(self->engine, at_ms, on_curtail, self)->number = i;
    }
}

/*  The broker may not know the site yet; by its clock, the curtailment can be over. */
void workload_curtails_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    bool over = helio_details_find(&reply->details, HELIO_DETAIL_CURTAIL_OVER) != NULL;
    if (reply->rc != HELIO_OK && reply->rc != HELIO_NOT_FOUND && !over)
        workload_refused(self, reply, "a curtailment was refused");
}
