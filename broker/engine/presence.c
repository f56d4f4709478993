/*  presence.c -- which sites were last seen present, and which silent. */
#include "broker/engine/presence.h"

#include <stdlib.h>
#include <uthash.h>

enum { LINES_PER_S = 10 };

typedef enum presence { UNSEEN, PRESENT, SILENT } presence_t;

typedef struct seen {
    char name[HELIO_SITE_NAME_MAX + 1];
    presence_t presence;
    UT_hash_handle hh;
} seen_t;

struct helio_presence {
    seen_t *sites; /* as many as the core keeps: names are never forgotten there either */
    int64_t since_ms;
    int64_t silent_after_ms;
    helio_log_limit_t limit;
};

helio_presence_t *helio_presence_new(int64_t since_ms, uint64_t silent_after_ms)
{
    helio_presence_t *self = helio_new(1, sizeof *self);
    self->since_ms = since_ms;
    self->silent_after_ms = (int64_t)silent_after_ms;
    return self;
}

void helio_presence_destroy(helio_presence_t **self_p)
{
    helio_presence_t *self = *self_p;
    seen_t *site, *next;
    if (!self)
        return;
    HASH_ITER(hh, self->sites, site, next)
    {
        HASH_DEL(self->sites, site);
        free(site);
    }
    free(self);
    *self_p = NULL;
}

static seen_t *seen_of(helio_presence_t *self, helio_text_t name)
{
    seen_t *site;
    HASH_FIND(hh, self->sites, name.data, name.size, site);
    if (site)
        return site;
    site = helio_new(1, sizeof *site);
    (void)helio_text_copy(name, site->name, sizeof site->name);
    HASH_ADD(hh, self->sites, name, name.size, site);
    return site;
}

/*  A row that this leader wrote for another reason, of a site that has not connected to it yet, shows no presence. Nor
 *  does it show silence before the site could have been silent under this leader: until a site has told what it runs, a
 *  leader knows it as silent. The wall clock may step, and the core's clock has measured already: half the time proves
 *  enough. */
static presence_t presence_of(const helio_presence_t *self, const helio_row_site_t *row, int64_t wall_ms)
{
    int64_t heard_ms = row->seen_ms > self->since_ms ? row->seen_ms : self->since_ms;
    if (row->state == HELIO_SITE_STATE_SILENT)
        return wall_ms - heard_ms >= self->silent_after_ms / 2 ? SILENT : UNSEEN;
    return row->state == HELIO_SITE_STATE_READY && row->seen_ms >= self->since_ms ? PRESENT : UNSEEN;
}

void helio_presence_log(helio_presence_t *self, helio_log_t *log, const helio_row_site_t *row, int64_t wall_ms)
{
    seen_t *site = seen_of(self, row->site);
    presence_t before = site->presence, now = presence_of(self, row, wall_ms);
    uint32_t dropped;
    if (now == UNSEEN || now == before)
        return;
    site->presence = now;
    if (!helio_log_allowed(&self->limit, LINES_PER_S, &dropped))
        return;
    char name[160], release[80];
    (void)helio_log_quote(row->site, name, sizeof name);
    (void)helio_log_quote(row->agent_version, release, sizeof release);
    if (now == SILENT)
        helio_log(log, HELIO_WARN, "site_silent", "site=%s not_logged=%u", name, dropped);
    else if (before == SILENT)
        helio_log(log, HELIO_INFO, "site_returned", "site=%s release=%s not_logged=%u", name, release, dropped);
    else
        helio_log(log, HELIO_INFO, "site_connected", "site=%s release=%s not_logged=%u", name, release, dropped);
}
