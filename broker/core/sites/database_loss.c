/*  database_loss.c -- a leader without its database keeps its sites for a moment, then lets them go. */
#include "broker/core/sites/database_loss.h"

#include "broker/core/sites/silence.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/sites.h"

/*  Silence was not counted meanwhile: sites that were refused could not be heard. Each gets its full grace again, as
 *  from a new leader. */
static void find_again(helio_broker_core_t *self)
{
    for (site_t *site = self->sites; site; site = site->hh.next)
        site->heard_ms = site->orders_ms = self->now_ms;
    self->database_lost_ms = 0;
    core_check_at(self, CORE_CHECK_DATABASE, INT64_MAX);
}

void core_on_database(helio_broker_core_t *self, const helio_ev_database_t *event)
{
    if (event->connected && self->database_lost_ms) {
        find_again(self);
    } else if (!event->connected && !self->database_lost_ms) {
        self->database_lost_ms = self->now_ms;
        core_check_at(self, CORE_CHECK_DATABASE, self->now_ms + HELIO_DATABASE_LOSS_MS);
    }
}

bool core_database_is_given_up(const helio_broker_core_t *self)
{
    return self->database_lost_ms && self->now_ms - self->database_lost_ms >= HELIO_DATABASE_LOSS_MS;
}

void core_check_database(helio_broker_core_t *self)
{
    for (site_t *site = self->sites; site; site = site->hh.next)
        if (site->peer)
            core_session_refuse(self, site, HELIO_UNAVAILABLE, HELIO_TEXT("this broker has lost its database"));
    core_check_at(self, CORE_CHECK_DATABASE, INT64_MAX);
}
