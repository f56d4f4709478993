/*  overflow.c -- overflow groups: which steps of its list of places are open to a class
 * (federation/policy/overflow.h).
 *
 *  The wait is that of the job at the head of the class since it came in line: a fact, where an expected wait
 * rests on time limits, which most jobs stay far below. A job that comes back from a site where it ran is in
 * line anew.
 */
#include <stdlib.h>
#include <string.h>

#include "broker/core/evaluation.h"
#include "broker/core/slips.h"

struct overflow {
    char name[33];
    char queue[33];  /* "" = of every queue */
    char tenant[33]; /* "" = of every tenant */
    char text[HELIO_OVERFLOW_TEXT_MAX + 1];
    helio_overflow_t steps; /* views into text */
    UT_hash_handle hh;
};

static bool is_bound(const overflow_t *group, const job_class_t *class)
{
    return (!group->queue[0] || strcmp(group->queue, class->queue->name) == 0) &&
           (!group->tenant[0] || helio_text_is(class->want.tenant, group->tenant));
}

/*  The narrowest that is bound to it: of its tenant and queue, of its tenant, of its queue. */
static const overflow_t *find_group(const helio_broker_core_t *self, const job_class_t *class)
{
    const overflow_t *best = NULL;
    int best_rank = 0;
    for (const overflow_t *group = self->overflows; group; group = group->hh.next) {
        int rank = (group->tenant[0] ? 2 : 0) + (group->queue[0] ? 1 : 0);
        if (rank > best_rank && is_bound(group, class)) {
            best = group;
            best_rank = rank;
        }
    }
    return best;
}

static const overflow_t *group_of(const helio_broker_core_t *self, job_class_t *class)
{
    if (class->overflow_version != self->overflow_version) {
        class->overflow_version = self->overflow_version;
        class->overflow = find_group(self, class);
    }
    return class->overflow;
}

/* ---- judging ------------------------------------------------------------------------------------------- */

void core_overflow_judge(helio_broker_core_t *self, job_class_t *class, option_t *option)
{
    const overflow_t *group = group_of(self, class);
    if (!group)
        return;
    helio_candidate_t *c = &option->c;
    option->step = helio_overflow_step_of(&group->steps, helio_text_of(option->site->name));
    int64_t most =
        option->step < group->steps.count ? group->steps.steps[option->step].max_price_micro_usd : -1;
    uint64_t gpus = core_option_gpus(class, option), run_ms = class->want.time_limit_ms;
    if (!most)
        return;
    if (c->later.start_ms && (most < 0 || helio_overflow_price(&c->later, gpus, run_ms) > most))
        c->later = (helio_plan_t){0};
    if (c->rejection == HELIO_REJECTION_NONE &&
        (most < 0 || helio_overflow_price(&c->now, gpus, run_ms) > most))
        c->rejection = HELIO_REJECTION_OVERFLOW;
}

static int64_t waited_ms(const helio_broker_core_t *self, const job_class_t *class)
{
    const job_t *head = class->waiting;
    return head && self->wall_ms > head->ready_ms ? self->wall_ms - head->ready_ms : 0;
}

void core_overflow_open(helio_broker_core_t *self, const evaluation_t *e)
{
    job_class_t *class = e->class;
    const overflow_t *group = group_of(self, class);
    class->open_steps = group ? helio_overflow_open(&group->steps, e->alive, waited_ms(self, class)) : 1;
}

bool core_overflow_is_closed(const job_class_t *class, const option_t *option)
{
    return class->overflow && option->step >= class->open_steps;
}

const char *core_overflow_name(const job_class_t *class)
{
    return class->overflow->name;
}

int64_t core_overflow_due_ms(const job_class_t *class)
{
    const overflow_t *group = class->overflow;
    if (!group || !class->waiting || class->open_steps >= group->steps.count)
        return 0;
    return class->waiting->ready_ms + (int64_t)group->steps.steps[class->open_steps].after_ms;
}

