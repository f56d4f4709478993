/*  place.c -- a decision round: class by class, each judged once, its jobs placed while something fits.
 *
 *  Work is classes x pools, plus what is placed; a class that found nothing is not looked at again before
 * some capacity or forecast changed, or the hour came that it waits for. Every evaluation that led to a
 * placement, or changed why a class waits, is a row.
 */
#include <stdlib.h>
#include <string.h>

#include "broker/core/evaluation.h"

void core_order(helio_broker_core_t *self, job_t *job)
{
    site_t *site = job->site;
    if (!site->peer || !site->inventory_closed)
        return; /* the close of the next inventory sends it */
    const submission_t *submission = job->submission;
    const helio_requirement_t *want = &submission->class->want;
    job->dispatch_seq = ++site->dispatch_seq;
    site->unanswered++;
    helio_fx_order_t fx = {
        .peer = site->peer,
        .incarnation = self->incarnation,
        .order =
            {
                .dispatch_seq = job->dispatch_seq,
                .key = job->key,
                .epoch = job->epoch,
                .tenant = submission->row.tenant,
                .user = submission->row.user,
                .pool = helio_text_of(core_job_pool(job)),
                .nodes = want->nodes,
                .gpus_per_node = job->gpus_per_node,
                .cpus_per_node = want->cpus,
                .memory_bytes_per_node = want->memory_bytes,
                .time_limit_ms = submission->row.time_limit_ms,
                .on_site_loss = submission->on_site_loss,
                .resume = job->ran,
                .source = submission->row.source,
            },
    };
    core_emit(self, HELIO_BROKER_FX_ORDER, &fx);
}

void core_stop(helio_broker_core_t *self, job_t *job, helio_stop_mode_t mode, const char *reason)
{
    if (!job->site->peer || !job->site->inventory_closed)
        return; /* the close of the next inventory says it again */
    helio_fx_stop_t fx = {job->site->peer, {job->key, job->epoch, mode, helio_text_of(reason)}};
    core_emit(self, HELIO_BROKER_FX_STOP, &fx);
}

/*  Where whoever looks at waits alone would start the head: what can start now, at home if that can, else by name. Room
 *  only shrinks within a round, so it stands until it is full. */
static const option_t *least_wait(helio_broker_core_t *self, evaluation_t *e)
{
    if (e->least && core_has_room(self, e->class, e->least))
        return e->least;
    e->least = NULL;
    for (uint32_t i = 0; i < e->feasible; i++) {
        const option_t *option = &e->options[i], *best = e->least;
        bool sooner = !best || (option->home && !best->home) ||
                      (option->home == best->home && strcmp(option->site->name, best->site->name) < 0);
        if (sooner && core_has_room(self, e->class, option))
            e->least = option;
    }
    return e->least;
}

/*  The first placement of a job keeps it: at the end its use is held against that. */
static void keep_least(const evaluation_t *e, job_t *job, const option_t *least, int64_t wall_ms,
                       helio_row_placement_t *row)
{
    const job_class_t *class = e->class;
    place_name_t *last = job->last;
    int64_t submitted_ms = job->submission->row.submitted_ms;
    if (class->least_ms) { /* it waited by choice */
        last->least = class->least;
        (void)helio_text_copy(helio_text_of(class->least_pool), last->least_pool, sizeof last->least_pool);
        last->least_ms = class->least_ms > submitted_ms ? class->least_ms : submitted_ms;
    } else {
        last->least = least->site;
        (void)helio_text_copy(least->pool->info.name, last->least_pool, sizeof last->least_pool);
        last->least_ms = wall_ms;
    }
    row->least_site = helio_text_of(last->least->name);
    row->least_pool = helio_text_of(last->least_pool);
    row->least_ms = last->least_ms;
}

/*  From when on a class's head could have started, and waits for a better hour all the same. */
static void note_choice(helio_broker_core_t *self, evaluation_t *e, const choice_t *choice)
{
    job_class_t *class = e->class;
    const option_t *least = e->waits && choice->now && !class->least_ms ? least_wait(self, e) : NULL;
    if (!e->waits)
        class->least_ms = 0;
    if (!least)
        return;
    class->least = least->site;
    (void)helio_text_copy(least->pool->info.name, class->least_pool, sizeof class->least_pool);
    class->least_ms = self->wall_ms;
}

