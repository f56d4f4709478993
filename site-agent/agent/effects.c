/*  effects.c -- steps of the core and their effects: rows go to the journal, the rest is carried out after their
 *  commit. */
#include "federation/base/clock.h"
#include "federation/reason/codes.h"
#include "site-agent/agent/internal.h"

void agent_fault(helio_agent_t *self, const helio_error_t *err)
{
    if (self->fault.code == HELIO_OK)
        self->fault = *err;
}

static void log_report(helio_agent_t *self, const helio_report_t *report)
{
    char key[HELIO_KEY_SIZE], reason[300]; /* cause and explanation in one text, as operators search for it */
    helio_job_key_text(report->key, key);
    helio_level_t level =
        report->kind == HELIO_REPORT_KIND_LOST || report->kind == HELIO_REPORT_KIND_REFUSED ? HELIO_WARN : HELIO_INFO;
    helio_log(self->parts.log, level, "attempt", "job=%s epoch=%u report=%s exit=%d run_ms=%llu reason=%s", key,
              report->epoch, helio_report_kind_name(report->kind), report->exit_code,
              (unsigned long long)report->run_ms, helio_log_quote(report->reason, reason, sizeof reason));
}

static void hold(helio_agent_t *self, const helio_effect_t *effect)
{
    held_t *held = &self->held[self->filling];
    if (held->count == held->capacity) {
        held->capacity = held->capacity ? held->capacity * 2 : 64;
        held->items = helio_grow(held->items, held->capacity, sizeof *held->items);
    }
    const helio_record_type_t *type = helio_agent_effects[effect->kind].type;
    helio_effect_t copy = *effect;
    copy.payload = helio_arena_alloc(held->arena, 1, type->size);
    helio_record_copy(type, held->arena, effect->payload, copy.payload);
    held->items[held->count++] = copy;
}

/*  The broker has checked the document. A document that does not parse here is never given to a backend. */
static helio_rc parse_spec(helio_agent_t *self, const helio_order_t *order, helio_job_spec_t *ret_spec,
                           helio_error_t *err)
{
    helio_diagnostic_t diagnostic;
    helio_spec_source_t source = {.text = order->source, .name = "job"};
    helio_rc rc = helio_spec_parse_stored_job(source, self->spec_arena, ret_spec, &diagnostic);
    return rc == HELIO_OK ? rc : helio_fail(err, rc, "%s", diagnostic.message);
}

static void start_or_adopt(helio_agent_t *self, const helio_effect_t *effect)
{
    const helio_afx_start_t *call = effect->payload;
    helio_job_spec_t spec;
    helio_error_t err;
    helio_arena_reset(self->spec_arena);
    helio_rc rc = parse_spec(self, &call->order, &spec, &err);
    if (rc != HELIO_OK && effect->kind == HELIO_AGENT_FX_START) {
        helio_aev_backend_t failed = {.key = call->order.key,
                                      .epoch = call->order.epoch,
                                      .word = HELIO_BACKEND_REPORT_FAILED_TO_START,
                                      .cause = HELIO_CAUSE_BAD_DOCUMENT,
                                      .explanation = helio_text_of(err.text)};
        if (failed.explanation.size > 256)
            failed.explanation.size = 256;
        agent_step(self, HELIO_AGENT_EV_BACKEND, &failed);
        return;
    }
    if (rc != HELIO_OK) /* found without its document: it can still be watched and stopped */
        helio_spec_defaults(&helio_spec_job_table, self->spec_arena, &spec);
    helio_backend_task_t task = {.order = &call->order,
                                 .spec = &spec,
                                 .slots = call->slots.items,
                                 .slot_count = call->slots.count,
                                 .evidence = &call->evidence};
    if (effect->kind == HELIO_AGENT_FX_START)
        self->backend->class->start(self->backend, &task);
    else
        self->backend->class->adopt(self->backend, &task);
}

static void set_lease(helio_agent_t *self, const helio_afx_lease_t *lease)
{
    helio_error_t err = {0};
    char quoted[600];
    if (self->backend->class->lease && self->backend->class->lease(self->backend, lease, &err) != HELIO_OK)
        helio_log(self->parts.log, HELIO_ERROR, "lease_not_written", "text=%s",
                  helio_log_quote(helio_text_of(err.text), quoted, sizeof quoted));
}

