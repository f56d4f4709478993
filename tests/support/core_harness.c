/*  core_harness.c -- steps a broker core, checks it after each step, and keeps its effects. */
#include "tests/support/core_harness.h"

#include <stdlib.h>

#include "federation/base/clock.h"
#include "tests/support/core_harness_rows.h"
#include "federation/reason/sentence.h"

static const char origin[] = "2026-03-01T00:00:00Z";

static void assert_above(void *arg, const helio_broker_job_view_t *job)
{
    assert_true(helio_uuid_compare(*(const helio_uuid_t *)arg, job->key.job) <= 0);
}

/*  A batch may be sealed after any step. */
static void check_mark(const harness_t *self)
{
    helio_uuid_t mark = helio_broker_core_open_from(self->core);
    helio_broker_core_each(self->core, assert_above, &mark);
}

enum { MANY_JOBS = 300, SOME_STEPS = 64 };

/*  After each step; with a large core after some steps, since the checks walk all jobs. */
static bool is_to_be_checked(harness_t *self)
{
    helio_broker_figures_t figures;
    uint64_t jobs = 0;
    helio_broker_core_figures(self->core, &figures);
    for (uint32_t state = 0; state < HELIO_JOB_STATE_COUNT; state++)
        jobs += helio_job_state_is_terminal(state) ? 0 : figures.jobs[state];
    return jobs <= MANY_JOBS || ++self->unchecked % SOME_STEPS == 0;
}

void harness_step(harness_t *self, uint32_t kind, const void *payload)
{
    static const helio_ev_nothing_t nothing = {0};
    helio_event_t event = {kind, self->now_ms, self->wall_ms, payload ? payload : &nothing};
    helio_broker_core_step(self->core, &event, self->effects);
    bool checked = is_to_be_checked(self);
    if (checked)
        helio_broker_core_check(self->core);
    for (uint32_t i = 0; i < self->effects->count; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        assert_true(effect->kind < HELIO_BROKER_EFFECT_COUNT);
        assert_int_equal(effect->release, helio_broker_effects[effect->kind].release);
        const helio_record_type_t *type = helio_broker_effects[effect->kind].type;
        said_t said = {effect->kind, false, helio_arena_alloc(self->arena, 1, type->size)};
        helio_record_copy(type, self->arena, effect->payload, said.record);
        if (self->said_count == self->said_capacity) {
            self->said_capacity = self->said_capacity ? self->said_capacity * 2 : 256;
            self->said = helio_grow(self->said, self->said_capacity, sizeof *self->said);
        }
        self->said[self->said_count++] = said;
        harness_keep(self, said.kind, said.record);
    }
    if (checked && kind >= HELIO_BROKER_EV_LOADED)
        check_mark(self);
}

harness_t *harness_new(const helio_broker_options_t *options)
{
    harness_t *self = helio_new(1, sizeof *self);
    self->options = options ? *options : helio_broker_options_default();
    self->core = helio_broker_core_new(self->options);
    self->effects = helio_effects_new();
    self->arena = helio_arena_new();
    self->texts = helio_new(1, sizeof *self->texts);
    *self->texts = (texts_t){.arena = self->arena, .users = 1};
    self->documents_end = &self->documents;
    self->runs_end = &self->runs;
    self->dependencies_end = &self->dependencies;
    self->now_ms = self->began_ms = 1000000;
    assert_int_equal(helio_rfc3339_parse(helio_text_of(origin), &self->wall_ms), HELIO_OK);
    self->federation = (helio_row_federation_t){.incarnation = 3, .broker_epoch = 7, .seed = 42};
    return self;
}

harness_t *harness_begin(const helio_broker_options_t *options)
{
    harness_t *self = harness_new(options);
    harness_load_static(self, NULL);
    harness_step(self, HELIO_BROKER_EV_LOADED, NULL);
    harness_clear(self);
    return self;
}

static void release(texts_t *texts)
{
    while (texts && --texts->users == 0) {
        texts_t *former = texts->former;
        helio_arena_destroy(&texts->arena);
        free(texts);
        texts = former;
    }
}

void harness_end(harness_t **self_p)
{
    harness_t *self = *self_p;
    task_t *task, *next;
    HASH_ITER(hh, self->tasks, task, next)
    {
        HASH_DEL(self->tasks, task);
        free(task);
    }
    HASH_CLEAR(hh, self->dependency_holds);
    HASH_CLEAR(hh, self->documents_by_job);
    helio_broker_core_destroy(&self->core);
    helio_effects_destroy(&self->effects);
    release(self->texts);
    free(self->said);
    free(self);
    *self_p = NULL;
}

helio_arena_t *harness_arena(harness_t *self)
{
    return self->arena;
}

const helio_detail_t *harness_detail(helio_details_t details, helio_detail_code_t code)
{
    for (uint32_t i = 0; i < details.items.count; i++)
        if (details.items.items[i].code == code)
            return &details.items.items[i];
    fail_msg("no detail %s", helio_detail_entry(code)->word);
    return NULL;
}

