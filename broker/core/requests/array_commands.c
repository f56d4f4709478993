/*  array_commands.c -- a command on one job, or on the open tasks of an array. */
#include "broker/core/requests/array_commands.h"

#include <utlist.h>

#include "broker/core/requests/tenant_rate.h"
#include "broker/core/state/checks.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/jobs.h"
#include "broker/core/state/submissions.h"
#include "broker/core/state/why.h"

/*  A command on a large array that has not been answered. */
struct array_command {
    const helio_ev_command_t *event; /* in the arena */
    helio_arena_t *arena;
    const command_t *how;
    uint32_t seen;   /* of its tasks */
    uint32_t looked; /* of those, not changed */
    affected_t sum;
    array_command_t *prev, *next;
};

static bool may_touch(const helio_ev_command_t *event, const submission_t *submission)
{
    return event->role >= HELIO_ROLE_OPERATOR || helio_text_equal(event->tenant, submission->row.tenant);
}

/*  True: it changed the job. */
static bool act_on(helio_broker_core_t *self, const helio_ev_command_t *event, act_fn *act, job_t *job, affected_t *sum)
{
    effect_t effect = job && may_touch(event, job->submission) ? act(self, event, job) : REFUSED;
    sum->jobs += effect >= AS_IT_WAS;
    sum->changed += effect == CHANGED;
    if (effect == HINDERED && !sum->hindered++)
        sum->first_hindered = job->key;
    return effect == CHANGED;
}

static const submission_t *array_of(helio_broker_core_t *self, const helio_ev_command_t *event)
{
    bool whole = event->key.task == HELIO_NO_TASK && !core_job_find(self, event->key);
    return whole ? core_array_find(self, event->key.job) : NULL;
}

static affected_t act_on_each(helio_broker_core_t *self, const helio_ev_command_t *event, act_fn *act,
                              const submission_t *array)
{
    affected_t sum = {0};
    if (!array)
        (void)act_on(self, event, act, core_job_find(self, event->key), &sum);
    for (uint32_t i = 0; array && i < array->row.tasks.count; i++)
        (void)act_on(self, event, act,
                     core_job_find(self, (helio_job_key_t){event->key.job, (int32_t)array->row.tasks.items[i]}), &sum);
    return sum;
}

/*  A command that changed nothing leaves no trace: users could fill the database with such rows. */
static void note(helio_broker_core_t *self, const helio_ev_command_t *event, const command_t *how)
{
    char text[HELIO_KEY_SIZE];
    helio_job_key_text(event->key, text);
    core_audit(self, helio_arena_text(self->effects->arena, event->actor), how->action,
               helio_arena_text(self->effects->arena, helio_text_of(text)),
               how->described ? how->described(self, event) : (helio_text_t){0});
}

static void count(helio_broker_core_t *self, const helio_ev_command_t *event, const command_t *how, uint32_t changed)
{
    if (!how->free)
        core_commands_count(self, event->tenant, event->role, changed);
}

static void run_at_once(helio_broker_core_t *self, const helio_ev_command_t *event, const command_t *how,
                        const submission_t *array)
{
    affected_t affected = act_on_each(self, event, how->act, array);
    count(self, event, how, affected.changed);
    if (affected.changed)
        note(self, event, how);
    how->answer(self, event, &affected);
}

/*  One that is under way, and that this one has to wait for. Of an array there is one at a time, beside which it can be
 *  cancelled; and of a tenant one of those that count, since they count with what they change: later. */
static const array_command_t *obstacle(const helio_broker_core_t *self, const helio_ev_command_t *event,
                                       const command_t *how)
{
    bool counts = !how->free && event->role < HELIO_ROLE_OPERATOR;
    const array_command_t *before;
    DL_FOREACH(self->array_commands, before)
    {
        bool same = helio_uuid_compare(before->event->key.job, event->key.job) == 0;
        if (same && (!how->free || before->how->free))
            return before;
        if (counts && !before->how->free && helio_text_equal(before->event->tenant, event->tenant))
            return before;
    }
    return NULL;
}

/*  Tasks that commands of this tenant have yet to look at. */
static uint32_t tasks_to_go(helio_broker_core_t *self, helio_text_t tenant)
{
    uint32_t tasks = 0;
    const array_command_t *each;
    DL_FOREACH(self->array_commands, each)
    {
        const submission_t *array =
            helio_text_equal(each->event->tenant, tenant) ? core_array_find(self, each->event->key.job) : NULL;
        tasks += array ? array->row.tasks.count - each->seen : 0;
    }
    return tasks;
}