static void carry_out(helio_agent_t *self, const helio_effect_t *effect)
{
    if (helio_framer_takes(effect->kind)) {
        if (self->uplink)
            helio_uplink_put(self->uplink, effect, helio_clock_wall_ms());
        return;
    }
    switch ((helio_agent_effect_t)effect->kind) {
    case HELIO_AGENT_FX_START:
    case HELIO_AGENT_FX_ADOPT:
        start_or_adopt(self, effect);
        break;
    case HELIO_AGENT_FX_STOP:
        self->backend->class->stop(self->backend, effect->payload);
        break;
    case HELIO_AGENT_FX_SIGNAL:
        if (self->backend->class->signal)
            self->backend->class->signal(self->backend, effect->payload);
        break;
    case HELIO_AGENT_FX_FORGET: {
        const helio_afx_forget_t *forget = effect->payload;
        self->backend->class->forget(self->backend, forget->key, forget->epoch);
        break;
    }
    case HELIO_AGENT_FX_LEASE:
        set_lease(self, effect->payload);
        break;
    case HELIO_AGENT_FX_ROW_META:
    case HELIO_AGENT_FX_ROW_SEEN:
    case HELIO_AGENT_FX_ROW_ATTEMPT:
    case HELIO_AGENT_FX_ROW_REPORT:
    case HELIO_AGENT_FX_ROW_ACKED:
    case HELIO_AGENT_FX_SEND_REPORT:
    case HELIO_AGENT_FX_SEND_HELLO:
    case HELIO_AGENT_FX_SEND_INVENTORY:
    case HELIO_AGENT_FX_SEND_SUMMARY:
    case HELIO_AGENT_FX_SEND_RENEW:
    case HELIO_AGENT_EFFECT_COUNT:
        break;
    }
}

static void take_effects(helio_agent_t *self)
{
    for (uint32_t i = 0; i < self->effects->count && self->fault.code == HELIO_OK; i++) {
        const helio_effect_t *effect = &self->effects->items[i];
        helio_error_t err = {0};
        switch (effect->release) {
        case HELIO_RELEASE_ROW:
            self->open_rows++;
            if (effect->kind == HELIO_AGENT_FX_ROW_REPORT)
                log_report(self, effect->payload);
            if (helio_journal_put(self->journal, effect, &err) != HELIO_OK)
                agent_fault(self, &err);
            break;
        case HELIO_RELEASE_HELD:
            hold(self, effect);
            break;
        case HELIO_RELEASE_FREE:
            carry_out(self, effect);
            break;
        }
    }
}

static void step_core(helio_agent_t *self, uint32_t kind, const void *payload)
{
    helio_event_t event = {kind, helio_clock_boot_ms(), helio_clock_wall_ms(), payload};
    helio_effects_reset(self->effects);
    helio_agent_core_step(self->core, &event, self->effects);
    self->wake_ms = self->effects->wake_ms;
}

void agent_step(helio_agent_t *self, uint32_t kind, const void *payload)
{
    if (self->fault.code != HELIO_OK)
        return;
    step_core(self, kind, payload);
    take_effects(self);
}

void agent_last_step(helio_agent_t *self, const helio_error_t *err)
{
    static const helio_aev_nothing_t nothing = {0};
    if (self->fault.code != HELIO_OK)
        return;
    step_core(self, HELIO_AGENT_EV_STATE_GONE, &nothing);
    for (uint32_t i = 0; i < self->effects->count; i++)
        if (self->effects->items[i].kind == HELIO_AGENT_FX_SEND_SUMMARY)
            carry_out(self, &self->effects->items[i]);
    if (self->uplink)
        helio_uplink_flush(self->uplink);
    agent_fault(self, err);
}

/*  Repeats until nothing waits: carrying out an effect can give the core a new event at once (a document that does not
 *  parse). */
void agent_seal(helio_agent_t *self)
{
    while (self->fault.code == HELIO_OK && (self->open_rows || self->held[self->filling].count)) {
        helio_error_t err = {0};
        if (helio_journal_commit(self->journal, &err) != HELIO_OK) {
            agent_fault(self, &err);
            return;
        }
        self->open_rows = 0;
        helio_aev_sealed_t sealed = {self->batch++};
        agent_step(self, HELIO_AGENT_EV_SEALED, &sealed);
        held_t *held = &self->held[self->filling];
        self->filling ^= 1;
        for (uint32_t i = 0; i < held->count; i++)
            carry_out(self, &held->items[i]);
        held->count = 0;
        helio_arena_reset(held->arena);
    }
    if (self->uplink)
        helio_uplink_flush(self->uplink);
}
