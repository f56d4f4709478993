/*  attests.c -- an operator attests a site dead while it has no power, so that its jobs need not wait for it; or
 *  attests that a site runs nothing that it does not show, because it runs nothing at all. */
#include "simulator/workload/internal.h"

enum { LOOK_EVERY_MS = 10000 };

static bool runs_nothing(const sim_workload_t *self, uint32_t site)
{
    for (const sim_run_t *run = sim_backend_runs(self->federation->backend); run; run = run->hh.next)
        if (run->site == site && run->running)
            return false;
    return true;
}

/*  Only a site that the broker considers silent can be attested dead. The operator repeats the request until then. */
static void on_look(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    for (uint32_t site = 0; site < self->federation->site_count; site++) {
        bool dead = self->attests_dead && self->federation->hosts[site].off;
        bool empty = sim_agent_has_forgotten(self->federation->agents[site]) && runs_nothing(self, site) &&
                     sim_agent_is_idle(self->federation->agents[site]); /* nor can the agent start anything */
        if ((!dead && !empty) || !workload_broker(self))
            continue;
        helio_ev_site_command_t attest = {.call = ATTESTS_CALL + site,
                                          .actor = HELIO_TEXT("user:ops/operator"),
                                          .role = HELIO_ROLE_OPERATOR,
                                          .site = self->federation->profiles[site].name,
                                          .reason = HELIO_TEXT("no power")};
        sim_broker_take(workload_broker(self), HELIO_BROKER_EV_ATTEST, &attest);
    }
    sim_again(self->engine, item, LOOK_EVERY_MS);
}

/*  Dead sites in half of the worlds. In the others such a site comes back unattested. */
void sim_workload_begin_attests(sim_workload_t *self)
{
    self->attests_dead = sim_one_in(self->engine, 2, 54);
    (void)sim_later(self->engine, LOOK_EVERY_MS, on_look, self);
}

/*  The broker may not know the site yet, or may have heard from it too recently. */
void workload_attests_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    if (reply->rc != HELIO_OK && reply->rc != HELIO_CONFLICT && reply->rc != HELIO_NOT_FOUND)
        workload_refused(self, reply, "a true attestation was refused");
}
