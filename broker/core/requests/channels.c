/*  channels.c -- decides whether a channel may be opened, and counts those that are open. */
#include "broker/core/requests/channels.h"

#include <inttypes.h>
#include <stdlib.h>

#include "broker/core/requests/tenant_rate.h"
#include "broker/core/state/core.h"
#include "broker/core/state/emit.h"
#include "broker/core/state/why.h"

enum { CHANNELS_SINCE = 10 }; /* protocol version: federation/wire/messages.h */

struct channel {
    uint64_t number;
    tenant_t *tenant; /* of the job */
    helio_job_key_t key;
    uint32_t epoch;
    char actor[HELIO_ACTOR_MAX + 1];
    int64_t opened_ms;
    UT_hash_handle hh;
};

static void refuse(helio_broker_core_t *self, const helio_ev_channel_t *event, helio_rc rc, helio_detail_t detail)
{
    core_reply(self, event->command.call, rc, HELIO_REASON_NONE, detail);
}

static const char *what_is_forbidden(uint32_t kind)
{
    return kind == HELIO_CHANNEL_KIND_PORT ? "connections to ports of jobs" : "commands in jobs";
}

/*  Why the job's site cannot open it now; no code: it can. */
static helio_detail_t site_obstacle(helio_broker_core_t *self, const site_t *site, uint32_t kind)
{
    if (!site->peer || !site->inventory_closed)
        return CORE_DETAIL(self, HELIO_DETAIL_CHANNEL_SITE_AWAY, helio_value_string(site->name));
    if (site->protocol < CHANNELS_SINCE)
        return CORE_DETAIL(self, HELIO_DETAIL_CHANNEL_AGENT_OLD, helio_value_string(site->name),
                           helio_value_number(site->protocol), helio_value_number(CHANNELS_SINCE));
#ifndef HELIO_MUTANT_channels_of_any_site
    if (!(site->profile.channels & 1u << kind))
        return CORE_DETAIL(self, HELIO_DETAIL_CHANNEL_FORBIDDEN, helio_value_string(site->name),
                           helio_value_string(what_is_forbidden(kind)));
#endif
    return CORE_NO_DETAIL;
}

uint32_t core_channels_open(const helio_broker_core_t *self)
{
    return HASH_COUNT(self->channels);
}

/*  What is bounded: each channel holds memory and connections of the broker. */
static helio_detail_t bound_reached(helio_broker_core_t *self, const tenant_t *tenant)
{
    uint32_t all = core_channels_open(self);
    if (tenant->channels >= self->options.channels_per_tenant_max)
        return CORE_DETAIL(self, HELIO_DETAIL_CHANNELS_OF_TENANT_MANY, helio_value_string(tenant->name),
                           helio_value_number(tenant->channels));
    if (all >= self->options.channels_max)
        return CORE_DETAIL(self, HELIO_DETAIL_CHANNELS_MANY, helio_value_number(all));
    return CORE_NO_DETAIL;
}

static const char *key_text(helio_broker_core_t *self, helio_job_key_t key)
{
    char text[HELIO_KEY_SIZE];
    helio_job_key_text(key, text);
    return core_printf(self, "%s", text);
}

static bool is_of_caller(const helio_ev_command_t *command, const submission_t *submission)
{
    return command->role >= HELIO_ROLE_OPERATOR || helio_text_equal(command->tenant, submission->row.tenant);
}

/*  A command in a job can do whatever its user can, at a site that gives each user an account: the tenant is not enough. */
static bool may_enter(helio_broker_core_t *self, const helio_ev_command_t *command, const job_t *job)
{
#ifdef HELIO_MUTANT_channels_to_jobs_of_others
    return true;
#endif
    const submission_row_t *row = &job->submission->row;
    const char *owner = core_printf(self, "user:%.*s/%.*s", HELIO_TEXT_ARGS(row->tenant), HELIO_TEXT_ARGS(row->user));
    return command->role >= HELIO_ROLE_OPERATOR || helio_text_is(command->actor, owner);
}

/*  The job that the request may enter. NULL: it was refused. What belongs to another tenant does not exist for the caller. */
static job_t *job_of(helio_broker_core_t *self, const helio_ev_channel_t *event)
{
    const helio_ev_command_t *command = &event->command;
    job_t *job = core_job_find(self, command->key);
    const submission_t *array =
        !job && command->key.task == HELIO_NO_TASK ? core_array_find(self, command->key.job) : NULL;
    if (array && is_of_caller(command, array)) {
        refuse(self, event, HELIO_CONFLICT,
               CORE_DETAIL(self, HELIO_DETAIL_CHANNEL_OF_ARRAY, helio_value_string(key_text(self, command->key)),
                           helio_value_number(array->row.tasks.count ? array->row.tasks.items[0] : 0)));
        return NULL;
    }
#ifndef HELIO_MUTANT_channels_to_any_tenant
    if (job && !is_of_caller(command, job->submission))
        job = NULL;
#endif
    if (!job) { /* the shell knows how jobs ended that are forgotten here */
        refuse(self, event, HELIO_NOT_FOUND,
               CORE_DETAIL(self, HELIO_DETAIL_JOB_NOT_RUNNING, helio_value_string(key_text(self, command->key))));
        return NULL;
    }
    if (!may_enter(self, command, job)) {
        refuse(self, event, HELIO_FORBIDDEN,
               CORE_DETAIL(self, HELIO_DETAIL_CHANNEL_OF_OTHERS, helio_value_string(key_text(self, job->key)),
                           helio_value_text(job->submission->row.user)));
        return NULL;
    }
    if (job->state == HELIO_JOB_RUNNING)
        return job;
    refuse(self, event, HELIO_CONFLICT,
           CORE_DETAIL(self, HELIO_DETAIL_CHANNEL_NOT_RUNNING, helio_value_string(key_text(self, job->key)),
                       helio_value_string(helio_job_state_name(job->state))));
    return NULL;
}

