/*  life.c -- follows jobs through rows. */
#include "simulator/rehearsal/life.h"

#include "federation/reason/sentence.h"

reh_life_t *reh_lives_find(const reh_lives_t *self, helio_job_key_t key)
{
    reh_life_t *life = NULL;
    HASH_FIND(hh, self->all, &key, sizeof key, life);
    return life;
}

bool reh_life_is_over(const reh_life_t *self)
{
    return helio_job_state_is_terminal(self->state);
}

static bool runs(uint32_t state)
{
    return state == HELIO_JOB_RUNNING || state == HELIO_JOB_SUSPENDED || state == HELIO_JOB_STOPPING;
}

reh_life_t *reh_lives_find_origin(const reh_lives_t *self, helio_job_key_t origin)
{
    reh_life_t *life = NULL;
    HASH_FIND(hh_origin, self->by_origin, &origin, sizeof origin, life);
    return life;
}

static reh_life_t *add(reh_lives_t *self, helio_job_key_t key, const reh_job_copy_t *job, int64_t wall_ms)
{
    reh_life_t *life = helio_arena_alloc(self->arena, 1, sizeof *life);
    life->key = life->origin = key;
    if (job)
        life->origin.job = job->id;
    life->job = job;
    life->since_ms = wall_ms;
    HASH_ADD(hh, self->all, key, sizeof life->key, life);
    HASH_ADD(hh_origin, self->by_origin, origin, sizeof life->origin, life);
    self->open++;
    return life;
}

void reh_lives_add(reh_lives_t *self, helio_uuid_t id, const reh_job_copy_t *job, int64_t wall_ms)
{
    const helio_row_job_t *row = &job->load->row;
    for (uint32_t i = 0; i < row->tasks.count; i++)
        add(self, (helio_job_key_t){id, (int32_t)row->tasks.items[i]}, job, wall_ms)->deadline_ms =
            row->deadline_wall_ms;
    if (!row->tasks.count)
        add(self, (helio_job_key_t){id, HELIO_NO_TASK}, job, wall_ms)->deadline_ms = row->deadline_wall_ms;
}

/*  ---- when the rehearsal begins ---- */

static void visit(void *arg, const helio_broker_job_view_t *view)
{
    reh_lives_t *self = arg;
    reh_life_t *life = add(self, view->key, reh_copy_job(self->copy, view->key.job), self->copy->taken_ms);
    life->state = view->state;
    life->deadline_ms = view->deadline_wall_ms;
    life->ran_before = runs(view->state);
    if (life->ran_before) {
        (void)helio_text_copy(helio_text_of(view->site), life->first_site, sizeof life->first_site);
        (void)helio_text_copy(helio_text_of(view->site), life->site, sizeof life->site);
    }
}

void reh_lives_init(reh_lives_t *self, const reh_copy_t *copy, const helio_broker_core_t *core)
{
    *self = (reh_lives_t){.copy = copy, .arena = helio_arena_new()};
    helio_broker_core_each(core, visit, self);
}

void reh_lives_clear(reh_lives_t *self)
{
    for (reh_life_t *life = self->all; life; life = life->hh.next)
        helio_buffer_clear(&life->why);
    for (reh_class_t *class = self->classes; class; class = class->hh.next)
        helio_buffer_clear(&class->why);
    HASH_CLEAR(hh, self->all);
    HASH_CLEAR(hh_origin, self->by_origin);
    HASH_CLEAR(hh, self->classes);
    helio_arena_destroy(&self->arena);
}

/*  ---- rows ---- */

static void pass(reh_life_t *life, int64_t wall_ms)
{
    if (!runs(life->state) && !reh_life_is_over(life))
        life->waited_ms += wall_ms - life->since_ms;
    life->since_ms = wall_ms;
}

static void take_transition(reh_lives_t *self, const helio_row_transition_t *row, int64_t wall_ms)
{
    reh_life_t *life = reh_lives_find(self, row->key);
    if (!life)
        return;
    pass(life, wall_ms);
    life->state = row->to;
    life->curtailed +=
        row->to == HELIO_JOB_STOPPING && helio_details_find(&row->why, HELIO_DETAIL_STOPPED_FOR_CURTAILMENT);
    helio_buffer_reset(&life->why);
    helio_sentences(&row->why, &life->why);
    if (row->to == HELIO_JOB_RUNNING && row->from != HELIO_JOB_SUSPENDED && row->from != HELIO_JOB_SUSPECT) {
        (void)helio_text_copy(helio_text_of(life->next_site), life->site, sizeof life->site);
        if (!life->first_site[0]) {
            life->started_ms = wall_ms;
            (void)helio_text_copy(helio_text_of(life->next_site), life->first_site, sizeof life->first_site);
        }
    }
    if (reh_life_is_over(life)) {
        life->ended_ms = wall_ms;
        self->open--;
    }
}

