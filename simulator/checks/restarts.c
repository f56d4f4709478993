/*  restarts.c -- the promise on a new leader: what waits for a better start goes on waiting until the sites that the
 *  last leader had are back, or have been away for long. */
#include <stdlib.h>

#include "federation/reason/codes.h"
#include "simulator/checks/internal.h"

/*  A class that waited for a start, as the last leader's durable rows say. */
typedef struct checks_window {
    uint64_t class_id;
    int64_t start_ms; /* 0 = it did not wait for one */
    uint64_t site;    /* its bit */
    UT_hash_handle hh;
} checks_window_t;

/*  The class that a decision is about. */
typedef struct checks_decision {
    uint64_t decision_id, class_id;
    UT_hash_handle hh;
} checks_decision_t;

struct checks_restarts {
    checks_window_t *windows;
    checks_decision_t *decisions;
    int64_t took_over_ms;
    uint64_t missed; /* a bit for each site that was ready and is not back */
};

static uint64_t bit_of(const sim_checks_t *self, helio_text_t name)
{
    for (uint32_t i = 0; i < self->federation->site_count; i++)
        if (helio_text_equal(self->federation->profiles[i].name, name))
            return UINT64_C(1) << i;
    return 0;
}

static void take_site(void *arg, const helio_row_site_t *row)
{
    sim_checks_t *self = arg;
    if (row->state == HELIO_SITE_STATE_READY && !row->draining)
        self->restarts->missed |= bit_of(self, row->site);
}

static void take_class(void *arg, const helio_row_class_t *row)
{
    sim_checks_t *self = arg;
    checks_restarts_t *restarts = self->restarts;
    checks_window_t *window;
    HASH_FIND(hh, restarts->windows, &row->class_id, sizeof row->class_id, window);
    if (!window) {
        window = helio_new(1, sizeof *window);
        window->class_id = row->class_id;
        HASH_ADD(hh, restarts->windows, class_id, sizeof window->class_id, window);
    }
    bool waits = helio_text_is(row->reason, helio_reason_name(HELIO_REASON_WAITING_FOR_WINDOW));
    const helio_detail_t *at = helio_details_find(&row->details, HELIO_DETAIL_WINDOW_AT);
    window->start_ms = waits && at ? row->expected_ms : 0;
    window->site = window->start_ms ? bit_of(self, at->values.items[0].text) : 0;
    if (window->site & self->restarts->missed)
        self->seen.windows_missed++;
}

void checks_restart_takeover(sim_checks_t *self)
{
    if (!self->restarts)
        self->restarts = helio_new(1, sizeof *self->restarts);
    self->restarts->took_over_ms = sim_now_ms(self->engine);
    self->restarts->missed = 0;
    sim_database_each_site(self->database, take_site, self);
    sim_database_each_class(self->database, take_class, self);
}

/*  One that is given up, or drained, is not awaited. */
void checks_restart_site(sim_checks_t *self, const helio_row_site_t *row)
{
    if (self->restarts && (row->state == HELIO_SITE_STATE_LOST || row->draining))
        self->restarts->missed &= ~bit_of(self, row->site);
}

/*  Its first summary. */
void checks_restart_capacity(sim_checks_t *self, const helio_row_capacity_t *row)
{
    if (self->restarts)
        self->restarts->missed &= ~bit_of(self, row->site);
}

void checks_restart_quota(sim_checks_t *self)
{
    self->seen.quotas_missed += self->restarts && self->restarts->missed;
}

void checks_restart_decision(sim_checks_t *self, const helio_row_decision_t *row)
{
    if (!self->restarts)
        return;
    checks_decision_t *decision = helio_new(1, sizeof *decision);
    decision->decision_id = row->decision_id;
    decision->class_id = row->class_id;
    HASH_ADD(hh, self->restarts->decisions, decision_id, sizeof decision->decision_id, decision);
}

/*  For so long a new leader awaits its sites, at least: until they are silent, by a clock that drifts. */
static int64_t awaits_ms(const sim_checks_t *self)
{
    int64_t silent_ms = (int64_t)sim_broker_options(checks_leader(self))->silent_after_ms;
    return silent_ms - silent_ms / 12;
}

static bool has_deadline(const sim_checks_t *self, helio_uuid_t id)
{
    for (uint32_t i = 0; i < sim_workload_count(self->workload); i++)
        if (helio_uuid_equal(sim_workload_job(self->workload, i)->given, id))
            return sim_workload_job(self->workload, i)->deadline_ms != 0;
    return false;
}

/*  A start that was waited for and has come may be taken, and a deadline is not waited away. */
void checks_restart_placement(sim_checks_t *self, const helio_row_placement_t *row, int64_t wall_ms)
{
    const checks_restarts_t *restarts = self->restarts;
    checks_decision_t *decision = NULL;
    checks_window_t *window = NULL;
    if (!restarts || !restarts->missed || sim_now_ms(self->engine) - restarts->took_over_ms >= awaits_ms(self))
        return;
    HASH_FIND(hh, restarts->decisions, &row->decision_id, sizeof row->decision_id, decision);
    if (decision)
        HASH_FIND(hh, restarts->windows, &decision->class_id, sizeof decision->class_id, window);
    if (!window || wall_ms >= window->start_ms || !(window->site & restarts->missed) ||
        has_deadline(self, row->key.job))
        return;
    sim_violate(self->engine, "a new leader placed a job %lld ms before the start that it waits for, without all sites",
                (long long)(window->start_ms - wall_ms));
}

void checks_restarts_free(sim_checks_t *self)
{
    checks_restarts_t *restarts = self->restarts;
    checks_window_t *window, *next_window;
    checks_decision_t *decision, *next_decision;
    if (!restarts)
        return;
    HASH_ITER(hh, restarts->windows, window, next_window)
    {
        HASH_DEL(restarts->windows, window);
        free(window);
    }
    HASH_ITER(hh, restarts->decisions, decision, next_decision)
    {
        HASH_DEL(restarts->decisions, decision);
        free(decision);
    }
    free(restarts);
}