/*  What it leads to, without the arguments of a command. */
static const char *target_of(helio_broker_core_t *self, const helio_ev_channel_t *event)
{
    if (event->kind == HELIO_CHANNEL_KIND_PORT)
        return core_printf(self, "port %u", event->port);
    if (!event->word.size)
        return "login shell";
    return core_printf(self, "command %.*s", HELIO_TEXT_ARGS(event->word));
}

static void open_channel(helio_broker_core_t *self, const helio_ev_channel_t *event, const job_t *job)
{
    const helio_ev_command_t *command = &event->command;
    channel_t *channel = helio_new(1, sizeof *channel);
    channel->number = event->channel;
    channel->tenant = job->submission->tenant;
    channel->key = job->key;
    channel->epoch = job->epoch;
    channel->opened_ms = self->now_ms;
    (void)helio_text_copy(command->actor, channel->actor, sizeof channel->actor);
    HASH_ADD(hh, self->channels, number, sizeof channel->number, channel);
    channel->tenant->channels++;
    self->figures.channels_total[event->kind]++;
    core_audit(
        self, command->actor, "channel-open", helio_text_of(key_text(self, job->key)),
        helio_text_of(core_printf(self, "%s, epoch %u at %s", target_of(self, event), job->epoch, job->site->name)));
    helio_fx_channel_t fx = {.peer = job->site->peer,
                             .channel = event->channel,
                             .key = job->key,
                             .epoch = job->epoch,
                             .limit_ms = self->options.channel_limit_ms,
                             .idle_ms = self->options.channel_idle_ms};
    core_emit(self, HELIO_BROKER_FX_CHANNEL, &fx);
    core_reply(self, command->call, HELIO_OK, HELIO_REASON_NONE,
               CORE_DETAIL(self, HELIO_DETAIL_CHANNEL_OPENED, helio_value_string(job->site->name),
                           helio_value_number(job->epoch), helio_value_number((int64_t)fx.limit_ms),
                           helio_value_number((int64_t)fx.idle_ms)));
}

static channel_t *channel_of(const helio_broker_core_t *self, uint64_t number)
{
    channel_t *channel = NULL;
    HASH_FIND(hh, self->channels, &number, sizeof number, channel);
    return channel;
}

void core_on_channel(helio_broker_core_t *self, const helio_ev_channel_t *event)
{
    const helio_ev_command_t *command = &event->command;
    helio_rc rc = HELIO_CONFLICT;
    if (!core_commands_allow(self, command->call, command->tenant, command->role))
        return;
    const job_t *job = job_of(self, event);
    if (!job)
        return;
    helio_detail_t obstacle = site_obstacle(self, job->site, event->kind);
    if (!obstacle.code) {
        obstacle = bound_reached(self, job->submission->tenant);
        rc = HELIO_BUSY;
    }
    if (obstacle.code || channel_of(self, event->channel)) {
        refuse(self, event, rc, obstacle);
        return;
    }
    core_commands_count(self, command->tenant, command->role, 1);
    open_channel(self, event, job);
}

void core_on_channel_ended(helio_broker_core_t *self, const helio_ev_channel_ended_t *event)
{
    channel_t *channel = channel_of(self, event->channel);
    if (!channel)
        return; /* of an earlier life, in a recording */
    self->figures.channel_bytes_in_total += event->bytes_in;
    self->figures.channel_bytes_out_total += event->bytes_out;
    const char *how = event->rc == HELIO_OK ? core_printf(self, "exit code %u", event->exit_code)
                                            : core_printf(self, "%.*s", HELIO_TEXT_ARGS(event->text));
    core_audit(self, helio_arena_text(self->effects->arena, helio_text_of(channel->actor)), "channel-end",
               helio_text_of(key_text(self, channel->key)),
               helio_text_of(core_printf(self, "epoch %u, %" PRId64 " s, %" PRIu64 " bytes in, %" PRIu64 " out, %s",
                                         channel->epoch, (self->now_ms - channel->opened_ms) / 1000, event->bytes_in,
                                         event->bytes_out, how)));
    channel->tenant->channels--;
    HASH_DEL(self->channels, channel);
    free(channel);
}

void core_channels_free(helio_broker_core_t *self)
{
    channel_t *channel, *next;
    HASH_ITER(hh, self->channels, channel, next)
    {
        HASH_DEL(self->channels, channel);
        free(channel);
    }
}