/* ---- words --------------------------------------------------------------------------------------------- */

/*  "45s", "12m", "26h"; of what goes on, in steps that do not make a row a second. */
static const char *time_text(helio_broker_core_t *self, uint64_t ms, bool seconds)
{
    unsigned long long s = ms / 1000;
    if (seconds)
        return core_printf(self, "%llus", s);
    return s && s % 3600 == 0 ? core_printf(self, "%lluh", s / 3600) : core_printf(self, "%llum", s / 60);
}

static const char *opens_text(helio_broker_core_t *self, const job_class_t *class, uint32_t index)
{
    char name[128];
    const helio_overflow_step_t *step = &class->overflow->steps.steps[index];
    bool seconds = step->after_ms < 120000 && step->after_ms % 60000;
    uint64_t waited = (uint64_t)waited_ms(self, class), step_ms = seconds ? 10000 : 60000;
    helio_overflow_name(step, name, sizeof name);
    return core_printf(self, "%s opens when the wait here is over %s: now %s", name,
                       time_text(self, step->after_ms, seconds),
                       time_text(self, waited - waited % step_ms, seconds));
}

const char *core_overflow_next_text(helio_broker_core_t *self, const job_class_t *class)
{
    return core_overflow_due_ms(class) ? opens_text(self, class, class->open_steps) : "";
}

const char *core_overflow_text(helio_broker_core_t *self, const job_class_t *class, const option_t *option)
{
    const overflow_t *group = class->overflow;
    if (option->step >= group->steps.count)
        return core_printf(self, "no step of overflow group %s names it", group->name);
    if (option->c.rejection != HELIO_REJECTION_OVERFLOW)
        return opens_text(self, class, option->step);
    const helio_overflow_step_t *step = &group->steps.steps[option->step];
    int64_t price =
        helio_overflow_price(&option->c.now, core_option_gpus(class, option), class->want.time_limit_ms);
    return core_printf(self, "$%.2f per GPU-hour > $%.2f, the most of overflow group %s here",
                       (double)price / 1e6, (double)step->max_price_micro_usd / 1e6, group->name);
}

/* ---- setting them -------------------------------------------------------------------------------------- */

static void groups_changed(helio_broker_core_t *self)
{
    self->overflow_version++;
    self->pools_version++; /* every verdict is made anew */
    self->capacity_version++;
    self->round_wanted = true;
}

static overflow_t *find_by_name(helio_broker_core_t *self, helio_text_t name)
{
    overflow_t *group;
    HASH_FIND(hh, self->overflows, name.data, name.size, group);
    return group;
}

static void drop(helio_broker_core_t *self, overflow_t *group)
{
    HASH_DEL(self->overflows, group);
    free(group);
}

static helio_rc put(helio_broker_core_t *self, const helio_row_overflow_t *row, helio_error_t *err)
{
    overflow_t *group = helio_new(1, sizeof *group), *before = find_by_name(self, row->name);
    (void)helio_text_copy(row->name, group->name, sizeof group->name);
    (void)helio_text_copy(row->queue, group->queue, sizeof group->queue);
    (void)helio_text_copy(row->tenant, group->tenant, sizeof group->tenant);
    (void)helio_text_copy(row->steps, group->text, sizeof group->text);
    helio_rc rc = helio_overflow_parse(helio_text_of(group->text), &group->steps, err);
    if (rc != HELIO_OK) {
        free(group);
        return rc;
    }
    if (before)
        drop(self, before);
    HASH_ADD_KEYPTR(hh, self->overflows, group->name, strlen(group->name), group);
    return HELIO_OK;
}

/*  Which other one is bound alike, and would fight for the same jobs. */
static const overflow_t *rival_of(const helio_broker_core_t *self, const helio_ev_overflow_t *event)
{
    for (const overflow_t *group = self->overflows; group; group = group->hh.next)
        if (!helio_text_is(event->name, group->name) && helio_text_is(event->queue, group->queue) &&
            helio_text_is(event->tenant, group->tenant))
            return group;
    return NULL;
}

