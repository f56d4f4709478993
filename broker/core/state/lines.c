/*  lines.c -- where waiting classes stand. */
#include "broker/core/state/lines.h"

#include <assert.h>
#include <stdlib.h>
#include <utlist.h>

#include "broker/core/state/core.h"

static job_class_t *class_of(helio_heap_item_t *item)
{
    return HELIO_HEAP_OWNER(item, job_class_t, in_line);
}

static bool is_before(helio_heap_item_t *a, helio_heap_item_t *b)
{
    return core_class_by_place(class_of(a), class_of(b)) < 0;
}

job_class_t *core_line_first(const line_t *line)
{
    return line->classes.count ? class_of(helio_heap_first(&line->classes)) : NULL;
}

static bool is_judged(const job_class_t *class)
{
    return class->prev != NULL;
}

static void set_judged(helio_broker_core_t *self, job_class_t *class, bool judged)
{
    if (judged == is_judged(class))
        return;
    if (judged) {
        DL_APPEND(self->judged, class);
    } else {
        DL_DELETE(self->judged, class);
        class->prev = NULL;
    }
}

static line_t *line_of(helio_broker_core_t *self, need_t *need, account_t *account)
{
    line_t *line;
    HASH_FIND_PTR(need->lines, &account, line);
    if (line)
        return line;
    line = helio_new(1, sizeof *line);
    line->need = need;
    line->account = account;
    line->classes.before = is_before;
    HASH_ADD_PTR(need->lines, account, line);
    if (!account->lines)
        DL_APPEND2(self->lined, account, lined_prev, lined_next);
    DL_APPEND(account->lines, line);
    account->most_gpus = need->least_gpus > account->most_gpus ? need->least_gpus : account->most_gpus;
    return line;
}

void core_line_enter(helio_broker_core_t *self, job_class_t *class, need_t *need)
{
    set_judged(self, class, false);
    class->line = line_of(self, need, class->account);
    helio_heap_put(&class->line->classes, &class->in_line);
}

void core_line_leave(helio_broker_core_t *self, job_class_t *class)
{
    helio_heap_remove(&class->line->classes, &class->in_line);
    class->line = NULL;
    set_judged(self, class, class->waiting != NULL);
}

void core_line_dissolve(helio_broker_core_t *self, line_t *line)
{
    need_t *need = line->need;
    while (line->classes.count)
        core_line_leave(self, class_of(line->classes.items[line->classes.count - 1]));
    HASH_DEL(need->lines, line);
    account_t *account = line->account;
    DL_DELETE(account->lines, line);
    if (!account->lines) {
        DL_DELETE2(self->lined, account, lined_prev, lined_next);
        account->most_gpus = 0;
    }
    helio_heap_clear(&line->classes);
    free(line);
    core_need_free(self, need);
}

void core_lines_dissolve(helio_broker_core_t *self)
{
    while (self->needs)
        core_line_dissolve(self, self->needs->lines);
}

void core_class_queue_changed(helio_broker_core_t *self, job_class_t *class)
{
    if (!class->line)
        set_judged(self, class, class->waiting != NULL);
    else if (class->waiting && class->blocked_at)
        helio_heap_reorder(&class->line->classes, &class->in_line);
    else
        core_line_leave(self, class);
}

static bool any_in_line(const line_t *line, core_class_test_fn *holds, void *arg)
{
    for (size_t i = 0; i < line->classes.count; i++)
        if (holds(class_of(line->classes.items[i]), arg))
            return true;
    return false;
}

bool core_any_waiting_class(const helio_broker_core_t *self, core_class_test_fn *holds, void *arg)
{
    for (const job_class_t *class = self->judged; class; class = class->next)
        if (holds(class, arg))
            return true;
    for (const need_t *need = self->needs; need; need = need->hh.next)
        for (const line_t *line = need->lines; line; line = line->hh.next)
            if (any_in_line(line, holds, arg))
                return true;
    return false;
}

/*  Whether room was passed over: a round looks at every line that has room, and what makes room makes a round due. */
static bool is_passed_over(const helio_broker_core_t *self, const need_t *need)
{
    bool stand = self->lines_facts == self->facts_version && self->lines_pools == self->pools_version;
    bool any = false;
    for (const line_t *line = need->lines; line; line = line->hh.next)
        any = any || line->classes.count;
    for (uint32_t i = 0; i < need->count && any && stand && !self->round_wanted; i++) {
        const need_place_t *place = &need->places[i];
        if (core_room_fits(place->pool, &place->pool->free, need->nodes, place->gpus_per_node, need->cpus,
                           need->memory_bytes))
            return true;
    }
    return false;
}

static bool count(const job_class_t *class, void *arg)
{
    uint64_t *waiting = arg;
    assert(class->waiting);
    ++*waiting;
    return false;
}

void core_lines_check(const helio_broker_core_t *self)
{
    uint64_t lined = 0, waiting = 0;
    (void)core_any_waiting_class(self, count, &waiting);
    for (const job_class_t *class = self->classes; class; class = class->hh.next) {
        assert(is_judged(class) == (class->waiting && !class->line));
        assert(!class->line ||
               (class->waiting && class->blocked_at && class->in_line.slot && class->line->account == class->account));
        lined += class->line != NULL;
        waiting -= class->waiting != NULL;
    }
    for (const need_t *need = self->needs; need; need = need->hh.next) {
        assert(need->lines && !is_passed_over(self, need));
        for (const line_t *line = need->lines; line; line = line->hh.next) {
            assert(line->need == need);
            lined -= line->classes.count;
        }
    }
    assert(!lined && !waiting);
}