void core_place(helio_broker_core_t *self, evaluation_t *e, job_t *job, const option_t *option)
{
    if (!e->decision_id) {
        e->chosen = option;
        core_decision_write(self, e, HELIO_REASON_NONE, "");
    }
    const option_t *least = job->attempts ? NULL : least_wait(self, e);
    job->epoch++;
    job->attempts++;
    uint32_t victims = e->moved_from ? 0 : core_evict_placed(self, e->class, option->pool);
    const char *placed = core_printf(self, "placed at %s", option->site->name);
    if (e->moved_from)
        placed = core_printf(self, "%s, moved from %s", placed, e->moved_from);
    if (victims)
        placed = core_printf(self, "%s, on the room of %u preempted job%s", placed, victims, victims == 1 ? "" : "s");
    core_job_move(self, job, HELIO_JOB_OFFERED, placed, "broker");
    job->site = option->site;
    job->pool = option->pool;
    const helio_requirement_t *want = &e->class->want;
    job->counted =
        core_pool_take(option->pool, want->nodes, option->c.gpus_per_node, want->cpus, want->memory_bytes);
    job->gpus_per_node = option->c.gpus_per_node;
    job->inventory = 0;
    core_job_placed_at(job, helio_text_of(option->site->name), option->pool->info.name);
    const helio_transfer_t *transfer = &option->c.transfer;
    job->last->transfer = *transfer;
    core_quota_take(self, job);
    DL_APPEND(option->site->live, job);
    helio_row_placement_t row = {
        .key = job->key,
        .epoch = job->epoch,
        .site = helio_text_of(option->site->name),
        .pool = option->pool->info.name,
        .decision_id = e->decision_id,
        .nodes = want->nodes,
        .gpus = option->c.gpus_per_node * want->nodes,
        .score_micro_usd = option->c.now.score_micro_usd,
        .planned_cost_micro_usd = option->c.now.cost_micro_usd + transfer->egress_micro_usd,
        .planned_energy_j = option->c.now.energy_j + transfer->energy_j,
        .planned_carbon_mg = option->c.now.carbon_mg + transfer->carbon_mg,
        .start_ms = self->wall_ms,
        .at_ms = self->wall_ms,
        .transfer_ms = transfer->ms,
        .transfer_micro_usd = transfer->egress_micro_usd,
        .transfer_j = transfer->energy_j,
        .transfer_carbon_mg = transfer->carbon_mg,
        .gpu_model = option->pool->info.gpu,
        .expected_ms = option->c.run_ms,
        .expected_high_ms = option->c.run_high_ms,
    };
    if (job->attempts == 1)
        keep_least(e, job, least ? least : option, self->wall_ms, &row);
    core_emit(self, HELIO_BROKER_FX_ROW_PLACEMENT, &row);
    core_budget_place(self, job, &row);
    core_reserve_placed(self, job);
    core_kept_placed(self, job);
    core_order(self, job);
    self->figures.placements_total++;
}

static void due(job_class_t *class, int64_t at_ms)
{
    if (at_ms && (!class->look_ms || at_ms < class->look_ms))
        class->look_ms = at_ms;
}

/*  Of the jobs that are left: what they wait for, and when that is looked at again. */
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
    bool evicted = !e->waits && !choice->now && core_evict(self, e);
    if (e->waits)
        core_evict_class_drop(self, class);
    due(class, core_overflow_due_ms(class));
    const char *detail = "";
    int64_t expected_ms;
    helio_reason_t reason = core_decision_reason(self, e, &detail, &expected_ms);
    bool moved = before.pool != class->window.pool || before.start_ms != class->window.start_ms;
    if ((e->waits && moved) || evicted || (!placed && (reason != class->reason || !class->decision_id)))
        core_decision_write(self, e, reason, detail);
    core_class_write(self, class, reason, detail, expected_ms);
}

typedef enum outcome {
    TURN_DONE,
    TURN_YIELDED, /* to the rival; it is asked again */
    TURN_LOWER    /* it is asked again at a lower level of its queue */
} outcome_t;

/*  Its queue has a lower level elsewhere, where it may find room or goes next. Room that it waits for where it has this
 * one is its own before anybody of a lower level is asked. */