/*  A caller is answered when all is done, and does not wait for ever: more would be carried out unheard. */
static bool is_too_many(helio_broker_core_t *self, const helio_ev_command_t *event, const submission_t *array)
{
    uint32_t tasks = tasks_to_go(self, event->tenant);
#ifdef HELIO_MUTANT_cancels_pile_up
    return false;
#endif
    if (!tasks || tasks + array->row.tasks.count <= CORE_ARRAYS_TASKS_MAX)
        return false;
    core_reply(self, event->call, HELIO_BUSY, HELIO_REASON_NONE,
               CORE_DETAIL(self, HELIO_DETAIL_ARRAY_COMMANDS_MANY, helio_value_number(tasks),
                           helio_value_number(CORE_ARRAYS_TASKS_MAX)));
    return true;
}

static void refuse(helio_broker_core_t *self, const helio_ev_command_t *event, const array_command_t *before)
{
    char text[HELIO_KEY_SIZE];
    helio_job_key_text(before->event->key, text);
    core_reply(self, event->call, HELIO_BUSY, HELIO_REASON_NONE,
               CORE_DETAIL(self, HELIO_DETAIL_ARRAY_COMMAND_UNDER_WAY, helio_value_string(text)));
}

void core_command_run(helio_broker_core_t *self, const helio_ev_command_t *event, const command_t *how)
{
    if (!how->free && !core_commands_allow(self, event->call, event->tenant, event->role))
        return;
    const submission_t *array = array_of(self, event);
    if (array && !may_touch(event, array)) {
        how->answer(self, event, &(affected_t){0});
        return;
    }
    if (!array || array->row.tasks.count <= CORE_ARRAY_SMALL) {
        run_at_once(self, event, how, array);
        return;
    }
#ifndef HELIO_MUTANT_commands_pile_up
    const array_command_t *before = obstacle(self, event, how);
    if (before) {
        refuse(self, event, before);
        return;
    }
#endif
    if (is_too_many(self, event, array))
        return;
    array_command_t *item = helio_new(1, sizeof *item);
    item->arena = helio_arena_new();
    item->how = how;
    const helio_record_type_t *type = how->type ? how->type : &helio_ev_command_type;
    void *copy = helio_arena_alloc(item->arena, 1, type->size);
    helio_record_copy(type, item->arena, event, copy);
    item->event = copy;
    DL_APPEND(self->array_commands, item);
}

static void drop(helio_broker_core_t *self, array_command_t *item)
{
    DL_DELETE(self->array_commands, item);
    helio_arena_destroy(&item->arena);
    free(item);
}

/*  False: the batch takes no more. */
static bool go_on(helio_broker_core_t *self, array_command_t *item)
{
    const helio_ev_command_t *event = item->event;
    const submission_t *array = core_array_find(self, event->key.job);
    for (; array && item->seen < array->row.tasks.count; item->seen++) {
        if (!core_portion_has_room(self))
            return false;
        uint32_t at = item->how->last_first ? array->row.tasks.count - 1 - item->seen : item->seen;
        job_t *job = core_job_find(self, (helio_job_key_t){event->key.job, (int32_t)array->row.tasks.items[at]});
        if (!act_on(self, event, item->how->act, job, &item->sum)) {
#ifndef HELIO_MUTANT_looks_for_nothing
            if (++item->looked % CORE_ARRAY_LOOKS == 0)
                core_portion_take(self);
#endif
            continue;
        }
        core_portion_take(self);
        count(self, event, item->how, 1);
        if (item->sum.changed == 1)
            note(self, event, item->how);
    }
    item->how->answer(self, event, &item->sum);
    return true;
}

/*  Tenants take turns, and within a tenant its commands. */
static array_command_t *next_of(const helio_broker_core_t *self)
{
    array_command_t *each;
    DL_FOREACH(self->array_commands, each)
    {
        if (!helio_text_is(each->event->tenant, self->array_tenant))
            return each;
    }
    return self->array_commands;
}

void core_array_commands_resolve(helio_broker_core_t *self)
{
    while (self->array_commands && core_portion_has_room(self)) {
        array_command_t *item = next_of(self);
        (void)helio_text_copy(item->event->tenant, self->array_tenant, sizeof self->array_tenant);
        if (go_on(self, item)) {
            drop(self, item);
        } else {
            DL_DELETE(self->array_commands, item);
            DL_APPEND(self->array_commands, item);
        }
    }
    if (self->array_commands)
        core_check_by(self, CORE_CHECK_COMMANDS, self->wall_ms + CORE_PORTION_PAUSE_MS);
}

void core_array_commands_recheck(helio_broker_core_t *self)
{
    core_check_at(self, CORE_CHECK_COMMANDS, INT64_MAX);
}

void core_array_commands_free(helio_broker_core_t *self)
{
    while (self->array_commands)
        drop(self, self->array_commands);
}