void harness_assert_value(const helio_detail_t *detail, const char *param, const char *shown)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    const helio_detail_entry_t *entry = helio_detail_entry(detail->code);
    for (uint32_t i = 0; i < entry->param_count; i++)
        if (strcmp(entry->params[i].name, param) == 0)
            helio_value_show(entry->params[i].kind, &detail->values.items[i], &text);
    helio_buffer_append(&text, "", 1);
    assert_string_equal(text.data, shown);
}

static bool is_absent(helio_value_kind_t kind, const helio_value_t *value)
{
    if (kind == HELIO_VALUE_TEXT || kind == HELIO_VALUE_NAMES)
        return !value->text.size && !value->number;
    return (kind == HELIO_VALUE_MINUTE || kind == HELIO_VALUE_SECOND) && !value->number;
}

const char *harness_facts(harness_t *self, helio_details_t details)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    for (uint32_t i = 0; i < details.items.count; i++) {
        const helio_detail_t *detail = &details.items.items[i];
        const helio_detail_entry_t *entry = helio_detail_entry(detail->code);
        helio_buffer_printf(&text, "%s%s", i ? "; " : "", entry->word);
        for (uint32_t k = 0; k < entry->param_count; k++) {
            helio_value_t value = helio_detail_value(detail, k);
            if (is_absent(entry->params[k].kind, &value))
                continue;
            helio_buffer_printf(&text, " %s=", entry->params[k].name);
            helio_value_show(entry->params[k].kind, &value, &text);
        }
    }
    return helio_arena_string(self->arena, helio_buffer_view(&text));
}

int64_t harness_wall_ms(const harness_t *self)
{
    return self->wall_ms;
}

void harness_advance(harness_t *self, int64_t ms)
{
    self->now_ms += ms;
    self->wall_ms += ms;
}

void harness_set_wall(harness_t *self, int64_t ms)
{
    self->wall_ms += ms;
}

void harness_restore(harness_t *self)
{
    self->federation.restored_ms = self->wall_ms;
    self->federation.restored_job = self->federation.newest_job;
    for (place_t *place = self->places; place; place = place->next)
        place->site.unreconciled_ms = self->wall_ms;
}

void harness_seed(harness_t *self, uint64_t seed)
{
    self->federation.seed = seed;
}

void harness_newest(harness_t *self, helio_uuid_t id)
{
    self->federation.newest_job = id;
}

helio_uuid_t harness_mark(const harness_t *self)
{
    return helio_broker_core_open_from(self->core);
}

void harness_tick(harness_t *self)
{
    harness_step(self, HELIO_BROKER_EV_TICK, NULL);
}

enum { AT_ONCE_MAX = 1000 };

void harness_wait(harness_t *self, int64_t ms)
{
    int64_t until = self->now_ms + ms;
    uint32_t at_once = 0;
    harness_tick(self);
    while (self->effects->wake_ms < until) {
        at_once = self->effects->wake_ms > self->now_ms ? 0 : at_once + 1;
        assert_true(at_once < AT_ONCE_MAX); /* else it would be busy for ever */
        harness_advance(self, self->effects->wake_ms - self->now_ms);
        harness_tick(self);
    }
    harness_advance(self, until - self->now_ms);
    harness_tick(self);
}

const void *harness_take(harness_t *self, uint32_t effect)
{
    for (uint32_t i = 0; i < self->said_count; i++)
        if (self->said[i].kind == effect && !self->said[i].taken) {
            self->said[i].taken = true;
            return self->said[i].record;
        }
    return NULL;
}

uint32_t harness_count(const harness_t *self, uint32_t effect)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->said_count; i++)
        count += self->said[i].kind == effect && !self->said[i].taken;
    return count;
}

void harness_clear(harness_t *self)
{
    self->said_count = 0;
}

helio_broker_figures_t harness_figures(const harness_t *self)
{
    helio_broker_figures_t figures;
    helio_broker_core_figures(self->core, &figures);
    return figures;
}

uint32_t harness_state(const harness_t *self, helio_job_key_t key)
{
    const task_t *task = harness_task_find(self, key);
    return task ? task->state : HELIO_JOB_QUEUED;
}

const helio_row_state_t *harness_row(const harness_t *self, helio_job_key_t key)
{
    const task_t *task = harness_task_find(self, key);
    return task && task->written ? &task->row : NULL;
}

typedef struct search {
    helio_job_key_t key;
    bool found;
} search_t;

static void look(void *arg, const helio_broker_job_view_t *job)
{
    search_t *search = arg;
    search->found = search->found || helio_job_key_equal(search->key, job->key);
}

bool harness_is_open(const harness_t *self, helio_job_key_t key)
{
    search_t search = {key, false};
    helio_broker_core_each(self->core, look, &search);
    return search.found;
}