/*  True: it can be set as far as its binding goes. Else answered. */
static bool check_binding(helio_broker_core_t *self, const helio_ev_overflow_t *event)
{
    tenant_t *tenant;
    const overflow_t *rival = rival_of(self, event);
    HASH_FIND(hh, self->tenants, event->tenant.data, event->tenant.size, tenant);
    if (!event->queue.size && !event->tenant.size)
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                    "whose jobs? bind it to a queue, to a tenant, or to a tenant's jobs in a queue");
    else if (event->queue.size && !core_queue_find(self, event->queue))
        core_answer(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                    "there is no queue '%.*s'; `helio queues` lists them", HELIO_TEXT_ARGS(event->queue));
    else if (event->tenant.size && !tenant)
        core_answer(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                    "there is no tenant '%.*s'; `helio tenants set` makes it",
                    HELIO_TEXT_ARGS(event->tenant));
    else if (rival)
        core_answer(self, event->call, HELIO_CONFLICT, HELIO_REASON_NONE,
                    "overflow group %s is bound to the same jobs: change that one, or remove it (`helio "
                    "overflow rm %s`)",
                    rival->name, rival->name);
    else if (!find_by_name(self, event->name) && HASH_COUNT(self->overflows) >= HELIO_OVERFLOWS_MAX)
        core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID,
                    "there are %d overflow groups, and no more can be made", HELIO_OVERFLOWS_MAX);
    else
        return true;
    return false;
}

static void write_and_answer(helio_broker_core_t *self, const helio_ev_overflow_t *event,
                             const helio_row_overflow_t *row)
{
    groups_changed(self);
    core_emit(self, HELIO_BROKER_FX_ROW_OVERFLOW, row);
    core_audit(
        self, event->user, row->removed ? "overflow-rm" : "overflow-set", row->name,
        helio_text_of(core_printf(self, "%.400s", helio_arena_string(self->effects->arena, row->steps))));
    const overflow_t *group = find_by_name(self, row->name);
    core_answer(self, event->call, HELIO_OK, HELIO_REASON_NONE, "%s%s", row->removed ? "removed" : "set",
                group ? core_slip_steps(self, &group->steps) : "");
}

void core_on_overflow(helio_broker_core_t *self, const helio_ev_overflow_t *event)
{
    helio_error_t err = {0};
    overflow_t *group = find_by_name(self, event->name);
    helio_row_overflow_t row = {event->name,  event->queue,  event->tenant,
                                event->steps, self->wall_ms, event->remove};
    if (event->role < HELIO_ROLE_OPERATOR) {
        core_answer(self, event->call, HELIO_FORBIDDEN, HELIO_REASON_FORBIDDEN,
                    "setting overflow groups needs the role operator or admin");
    } else if (event->remove && !group) {
        core_answer(self, event->call, HELIO_NOT_FOUND, HELIO_REASON_NONE,
                    "there is no overflow group '%.*s'; `helio overflow list` lists them",
                    HELIO_TEXT_ARGS(event->name));
    } else if (event->remove) {
        drop(self, group);
        write_and_answer(self, event, &row);
    } else if (check_binding(self, event)) {
        if (put(self, &row, &err) == HELIO_OK)
            write_and_answer(self, event, &row);
        else
            core_answer(self, event->call, HELIO_INVALID, HELIO_REASON_INVALID, "%s", err.text);
    }
}

/* ---- a new leader, and the end ------------------------------------------------------------------------- */

/*  It was checked when it was set. */
void core_overflow_load(helio_broker_core_t *self, const helio_row_overflow_t *row)
{
    (void)!put(self, row, NULL);
}

void core_overflows_free(helio_broker_core_t *self)
{
    overflow_t *group, *next;
    HASH_ITER(hh, self->overflows, group, next)
    drop(self, group);
}
