/*  round.c -- a scheduling round: each class is judged once, in order, and its jobs are placed while something fits.
 *
 *  The work is classes x pools, plus the placements; of the classes, those that something can help: a class that waits
 *  for nothing but room is not asked before there is room for it (blocked.h), and no other class before capacity or a
 *  forecast changes, or the hour comes that it waits for. Every evaluation that led to a placement, or changed why a
 *  class waits, is stored. */
#include "broker/core/round/round.h"

#include "broker/core/decide/decisions.h"
#include "broker/core/decide/evaluate.h"
#include "broker/core/decide/growth.h"
#include "broker/core/decide/overflow.h"
#include "broker/core/decide/placement.h"
#include "broker/core/holds/awaited_sites.h"
#include "broker/core/holds/curtailed.h"
#include "broker/core/holds/migrations.h"
#include "broker/core/holds/preemptions.h"
#include "broker/core/holds/reservations.h"
#include "broker/core/holds/site_windows.h"
#include "broker/core/migrate/migrate.h"
#include "broker/core/preempt/preempt.h"
#include "broker/core/round/blocked.h"
#include "broker/core/state/changes.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/classes.h"
#include "broker/core/state/core.h"
#include "broker/core/state/option.h"
#include "broker/core/state/order.h"
#include "broker/core/state/queues.h"
#include "broker/core/state/pools.h"
#include "broker/core/state/sites.h"
#include "broker/core/state/why.h"

enum { ROUND_PLACEMENTS_MAX = 2000 }; /* in one round; the rest waits for the next tick */

/*  Notes where and since when the head of a class could have started, if it waits for a better hour. */
static void note_choice(helio_broker_core_t *self, evaluation_t *e, const choice_t *choice)
{
    job_class_t *class = e->class;
    const option_t *earliest = e->waits && choice->now && !class->earliest_ms ? core_least_wait(self, e) : NULL;
    if (!e->waits)
        class->earliest_ms = 0;
    if (!earliest)
        return;
    class->earliest = earliest->site;
    (void)helio_text_copy(earliest->pool->info.name, class->earliest_pool, sizeof class->earliest_pool);
    class->earliest_ms = self->wall_ms;
}

static void due(job_class_t *class, int64_t at_ms)
{
    if (at_ms && (!class->next_check_ms || at_ms < class->next_check_ms))
        class->next_check_ms = at_ms;
}

/*  For the jobs that are left: what they wait for, and when that is checked again. */
static void settle(helio_broker_core_t *self, evaluation_t *e, const choice_t *choice, bool placed)
{
    job_class_t *class = e->class;
    const window_t before = class->window;
    core_reserve_drop(class);
    core_decide(self, e, choice);
    if (e->waits) {
        const option_t *later = e->chosen;
        uint32_t jobs = choice->room < class->waiting_count ? choice->room : class->waiting_count;
        core_window_set(class, later->site, later->pool, later->c.later.start_ms,
                        jobs * later->c.gpus_per_node * class->want.nodes);
        due(class, later->c.later.start_ms);
    } else {
        core_window_clear(class);
    }
    note_choice(self, e, choice);
    if (e->reserved)
        core_reserve(class, e->reserved->pool, &e->reservation);
    for (uint32_t i = 0; i < e->count; i++)
        due(class, e->options[i].c.not_before_ms);
    if (e->over_budget)
        due(class, e->shortage.fits_ms);
    bool preempted = !e->waits && !choice->now && core_preempt(self, e);
    core_growth_choose(self, e);
    if (preempted || choice->now)
        class->grows = (growth_t){0};
    if (e->waits)
        core_preempt_class_drop(self, class);
    due(class, core_overflow_due_ms(class));
    const int64_t paused_until_ms = core_class_paused_until_ms(class, self->now_ms);
    if (paused_until_ms)
        due(class, self->wall_ms + paused_until_ms - self->now_ms);
    helio_details_t details;
    int64_t expected_ms;
    helio_reason_t reason = core_decision_reason(self, e, &details, &expected_ms);
    bool moved = before.pool != class->window.pool || before.start_ms != class->window.start_ms;
    if ((e->waits && moved) || preempted || (!placed && (reason != class->reason || !class->decision_id)))
        core_decision_write(self, e, reason, &details);
    core_class_write(self, class, reason, &details, expected_ms);
    core_blocked_note(self, e);
}

typedef enum outcome {
    CLASS_DONE,
    CLASS_DEFERRED,      /* behind the rival; it is asked again */
    CLASS_AT_LOWER_LEVEL /* it is asked again at a lower priority level of its queue */
} outcome_t;

/*  Whether its queue has a lower priority elsewhere, where the class can find capacity or goes next. What it waits for
 *  at this level is reserved before classes of lower levels are asked. */
static bool wants_lower_level(helio_broker_core_t *self, evaluation_t *e, const choice_t *choice)
{
    uint32_t below;
    job_class_t *class = e->class;
    bool later_suffices = choice->later && class->waiting_count <= choice->room;
    if (!class->waiting || later_suffices || (choice->now && core_is_at_priority_level(class, choice->now)) ||
        !core_queue_below(class->queue, class->priority_level, &below))
        return false;
    class->deferred_round = self->rounds;
    if (choice->now)
        return true;
    core_reserve_drop(class);
    core_decide(self, e, choice);
    if (e->reserved)
        core_reserve(class, e->reserved->pool, &e->reservation);
    return true;
}