static bool wants_lower_turn(helio_broker_core_t *self, evaluation_t *e, const choice_t *choice)
{
    uint32_t below;
    job_class_t *class = e->class;
    bool later_suffices = choice->later && class->waiting_count <= choice->room;
    if (!class->waiting || later_suffices || (choice->now && core_is_of_turn(class, choice->now)) ||
        !core_queue_below(class->queue, class->level, &below))
        return false;
    class->yielded = self->rounds;
    if (choice->now)
        return true;
    core_reserve_drop(class);
    core_decide(self, e, choice);
    if (e->reserved)
        core_reserve(class, e->reserved->pool, &e->reservation);
    return true;
}

/*  Returns how many were placed. Equal jobs: the first in line go now, and as many of the last as find room
 * there wait. Once its tenant has more than that of the rival (NULL = there is none), the class yields. */
static uint32_t place_class(helio_broker_core_t *self, job_class_t *class, const job_class_t *rival, uint32_t most,
                            outcome_t *ret_outcome)
{
    evaluation_t e = core_evaluate(self, class);
    choice_t choice = {0};
    uint32_t placed = 0;
    class->look_ms = 0;
    *ret_outcome = TURN_DONE;
    while (class->waiting && placed < most) {
        choice = core_choose(self, &e);
        if (!choice.now || (choice.later && class->waiting_count <= choice.room) ||
            !core_is_of_turn(class, choice.now))
            break;
        core_place(self, &e, class->waiting, choice.now);
        placed++;
        if (rival && class->waiting && core_share_turn(class, rival) > 0) {
            class->yielded = self->rounds;
            *ret_outcome = TURN_YIELDED;
            return placed;
        }
    }
    if (placed == most && class->waiting)
        return placed;
    if (wants_lower_turn(self, &e, &choice)) {
        *ret_outcome = TURN_LOWER;
        return placed;
    }
    class->blocked_at = self->capacity_version;
    if (class->waiting) {
        settle(self, &e, &choice, placed > 0);
    } else {
        class->least_ms = 0;
        core_window_clear(class);
        core_reserve_drop(class);
        core_class_write(self, class, HELIO_REASON_NONE, "", 0);
    }
    return placed;
}

/*  Whatever is free has changed: every class is looked at again, in turn, and the first gang reserves anew.
 */
static void drop_reservations(helio_broker_core_t *self)
{
    if (self->reserved_version == self->capacity_version)
        return;
    self->reserved_version = self->capacity_version;
    for (job_class_t *class = self->classes; class; class = class->hh.next)
        core_reserve_drop(class);
}

void core_round(helio_broker_core_t *self)
{
    self->round_wanted = false;
    self->rounds++;
    if (core_sites_awaited(self))
        return; /* it is asked for again when they have spoken */
    drop_reservations(self);
    core_evict_review(self);
    core_moves_review(self);
    core_kept_review(self);
    uint32_t placed = core_moves_place(self);
    turns_t turns = core_turns(self);
    job_class_t *class, *rival;
    while (placed < ROUND_PLACEMENTS_MAX && (class = core_turns_next(&turns, &rival))) {
        outcome_t outcome;
        placed += place_class(self, class, rival, ROUND_PLACEMENTS_MAX - placed, &outcome);
        if (outcome != TURN_YIELDED)
            core_turns_done(&turns, outcome == TURN_LOWER);
    }
    if (placed >= ROUND_PLACEMENTS_MAX)
        self->round_wanted = true;
    else
        core_moves_judge(self);
    self->look_ms = self->kept_ms < self->moves.look_ms ? self->kept_ms : self->moves.look_ms;
    for (class = self->classes; class; class = class->hh.next)
        if (class->waiting && class->look_ms && class->look_ms < self->look_ms)
            self->look_ms = class->look_ms;
}

void core_look(helio_broker_core_t *self)
{
    if (self->wall_ms < self->look_ms)
        return;
    for (job_class_t *class = self->classes; class; class = class->hh.next)
        if (class->look_ms && class->look_ms <= self->wall_ms)
            class->blocked_at = 0;
    self->look_ms = INT64_MAX;
    self->round_wanted = true;
}

int64_t core_look_wake_ms(const helio_broker_core_t *self, int64_t at_most)
{
    if (self->look_ms == INT64_MAX)
        return at_most;
    int64_t left = self->look_ms > self->wall_ms ? self->look_ms - self->wall_ms : 0;
    return left < at_most - self->now_ms ? self->now_ms + left : at_most;
}
