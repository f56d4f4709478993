/*  standby.c -- what a broker that does not lead learns of the one that does. */
#include "broker/engine/internal.h"

bool helio_engine_follow(helio_engine_t *self)
{
    helio_follower_visitor_t visitor = {self->listener.on_access_begin, self->listener.on_token,
                                        self->listener.on_principal, self->listener.on_access_end, self->listener.arg};
    helio_leader_t leader;
    helio_error_t why = {0};
    bool leads = false;
    if (!self->follower)
        self->follower = helio_follower_new(self->options.store.conninfo);
    if (helio_follower_look(self->follower, &visitor, &leads, &leader, &why) != HELIO_OK)
        return false; /* the next attempt to lead fails for the same cause, and logs it */
    helio_store_seen(self->store, leader.last);
    if (!leads)
        return false;
    self->listener.on_following(self->listener.arg, &leader);
    return true;
}

void helio_engine_follow_no_more(helio_engine_t *self)
{
    helio_follower_destroy(&self->follower);
    self->listener.on_following(self->listener.arg, NULL);
}
