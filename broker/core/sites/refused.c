/*  refused.c -- what operators are told of a site whose messages the broker refuses. */
#include "broker/core/sites/refused.h"

#include "broker/core/state/core.h"
#include "broker/core/state/sites.h"

enum {
    REFUSED_ROW_MS = 10000,  /* if the reason of the refusals keeps changing, the row is written this often */
    REFUSED_KEPT_MS = 600000 /* how long a refusal is shown beside a session */
};

void core_site_refuse(helio_broker_core_t *self, site_t *site, uint32_t rc, helio_text_t text)
{
    bool other = !helio_text_is(text, site->refused);
    if (other && site->refused[0] && self->now_ms - site->refused_row_ms < REFUSED_ROW_MS)
        return;
    site->refused_ms = self->now_ms;
    site->refused_rc = rc;
    if (!other)
        return;
    site->refused_row_ms = self->now_ms;
    site->refused_wall_ms = self->wall_ms;
    (void)helio_text_copy(text, site->refused, sizeof site->refused);
    core_site_row(self, site);
}

void core_site_forgive(const helio_broker_core_t *self, site_t *site, bool opened)
{
    bool lasts = !opened || site->refused_rc == HELIO_PROTOCOL;
    if (lasts && self->now_ms - site->refused_ms < REFUSED_KEPT_MS)
        return;
    site->refused[0] = '\0';
    site->refused_rc = HELIO_OK;
    site->refused_wall_ms = 0;
}
