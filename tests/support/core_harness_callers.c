/*  core_harness_callers.c -- users and operators: what they submit, request and set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/reason/detail_json.h"

#include "tests/support/core_harness_rows.h"

helio_job_spec_t harness_spec(harness_t *self, const char *model, uint32_t gpus)
{
    helio_job_spec_t spec = {.queue = HELIO_TEXT("standard"), .nodes = 1, .sharing = HELIO_SHARING_NONE};
    spec.gpus.items = helio_arena_alloc(self->arena, 8, sizeof *spec.gpus.items);
    if (gpus)
        harness_or(self, &spec, model, gpus);
    return spec;
}

void harness_or(harness_t *self, helio_job_spec_t *spec, const char *model, uint32_t gpus)
{
    assert_true(spec->gpus.count < 8);
    spec->gpus.items[spec->gpus.count++] =
        (helio_gpu_ask_t){.model = helio_arena_text(self->arena, helio_text_of(model)), .count = gpus};
}

void harness_strings(harness_t *self, void *ret_list, const char *const *words)
{
    helio_list_t *list = ret_list;
    uint32_t count = 0;
    while (words[count])
        count++;
    helio_string_t *items = helio_arena_alloc(self->arena, count, sizeof *items);
    for (uint32_t i = 0; i < count; i++)
        items[i].text = helio_arena_text(self->arena, helio_text_of(words[i]));
    list->items = items;
    list->count = count;
}

helio_submission_t harness_submission(harness_t *self, const helio_job_spec_t *spec, const char *key,
                                      const char *document)
{
    helio_submission_t job = {.spec = *spec};
    job.idempotency_key = helio_arena_text(self->arena, helio_text_of(key));
    job.source = document[0] ? helio_arena_text(self->arena, helio_text_of(document))
                             : helio_arena_printf(self->arena, "document %llu", (unsigned long long)++self->calls);
    uint64_t hash[4];
    hash[0] = helio_hash(HELIO_HASH_SEED, job.source.data, job.source.size);
    for (int i = 1; i < 4; i++)
        hash[i] = helio_hash(hash[i - 1], &i, sizeof i);
    job.spec_hash = helio_arena_text(self->arena, (helio_text_t){(const char *)hash, sizeof hash});
    return job;
}

static helio_list_t words_of(harness_t *self, const harness_after_t *after, uint32_t count, helio_after_t wanted,
                             const helio_u32s_t *tasks, helio_dependency_t *depends, uint32_t *at)
{
    helio_list_t list = {helio_arena_alloc(self->arena, count, sizeof(helio_string_t)), 0};
    for (uint32_t i = 0; i < count; i++) {
        if (after[i].after != wanted)
            continue;
        char id[HELIO_KEY_SIZE];
        helio_job_key_text(after[i].on, id);
        helio_text_t word = helio_arena_text(self->arena, helio_text_of(id));
        ((helio_string_t *)list.items)[list.count++].text = word;
        uint32_t entries = wanted == HELIO_AFTER_TASK ? tasks->count : 1;
        for (uint32_t k = 0; k < entries; k++) {
            helio_job_key_t on = wanted == HELIO_AFTER_TASK ? harness_task(after[i].on, tasks->items[k]) : after[i].on;
            depends[(*at)++] = (helio_dependency_t){word, wanted, harness_found(self, on), on};
        }
    }
    return list;
}

helio_submission_t harness_dependent(harness_t *self, const helio_job_spec_t *spec, const harness_after_t *after,
                                     uint32_t count)
{
    helio_submission_t job = harness_submission(self, spec, "", "");
    job.depends.items =
        helio_arena_alloc(self->arena, (size_t)count * (spec->tasks.count + 1), sizeof *job.depends.items);
    helio_list_t lists[HELIO_AFTER_COUNT];
    for (helio_after_t wanted = HELIO_AFTER_OK; wanted < HELIO_AFTER_COUNT; wanted++)
        lists[wanted] = words_of(self, after, count, wanted, &spec->tasks, job.depends.items, &job.depends.count);
    memcpy(&job.spec.after_ok, &lists[HELIO_AFTER_OK], sizeof lists[0]);
    memcpy(&job.spec.after_any, &lists[HELIO_AFTER_ANY], sizeof lists[0]);
    memcpy(&job.spec.after_not_ok, &lists[HELIO_AFTER_NOT_OK], sizeof lists[0]);
    memcpy(&job.spec.after_start, &lists[HELIO_AFTER_START], sizeof lists[0]);
    memcpy(&job.spec.after_task, &lists[HELIO_AFTER_TASK], sizeof lists[0]);
    return job;
}

const helio_row_dependency_hold_t *harness_dependency_hold(const harness_t *self, helio_job_key_t key)
{
    dependency_hold_t *hold;
    HASH_FIND(hh, self->dependency_holds, &key.job, sizeof key.job, hold);
    return hold ? &hold->row : NULL;
}

const helio_fx_reply_t *harness_reply_of(harness_t *self, uint64_t call)
{
    const helio_fx_reply_t *reply = harness_take(self, HELIO_BROKER_FX_REPLY);
    assert_non_null(reply);
    assert_true(reply->call == call);
    assert_true((reply->rc == HELIO_OK) || reply->details.items.count > 0);
    return reply;
}

const char *harness_details(harness_t *self, const helio_details_t *details)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_details_write(&json, NULL, details);
    return helio_arena_string(harness_arena(self), helio_buffer_view(&text));
}

bool harness_says(harness_t *self, const helio_details_t *details, const char *part)
{
    return strstr(harness_details(self, details), part) != NULL;
}

const helio_fx_reply_t *harness_submit_all(harness_t *self, const char *tenant, helio_submission_t *jobs,
                                           uint32_t count)
{
    helio_ev_submit_t event = {
        .call = ++self->calls, .tenant = helio_text_of(tenant), .user = HELIO_TEXT("ada"), .jobs = {jobs, count}};
    self->submitting = &event;
    harness_step(self, HELIO_BROKER_EV_SUBMIT, &event);
    self->submitting = NULL;
    return harness_reply_of(self, event.call);
}

const helio_fx_reply_t *harness_submit(harness_t *self, const char *tenant, const helio_job_spec_t *spec)
{
    helio_submission_t job = harness_submission(self, spec, "", "");
    return harness_submit_all(self, tenant, &job, 1);
}

helio_job_key_t harness_job(harness_t *self, const helio_job_spec_t *spec)
{
    const helio_fx_reply_t *reply = harness_submit(self, "acme", spec);
    assert_int_equal(reply->rc, HELIO_OK);
    assert_int_equal(reply->jobs.count, 1);
    return (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
}

helio_job_key_t harness_job_after(harness_t *self, const helio_job_spec_t *spec, helio_after_t after,
                                  helio_job_key_t on)
{
    helio_submission_t job = harness_dependent(self, spec, &(harness_after_t){after, on}, 1);
    const helio_fx_reply_t *reply = harness_submit_all(self, "acme", &job, 1);
    assert_int_equal(reply->rc, HELIO_OK);
    return (helio_job_key_t){reply->jobs.items[0].job, HELIO_NO_TASK};
}

helio_job_key_t harness_task(helio_job_key_t array, uint32_t task)
{
    return (helio_job_key_t){array.job, (int32_t)task};
}

const helio_fx_reply_t *harness_command(harness_t *self, uint32_t kind, const char *tenant, helio_role_t role,
                                        helio_job_key_t key)
{
    char actor[HELIO_ACTOR_MAX + 1];
    (void)snprintf(actor, sizeof actor, "user:%s/ada", tenant);
    helio_ev_command_t event = {++self->calls, helio_text_of(tenant), helio_text_of(actor), role, key, false};
    harness_step(self, kind, &event);
    return harness_reply_of(self, event.call);
}

const helio_fx_reply_t *harness_cancel_now(harness_t *self, const char *tenant, helio_job_key_t key)
{
    helio_ev_command_t event = {++self->calls, helio_text_of(tenant), HELIO_TEXT("user:acme/ada"), HELIO_ROLE_USER, key,
                                true};
    harness_step(self, HELIO_BROKER_EV_CANCEL, &event);
    return harness_reply_of(self, event.call);
}

const helio_fx_reply_t *harness_kill(harness_t *self, const char *tenant, helio_job_key_t key)
{
    helio_ev_command_t command = {
        ++self->calls, helio_text_of(tenant), HELIO_TEXT("user:acme/ada"), HELIO_ROLE_USER, key, false};
    helio_ev_signal_t event = {command, HELIO_JOB_SIGNAL_KILL, HELIO_SIGNAL_TO_JOB};
    harness_step(self, HELIO_BROKER_EV_SIGNAL, &event);
    return harness_reply_of(self, command.call);
}

const helio_fx_reply_t *harness_signal(harness_t *self, const char *tenant, helio_role_t role, helio_job_key_t key)
{
    helio_ev_command_t command = {++self->calls, helio_text_of(tenant), HELIO_TEXT("user:acme/ada"), role, key, false};
    helio_ev_signal_t event = {command, HELIO_JOB_SIGNAL_USR1, HELIO_SIGNAL_TO_SCRIPT};
    harness_step(self, HELIO_BROKER_EV_SIGNAL, &event);
    return harness_reply_of(self, command.call);
}

const helio_fx_reply_t *harness_channel(harness_t *self, const char *tenant, helio_role_t role, helio_job_key_t key,
                                        helio_ev_channel_t event)
{
    helio_text_t actor = event.command.actor.size ? event.command.actor : HELIO_TEXT("user:acme/ada");
    event.command = (helio_ev_command_t){++self->calls, helio_text_of(tenant), actor, role, key, false};
    harness_step(self, HELIO_BROKER_EV_CHANNEL, &event);
    return harness_reply_of(self, event.command.call);
}

const helio_fx_reply_t *harness_tenant(harness_t *self, helio_role_t role, helio_ev_tenant_t tenant)
{
    tenant.call = ++self->calls;
    tenant.actor = HELIO_TEXT("user:ops/ada");
    tenant.role = role;
    harness_step(self, HELIO_BROKER_EV_TENANT, &tenant);
    return harness_reply_of(self, tenant.call);
}

const helio_fx_reply_t *harness_edit(harness_t *self, const char *tenant, helio_role_t role, helio_job_key_t key,
                                     helio_ev_edit_t edit)
{
    edit.call = ++self->calls;
    edit.tenant = helio_text_of(tenant);
    edit.actor = HELIO_TEXT("user:acme/ada");
    edit.role = role;
    edit.key = key;
    harness_step(self, HELIO_BROKER_EV_EDIT, &edit);
    return harness_reply_of(self, edit.call);
}

const helio_fx_reply_t *harness_site_command(harness_t *self, uint32_t kind, helio_role_t role, const char *site)
{
    helio_ev_site_command_t event = {++self->calls, HELIO_TEXT("ada"), role, helio_text_of(site), HELIO_TEXT("test")};
    harness_step(self, kind, &event);
    return harness_reply_of(self, event.call);
}

const helio_fx_reply_t *harness_data(harness_t *self, const char *prefix, const char *const *sites)
{
    helio_ev_data_t event = {.call = ++self->calls,
                             .actor = HELIO_TEXT("user:ops/ada"),
                             .role = HELIO_ROLE_OPERATOR,
                             .prefix = helio_text_of(prefix)};
    harness_strings(self, &event.sites, sites);
    harness_step(self, HELIO_BROKER_EV_DATA, &event);
    return harness_reply_of(self, event.call);
}

const helio_fx_reply_t *harness_link(harness_t *self, const char *from, const char *to, uint64_t mbps,
                                     int64_t egress_micro_usd_per_gb)
{
    helio_ev_link_t event = {.call = ++self->calls,
                             .actor = HELIO_TEXT("user:ops/ada"),
                             .role = HELIO_ROLE_OPERATOR,
                             .from = helio_text_of(from),
                             .to = helio_text_of(to),
                             .removed = !mbps,
                             .mbps = mbps,
                             .egress_micro_usd_per_gb = egress_micro_usd_per_gb};
    harness_step(self, HELIO_BROKER_EV_LINK, &event);
    return harness_reply_of(self, event.call);
}

void harness_reads(harness_t *self, helio_job_spec_t *spec, const char *uri, uint64_t bytes)
{
    helio_data_ask_t *items = helio_arena_alloc(self->arena, spec->data.count + 1, sizeof *items);
    for (uint32_t i = 0; i < spec->data.count; i++)
        items[i] = spec->data.items[i];
    items[spec->data.count] =
        (helio_data_ask_t){.uri = helio_arena_text(self->arena, helio_text_of(uri)), .size_bytes = bytes};
    spec->data.items = items;
    spec->data.count++;
}

const helio_fx_reply_t *harness_quota(harness_t *self, const char *tenant, const char *queue, int64_t guaranteed,
                                      int64_t burst, int64_t weight_milli)
{
    helio_ev_quota_t event = {
        .call = ++self->calls,
        .actor = HELIO_TEXT("user:ops/ada"),
        .role = HELIO_ROLE_OPERATOR,
        .tenant = helio_text_of(tenant),
        .queue = helio_text_of(queue),
        .guaranteed_given = guaranteed >= 0,
        .guaranteed_gpus = guaranteed >= 0 ? (uint32_t)guaranteed : 0,
        .burst_given = burst >= 0,
        .burst_gpus = burst >= 0 ? (uint32_t)burst : 0,
        .weight_given = weight_milli >= 0,
        .weight_milli = weight_milli >= 0 ? (uint32_t)weight_milli : 0,
    };
    harness_step(self, HELIO_BROKER_EV_QUOTA, &event);
    return harness_reply_of(self, event.call);
}

const helio_fx_reply_t *harness_queue(harness_t *self, const char *queue, int64_t priority, int64_t tier)
{
    helio_ev_queue_t event = {
        .call = ++self->calls,
        .actor = HELIO_TEXT("user:ops/ada"),
        .role = HELIO_ROLE_OPERATOR,
        .queue = helio_text_of(queue),
        .priority_given = priority >= 0,
        .priority = priority >= 0 ? (uint32_t)priority : 0,
        .tier_given = tier >= 0,
        .tier = tier >= 0 ? (uint32_t)tier : 0,
        .remove = priority < 0 && tier < 0,
    };
    harness_step(self, HELIO_BROKER_EV_QUEUE, &event);
    return harness_reply_of(self, event.call);
}

const helio_fx_reply_t *harness_rule(harness_t *self, const char *queue, const char *region, const char *schedule,
                                     uint64_t for_ms, int64_t priority)
{
    helio_ev_queue_rule_t event = {
        .call = ++self->calls,
        .actor = HELIO_TEXT("user:ops/ada"),
        .role = HELIO_ROLE_OPERATOR,
        .queue = helio_text_of(queue),
        .region = helio_text_of(region),
        .schedule = helio_text_of(schedule),
        .for_ms = for_ms,
        .priority = priority >= 0 ? (uint32_t)priority : 0,
        .remove = priority < 0,
    };
    harness_step(self, HELIO_BROKER_EV_QUEUE_RULE, &event);
    return harness_reply_of(self, event.call);
}

const helio_fx_reply_t *harness_overflow(harness_t *self, const char *name, const char *queue, const char *tenant,
                                         const char *steps)
{
    helio_ev_overflow_t event = {
        .call = ++self->calls,
        .actor = HELIO_TEXT("user:ops/ada"),
        .role = HELIO_ROLE_OPERATOR,
        .name = helio_text_of(name),
        .queue = helio_text_of(queue),
        .tenant = helio_text_of(tenant),
        .steps = helio_text_of(steps),
        .remove = !steps,
    };
    harness_step(self, HELIO_BROKER_EV_OVERFLOW, &event);
    return harness_reply_of(self, event.call);
}
