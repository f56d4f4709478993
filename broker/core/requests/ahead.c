/*  ahead.c -- the jobs that are ahead of a job in the scheduling order. */
#include "broker/core/requests/ahead.h"

#include "broker/core/state/core.h"
#include "broker/core/state/order.h"

enum { AHEAD_SHOWN = 3 };

/*  Whether a pool exists that both could use, and where `a` is asked first. */
static bool goes_first(helio_broker_core_t *self, const job_class_t *a, const job_class_t *b)
{
    for (const site_t *site = self->sites; site; site = site->hh.next)
        for (uint32_t i = 0; i < site->pool_count; i++) {
            const helio_pool_t *pool = &site->pools[i].info;
            if (helio_choice_filter(&a->want, &site->profile, pool).rejection == HELIO_REJECTION_NONE &&
                helio_choice_filter(&b->want, &site->profile, pool).rejection == HELIO_REJECTION_NONE &&
                core_class_compare_at(a, b, site) < 0)
                return true;
        }
    return false;
}

static uint64_t gpus_of(const job_class_t *class)
{
    const helio_requirement_t *want = &class->want;
    return want->gpus.count ? (uint64_t)want->gpus.items[0].count * want->nodes : 0;
}

static void count_ahead(helio_start_estimate_t *p, const job_class_t *class, uint64_t jobs)
{
    p->ahead_jobs += jobs;
    p->ahead_gpus += jobs * gpus_of(class);
}

/*  Neighbours of one tenant and queue are one entry for the reader. */
static void show_ahead(helio_broker_core_t *self, helio_start_estimate_t *p, const job_class_t *class, uint64_t jobs,
                       helio_text_t reader)
{
    bool known = !reader.size || helio_text_equal(reader, class->want.tenant);
    helio_text_t tenant = known ? class->want.tenant : (helio_text_t){0};
    helio_ahead_t *last = p->ahead.count ? &p->ahead.items[p->ahead.count - 1] : NULL;
    if (!last || !helio_text_equal(last->tenant, tenant) || !helio_text_equal(last->queue, class->want.queue)) {
        if (p->ahead.count == AHEAD_SHOWN)
            return;
        if (!p->ahead.items)
            p->ahead.items = helio_arena_alloc(self->effects->arena, AHEAD_SHOWN, sizeof *p->ahead.items);
        last = &p->ahead.items[p->ahead.count++];
        *last = (helio_ahead_t){.tenant = tenant, .queue = class->want.queue};
    }
    last->jobs += jobs;
    last->gpus += jobs * gpus_of(class);
}

/*  Jobs of its own class that are ahead of it. */
static uint64_t position_in_queue(const job_class_t *class, const job_t *job)
{
    uint64_t before = 0;
    for (const job_t *j = class->waiting; j && j != job; j = j->next)
        before++;
    return before;
}

void core_start_estimate_ahead(helio_broker_core_t *self, const job_class_t *class, const job_t *job,
                               helio_text_t reader, helio_start_estimate_t *ret_estimate)
{
    uint32_t count = 0;
    const job_class_t **ahead =
        helio_arena_alloc(self->effects->arena, HASH_COUNT(self->classes) + 1, sizeof(job_class_t *));
    for (const job_class_t *other = self->classes; other; other = other->hh.next)
        if (other->id != class->id && core_class_wants_room(other) && goes_first(self, other, class))
            ahead[count++] = other;
    core_scheduling_sort(ahead, count);
    for (uint32_t i = 0; i < count; i++) {
        count_ahead(ret_estimate, ahead[i], ahead[i]->waiting_count);
        show_ahead(self, ret_estimate, ahead[i], ahead[i]->waiting_count, reader);
    }
    uint64_t before = position_in_queue(class, job);
    if (before) {
        count_ahead(ret_estimate, class, before);
        show_ahead(self, ret_estimate, class, before, reader);
    }
}
