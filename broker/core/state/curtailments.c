/*  curtailments.c -- the limits on the GPU power of sites. holds/curtailed.c keeps to them. */
#include "broker/core/state/curtailments.h"

#include <stdlib.h>
#include <utlist.h>

#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/sites.h"

curtailment_t *core_curtailment_add(helio_broker_core_t *self, site_t *site, const helio_row_curtailment_t *row)
{
    curtailment_t *curtailment = helio_new(1, sizeof *curtailment);
    site->curtailed_ms = row->set_ms > site->curtailed_ms ? row->set_ms : site->curtailed_ms;
    curtailment->row = *row;
    (void)helio_text_copy(row->reason, curtailment->reason, sizeof curtailment->reason);
    (void)helio_text_copy(row->actor, curtailment->actor, sizeof curtailment->actor);
    curtailment->row.site = helio_text_of(site->name);
    curtailment->row.reason = helio_text_of(curtailment->reason);
    curtailment->row.actor = helio_text_of(curtailment->actor);
    DL_APPEND(site->curtailments, curtailment);
    self->curtailments++;
    core_check_by(self, CORE_CHECK_CURTAILMENTS, row->from_ms);
    core_check_by(self, CORE_CHECK_CURTAILMENTS, row->until_ms);
    return curtailment;
}

static curtailment_t *strictest_of(const helio_broker_core_t *self, const site_t *site, bool prepared)
{
    curtailment_t *strictest = site->supposed_curtailment, *each;
    DL_FOREACH(site->curtailments, each)
    {
        bool begun = each->row.from_ms <= self->wall_ms || (prepared && each->prepares);
        bool holds = begun && self->wall_ms < each->row.until_ms;
        if (holds && (!strictest || each->row.percent < strictest->row.percent))
            strictest = each;
    }
    return strictest;
}

curtailment_t *core_curtailment_now(const helio_broker_core_t *self, const site_t *site)
{
    return strictest_of(self, site, false);
}

curtailment_t *core_curtailment_binding(const helio_broker_core_t *self, const site_t *site)
{
    return strictest_of(self, site, true);
}

bool core_curtailments_begin(const helio_broker_core_t *self, site_t *site)
{
    bool any = false;
    curtailment_t *each;
    DL_FOREACH(site->curtailments, each)
    {
        bool begins = !each->begun && each->row.from_ms <= self->wall_ms;
        each->begun = each->begun || begins;
        any = any || begins;
    }
    return any;
}

uint32_t core_curtailments_count(const site_t *site)
{
    uint32_t count = 0;
    const curtailment_t *each;
    DL_COUNT(site->curtailments, each, count);
    return count;
}

void core_curtailment_write(helio_broker_core_t *self, curtailment_t *curtailment)
{
    /* It can be freed within this step, so the row's texts are copied. */
    helio_row_curtailment_t row = curtailment->row;
    row.reason = helio_arena_text(self->effects->arena, row.reason);
    row.actor = helio_arena_text(self->effects->arena, row.actor);
    core_emit(self, HELIO_BROKER_FX_ROW_CURTAILMENT, &row);
    curtailment->row_ms = self->now_ms;
}

void core_curtailment_drop(helio_broker_core_t *self, site_t *site, curtailment_t *curtailment)
{
    DL_DELETE(site->curtailments, curtailment);
    self->curtailments--;
    free(curtailment);
}

void core_curtailments_free(helio_broker_core_t *self, site_t *site)
{
    while (site->curtailments)
        core_curtailment_drop(self, site, site->curtailments);
}

void core_curtailment_load(helio_broker_core_t *self, const helio_row_curtailment_t *row)
{
    site_t *site = core_site_find(self, row->site);
    if (!site)
        return;
    site->curtailed_ms = row->set_ms > site->curtailed_ms ? row->set_ms : site->curtailed_ms;
    if (!row->ended_ms && row->until_ms > self->wall_ms)
        (void)core_curtailment_add(self, site, row);
}

int64_t core_curtailments_next_ms(const helio_broker_core_t *self)
{
    int64_t next_ms = INT64_MAX;
    for (const site_t *site = self->curtailments ? self->sites : NULL; site; site = site->hh.next) {
        const curtailment_t *each;
        DL_FOREACH(site->curtailments, each)
        {
            int64_t at_ms = each->row.from_ms > self->wall_ms ? each->row.from_ms : each->row.until_ms;
            next_ms = at_ms < next_ms ? at_ms : next_ms;
        }
    }
    return next_ms;
}
