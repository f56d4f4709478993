/*  outages.c -- sites that lose power and connection: the broker hears nothing, and what ran there has ended. */
#include "federation/base/number.h"
#include "simulator/experiment/internal.h"

/*  INT64_MAX: never. */
static int64_t next_of(const exp_run_t *self, uint32_t index)
{
    const exp_outages_t *outages = &self->world->fleet->items[index].outages;
    const exp_site_t *site = &self->sites[index];
    if (site->outages_over == outages->count)
        return INT64_MAX;
    const exp_outage_t *outage = &outages->items[site->outages_over];
    return site->down ? outage->to_ms : outage->from_ms;
}

void exp_outages_find_next(exp_run_t *self)
{
    self->outage_ms = INT64_MAX;
    for (uint32_t i = 0; i < self->world->fleet->count; i++)
        self->outage_ms = helio_lesser_i64(self->outage_ms, next_of(self, i));
}

/*  What ended before is known to the broker; its connection ends with the site. */
static void go(exp_run_t *self, uint32_t index)
{
    helio_ev_site_gone_t gone = {.peer = index + 1, .reason = HELIO_TEXT("outage")};
    exp_send_reports(self, index);
    exp_step(self, HELIO_BROKER_EV_SITE_GONE, &gone);
    self->sites[index].down = true;
    exp_attempts_kill(self, index);
    exp_clouds_lose(self, index);
}

/*  The inventory is empty: of jobs that it does not show, the broker asks for their end. */
static void come_back(exp_run_t *self, uint32_t index)
{
    self->sites[index].down = false;
    self->sites[index].outages_over++;
    exp_clouds_return(self, index);
    exp_send_hello(self, index);
    self->sites[index].changed = true; /* its own users are first, and then it says what is left */
}

void exp_outages_take(exp_run_t *self)
{
    if (self->outage_ms > self->wall_ms)
        return;
    for (uint32_t i = 0; i < self->world->fleet->count; i++)
        while (next_of(self, i) <= self->wall_ms)
            (self->sites[i].down ? come_back : go)(self, i);
    exp_outages_find_next(self);
}
