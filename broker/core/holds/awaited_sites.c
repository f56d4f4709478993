/*  awaited_sites.c -- sites that are away for a moment, and what is not decided without them. */
#include "broker/core/holds/awaited_sites.h"

#include "broker/core/state/changes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/why.h"

enum {
    AWAIT_MAX_MS = 60000, /* where silence begins later than that, as some operators set it */
    NAMED_MAX = 5
};

static bool is_awaited(const helio_broker_core_t *self, const site_t *site)
{
#ifdef HELIO_MUTANT_first_site_wins
    return false;
#endif
    return site->awaited_until_ms > self->now_ms && !site->capacity_known && !site->draining;
}

bool core_site_is_missed(const helio_broker_core_t *self, const site_t *site)
{
    return site->missed && is_awaited(self, site);
}

bool core_site_is_away(const helio_broker_core_t *self, const site_t *site)
{
    return !site->missed && is_awaited(self, site) && site->state == HELIO_SITE_STATE_READY;
}

static void check_by(helio_broker_core_t *self, int64_t at_ms)
{
    if (!self->awaited_check_ms || at_ms < self->awaited_check_ms)
        self->awaited_check_ms = at_ms;
}

void core_site_await(helio_broker_core_t *self, site_t *site, bool missed)
{
    site->missed = missed || core_site_is_missed(self, site);
    if (missed)
        self->missed_since_ms = self->now_ms;
    if (!missed && site->missed)
        return; /* the time since the takeover counts */
    uint64_t silent_ms = self->options.silent_after_ms;
    site->awaited_until_ms = self->now_ms + (int64_t)(silent_ms < AWAIT_MAX_MS ? silent_ms : AWAIT_MAX_MS);
    check_by(self, missed ? self->now_ms + TAKEOVER_AWAIT_MS : site->awaited_until_ms);
}

void core_site_found(helio_broker_core_t *self, site_t *site)
{
    if (!site->awaited_until_ms)
        return;
    site->missed = false;
    site->awaited_until_ms = 0;
    core_facts_changed(self, site);
}

void core_awaited_sites_check(helio_broker_core_t *self)
{
    if (!self->awaited_check_ms || self->now_ms < self->awaited_check_ms)
        return;
    self->awaited_check_ms = 0;
    for (site_t *site = self->sites; site; site = site->hh.next) {
        if (site->awaited_until_ms > self->now_ms)
            check_by(self, site->awaited_until_ms);
        else
            core_site_found(self, site);
    }
    core_capacity_changed(self);
}

/* ---- what is not decided ------------------------------------------------------------------------------- */

int64_t core_missed_until_ms(const helio_broker_core_t *self)
{
    int64_t until_ms = 0;
    for (const site_t *site = self->awaited_check_ms ? self->sites : NULL; site; site = site->hh.next)
        if (core_site_is_missed(self, site) && site->awaited_until_ms > until_ms)
            until_ms = site->awaited_until_ms;
    return until_ms;
}

int64_t core_takeover_awaits_ms(const helio_broker_core_t *self)
{
    int64_t until_ms = self->missed_since_ms + TAKEOVER_AWAIT_MS;
    return self->now_ms < until_ms && core_missed_until_ms(self) ? until_ms : 0;
}

static bool could_run(const job_class_t *class, const site_t *site)
{
    for (uint32_t i = 0; i < site->pool_count; i++)
        if (helio_choice_filter(&class->want, &site->profile, &site->pools[i].info).rejection == HELIO_REJECTION_NONE)
            return true;
    return false;
}

bool core_class_misses(const helio_broker_core_t *self, const job_class_t *class)
{
    for (const site_t *site = self->awaited_check_ms ? self->sites : NULL; site; site = site->hh.next)
        if (core_site_is_missed(self, site) && could_run(class, site))
            return true;
    return false;
}

static bool awaits(const helio_broker_core_t *self, const job_class_t *class, const site_t *site)
{
    bool away = core_site_is_away(self, site) && class->window.site == site;
    return (away || core_site_is_missed(self, site)) && could_run(class, site);
}

/*  A class that may wait, and not one whose deadline passes meanwhile. */
int64_t core_class_awaits_ms(const helio_broker_core_t *self, const job_class_t *class)
{
    int64_t until_ms = 0;
    if (class->want.free_until_ms <= self->wall_ms)
        return 0;
    for (const site_t *site = self->awaited_check_ms ? self->sites : NULL; site; site = site->hh.next)
        if (awaits(self, class, site) && site->awaited_until_ms > until_ms)
            until_ms = site->awaited_until_ms;
    int64_t start_ms = self->wall_ms + until_ms - self->now_ms, deadline_ms = class->want.deadline_wall_ms;
    return deadline_ms && start_ms + (int64_t) class->want.time_limit_ms > deadline_ms ? 0 : until_ms;
}

helio_detail_t core_awaited_detail(helio_broker_core_t *self, const job_class_t *class, int64_t until_ms)
{
    const char *names = "";
    uint32_t count = 0;
    for (const site_t *site = self->sites; site; site = site->hh.next) {
        if (class ? !awaits(self, class, site) : !core_site_is_missed(self, site))
            continue;
        if (count++ < NAMED_MAX)
            names = core_printf(self, "%s%s%s", names, *names ? "," : "", site->name);
    }
    return CORE_DETAIL(self, HELIO_DETAIL_SITES_AWAITED, ((helio_value_t){count, helio_text_of(names)}),
                       helio_value_number(self->wall_ms + until_ms - self->now_ms));
}