static void take_placement(const reh_lives_t *self, const helio_row_placement_t *row)
{
    reh_life_t *life = reh_lives_find(self, row->key);
    if (!life)
        return;
    (void)helio_text_copy(row->site, life->next_site, sizeof life->next_site);
    life->expected_ms = row->expected_ms;
    life->transfer_ms = row->transfer_ms;
}

/*  The first row of a job tells how many there were before. */
static const helio_row_state_t *state_before(const reh_lives_t *self, helio_job_key_t key)
{
    for (uint32_t i = 0; i < self->copy->part_count; i++) {
        const helio_row_state_t *row = self->copy->parts[i].record;
        if (self->copy->parts[i].kind == HELIO_BROKER_EV_LOAD_STATE && helio_job_key_equal(row->key, key))
            return row;
    }
    return NULL;
}

static void take_state(const reh_lives_t *self, const helio_row_state_t *row)
{
    reh_life_t *life = row->preemptions || row->migrations ? reh_lives_find(self, row->key) : NULL;
    if (!life)
        return;
    const helio_row_state_t *before = state_before(self, row->key);
    life->preemptions = row->preemptions - (before ? before->preemptions : 0);
    life->migrations = row->migrations - (before ? before->migrations : 0);
}

static void take_ledger(const reh_lives_t *self, const helio_row_ledger_t *row)
{
    reh_life_t *life = reh_lives_find(self, row->key);
    if (!life)
        return;
    bool back = row->part == HELIO_LEDGER_REVERSAL;
    life->gpu_ms += back ? -row->gpu_ms : row->gpu_ms;
    life->energy_j += back ? -row->energy_j : row->energy_j;
    life->carbon_mg += back ? -row->carbon_mg : row->carbon_mg;
    life->cost_micro_usd += back ? -row->cost_micro_usd : row->cost_micro_usd;
}

static void take_class(reh_lives_t *self, const helio_row_class_t *row)
{
    reh_class_t *class = NULL;
    HASH_FIND(hh, self->classes, &row->class_id, sizeof row->class_id, class);
    if (!class) {
        class = helio_arena_alloc(self->arena, 1, sizeof *class);
        class->id = row->class_id;
        HASH_ADD(hh, self->classes, id, sizeof class->id, class);
    }
    helio_buffer_reset(&class->why);
    helio_sentences(&row->details, &class->why);
    if (!class->why.size)
        helio_buffer_append(&class->why, row->reason.data, row->reason.size);
}

void reh_lives_take(reh_lives_t *self, const helio_effects_t *effects, int64_t wall_ms)
{
    for (uint32_t i = 0; i < effects->count; i++) {
        const void *row = effects->items[i].payload;
        switch (effects->items[i].kind) {
        case HELIO_BROKER_FX_ROW_TRANSITION:
            take_transition(self, row, wall_ms);
            break;
        case HELIO_BROKER_FX_ROW_PLACEMENT:
            take_placement(self, row);
            break;
        case HELIO_BROKER_FX_ROW_STATE:
            take_state(self, row);
            break;
        case HELIO_BROKER_FX_ROW_LEDGER:
            take_ledger(self, row);
            break;
        case HELIO_BROKER_FX_ROW_CLASS:
            take_class(self, row);
            break;
        default:
            break;
        }
    }
}

void reh_lives_close(reh_lives_t *self, int64_t wall_ms)
{
    for (reh_life_t *life = self->all; life; life = life->hh.next)
        pass(life, wall_ms);
}

bool reh_life_is_late(const reh_life_t *self, int64_t until_ms)
{
    int64_t ended_ms = self->ended_ms ? self->ended_ms : until_ms;
    return self->deadline_ms && ended_ms > self->deadline_ms;
}

helio_text_t reh_lives_why(const reh_lives_t *self, const reh_life_t *life)
{
    reh_class_t *class = NULL;
    if (runs(life->state) || reh_life_is_over(life))
        return (helio_text_t){0};
    if (life->state != HELIO_JOB_QUEUED || !life->job)
        return helio_buffer_view(&life->why);
    HASH_FIND(hh, self->classes, &life->job->class_id, sizeof life->job->class_id, class);
    return helio_buffer_view(class ? &class->why : &life->why);
}