/*  No class starts anything before the sites have said what they run: that is what each waits for first. */
static void await_restored_sites(helio_broker_core_t *self)
{
    const helio_details_t details = CORE_WHY0(self, HELIO_DETAIL_RESTORE_RECONCILES);
    for (job_class_t *class = self->classes; class; class = class->hh.next)
        if (class->waiting)
            core_class_write(self, class, HELIO_REASON_WAITING_FOR_CAPACITY, &details, 0);
}

/*  The class starts nothing before these sites have spoken. What it waits for stays promised to it. */
static void await_sites(helio_broker_core_t *self, job_class_t *class, int64_t until_ms)
{
    class->blocked_at = self->capacity_version;
    helio_details_t details = core_why(self, core_awaited_detail(self, class, until_ms));
    if (class->window.pool)
        core_why_add(self, &details,
                     core_window_detail(self, class->window.site, class->window.pool, class->window.start_ms));
    core_class_write(self, class,
                     class->window.pool ? HELIO_REASON_WAITING_FOR_WINDOW : HELIO_REASON_WAITING_FOR_CAPACITY, &details,
                     class->window.start_ms);
}

/*  Places jobs of the class and returns their number. The jobs are equal: the first ones start now, and as many of the
 *  last ones as find capacity there wait for the later start. Once its tenant has more than that of the rival (NULL =
 *  none), the class is deferred. */
static uint32_t place_class(helio_broker_core_t *self, job_class_t *class, const job_class_t *rival, uint32_t most,
                            outcome_t *ret_outcome)
{
    *ret_outcome = CLASS_DONE;
    class->next_check_ms = 0;
    int64_t awaits_ms = core_class_awaits_ms(self, class);
    if (awaits_ms) {
        await_sites(self, class, awaits_ms);
        return 0;
    }
    evaluation_t e = core_evaluate(self, class);
    choice_t choice = {0};
    uint32_t placed = 0;
    while (class->waiting && placed < most) {
        choice = core_choose(self, &e);
        if (!choice.now || (choice.later && class->waiting_count <= choice.room) ||
            !core_is_at_priority_level(class, choice.now))
            break;
        core_place(self, &e, core_class_next(class, choice.now->pool, self->now_ms), choice.now);
        placed++;
        if (rival && class->waiting && core_class_compare_share(class, rival) > 0) {
            class->deferred_round = self->rounds;
            *ret_outcome = CLASS_DEFERRED;
            return placed;
        }
    }
    if (placed == most && class->waiting)
        return placed;
    if (wants_lower_level(self, &e, &choice)) {
        *ret_outcome = CLASS_AT_LOWER_LEVEL;
        return placed;
    }
    class->blocked_at = self->capacity_version;
    if (class->waiting) {
        settle(self, &e, &choice, placed > 0);
    } else {
        class->earliest_ms = 0;
        core_window_clear(class);
        core_reserve_drop(class);
        const helio_details_t none = {0};
        core_class_write(self, class, HELIO_REASON_NONE, &none, 0);
    }
    return placed;
}

/*  Capacity has changed: every gang is asked again, in order, and the first one reserves anew. */
static void drop_reservations(helio_broker_core_t *self)
{
    if (self->reserved_version == self->capacity_version)
        return;
    self->reserved_version = self->capacity_version;
    for (site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++)
            if (site->pools[i].reservation.class)
                core_reserve_drop(site->pools[i].reservation.class);
}

/*  Asks classes in order. Returns `placed`, with the jobs that are placed here. */
static uint32_t ask_classes(helio_broker_core_t *self, uint32_t placed)
{
    scheduling_order_t scheduling_order = core_scheduling_order(self);
    job_class_t *class, *rival;
    while (placed < ROUND_PLACEMENTS_MAX && (class = core_scheduling_next(self, &scheduling_order, &rival))) {
        outcome_t outcome;
        placed += place_class(self, class, rival, ROUND_PLACEMENTS_MAX - placed, &outcome);
        if (outcome != CLASS_DEFERRED)
            core_scheduling_done(self, &scheduling_order, outcome == CLASS_AT_LOWER_LEVEL);
    }
    return placed;
}

void core_round(helio_broker_core_t *self)
{
    self->round_wanted = false;
    core_findings_expire(self);
    if (core_sites_awaited(self))
        await_restored_sites(self);
    if (core_sites_awaited(self) || core_takeover_awaits_ms(self))
        return; /* a round becomes due when the sites have reported */
    drop_reservations(self);
    core_preempt_review(self);
    core_migrations_review(self);
    core_site_window_review(self);
    core_curtail_review(self);
    core_blocked_review(self);
    uint32_t placed = core_migrations_place(self);
    placed = ask_classes(self, placed);
    if (placed < ROUND_PLACEMENTS_MAX && core_blocked_review(self)) /* a quota was used up */
        placed = ask_classes(self, placed);
    if (placed >= ROUND_PLACEMENTS_MAX)
        core_round_due(self);
    else
        core_migrations_judge(self);
    core_check_at(self, CORE_CHECK_CLASSES, core_site_window_review_ms(self));
    core_check_by(self, CORE_CHECK_CLASSES, core_migrations_next_check_ms(self));
    const job_class_t *class;
    DL_FOREACH(self->judged, class)
    {
        if (class->next_check_ms)
            core_check_by(self, CORE_CHECK_CLASSES, class->next_check_ms);
    }
}

void core_recheck_classes(helio_broker_core_t *self)
{
    job_class_t *class;
    DL_FOREACH(self->judged, class)
    {
        if (class->next_check_ms && class->next_check_ms <= self->wall_ms)
            class->blocked_at = 0;
    }
    core_check_at(self, CORE_CHECK_CLASSES, INT64_MAX);
    core_round_due(self);
}
