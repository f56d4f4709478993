/*  refusal.c -- a refusal of a request that should have been accepted is a violation. */
#include "federation/reason/sentence.h"
#include "simulator/workload/internal.h"

void workload_refused(sim_workload_t *self, const helio_fx_reply_t *reply, const char *what)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_sentences(&reply->details, &text);
    sim_violate(self->engine, "%s: %s", what, text.data ? text.data : "");
}
