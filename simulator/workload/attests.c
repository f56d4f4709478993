/*  attests.c -- an operator who attests a site dead while it has no power, so that its jobs need not wait for it. */
#include "simulator/workload/internal.h"

enum { LOOK_EVERY_MS = 10000 };

/*  Only a site that the broker takes to be silent can be attested dead: it is asked for again until then. */
static void on_look(void *arg, sim_happening_t *item)
{
    sim_workload_t *self = arg;
    for (uint32_t site = 0; site < self->federation->site_count; site++) {
        if (!self->federation->hosts[site].off || !sim_broker_is_up(self->broker))
            continue;
        helio_ev_site_command_t attest = {.call = ATTESTS_CALL + site,
                                          .user = HELIO_TEXT("operator"),
                                          .role = HELIO_ROLE_OPERATOR,
                                          .site = self->federation->profiles[site].name,
                                          .reason = HELIO_TEXT("no power")};
        sim_broker_take(self->broker, HELIO_BROKER_EV_ATTEST, &attest);
    }
    sim_again(self->engine, item, LOOK_EVERY_MS);
}

/*  In half of the worlds; in the others such a site comes back unattested. */
void sim_workload_begin_attests(sim_workload_t *self)
{
    if (sim_one_in(self->engine, 2, 54))
        (void)sim_later(self->engine, LOOK_EVERY_MS, on_look, self);
}

/*  The broker may not know the site yet, or may have heard of it too lately. */
void workload_attests_answered(sim_workload_t *self, const helio_fx_reply_t *reply)
{
    if (reply->rc != HELIO_OK && reply->rc != HELIO_CONFLICT && reply->rc != HELIO_NOT_FOUND)
        workload_refused(self, reply, "a true attestation was refused");
}
