/*  channel_service.c -- channels: the broker's messages to them and back, for attempts that the core holds as running. */
#include "federation/base/clock.h"
#include "site-agent/agent/internal.h"

/* ---- opening ------------------------------------------------------------------------------------------- */

static helio_rc enter(void *arg, const helio_entry_t *entry, helio_arena_t *arena, helio_entry_command_t *ret_command,
                      helio_error_t *err)
{
    helio_agent_t *self = arg;
    switch (helio_agent_core_attempt_state(self->core, entry->key, entry->epoch)) {
    case HELIO_JOB_RUNNING:
    case HELIO_JOB_STOPPING:
        return self->backend->class->enter(self->backend, entry, arena, ret_command, err);
    case HELIO_JOB_ACCEPTED:
    case HELIO_JOB_STARTING:
        return helio_fail(err, HELIO_UNAVAILABLE, "the attempt has not started yet");
    case HELIO_JOB_SUSPENDED:
        return helio_fail(err, HELIO_UNAVAILABLE, "the site has suspended the attempt");
    default:
        return helio_fail(err, HELIO_NOT_FOUND, "the attempt does not run here, or has ended");
    }
}

static helio_rc on_output(void *arg, const helio_msg_channel_output_t *message)
{
    const helio_agent_t *self = arg;
    return helio_uplink_channel_output(self->uplink, message);
}

static void on_end(void *arg, const helio_msg_channel_end_t *message)
{
    const helio_agent_t *self = arg;
    helio_uplink_channel_end(self->uplink, message);
}

/*  Never the arguments, which can hold secrets. */
static void on_note(void *arg, const helio_channels_note_t *note)
{
    const helio_agent_t *self = arg;
    char key[HELIO_KEY_SIZE], program[200], text[600];
    const helio_msg_channel_open_t *open = note->open;
    bool port = open->kind == HELIO_CHANNEL_KIND_PORT;
    helio_job_key_text(open->key, key);
    (void)helio_log_quote(helio_text_of(port ? "" : note->program), program, sizeof program);
    if (note->opened)
        helio_log(self->parts.log, HELIO_INFO, "channel_open",
                  "channel=%llu job=%s epoch=%u node=%u kind=%s program=%s port=%u user=%s",
                  (unsigned long long)open->channel, key, open->epoch, open->node, helio_channel_kind_name(open->kind),
                  program, open->port, note->user);
    else
        helio_log(
            self->parts.log, HELIO_INFO, "channel_end",
            "channel=%llu job=%s epoch=%u kind=%s program=%s port=%u user=%s rc=%d exit=%u ms=%lld in=%llu out=%llu "
            "text=%s",
            (unsigned long long)open->channel, key, open->epoch, helio_channel_kind_name(open->kind), program,
            open->port, note->user, (int)note->rc, note->exit_code, (long long)note->ran_ms,
            (unsigned long long)note->in, (unsigned long long)note->out,
            helio_log_quote(helio_text_of(note->text), text, sizeof text));
}

static void process_channels(void *arg)
{
    const helio_agent_t *self = arg;
    helio_channels_process(self->channels, helio_clock_boot_ms());
}

helio_rc agent_open_channels(helio_agent_t *self, helio_error_t *err)
{
    const helio_channels_settings_t *settings = &self->settings.channels;
    bool can = self->backend->class->enter != NULL;
    self->settings.site.channels = can ? helio_channels_settings_kinds(settings) : 0;
    helio_channels_options_t options = {.kinds = self->settings.site.channels,
                                        .most = settings->most,
                                        .limit_ms = settings->limit_ms,
                                        .idle_ms = settings->idle_ms,
                                        .arg = self,
                                        .enter = enter,
                                        .on_output = on_output,
                                        .on_end = on_end,
                                        .on_note = on_note};
    helio_rc rc = helio_channels_new(&options, &self->channels, err);
    if (rc)
        return rc;
    self->channels_timer = helio_timer_new(self->parts.loop, process_channels, self);
    self->channels_source =
        helio_source_new(self->parts.loop, helio_channels_fd(self->channels), HELIO_LOOP_IN, process_channels, self);
    return HELIO_OK;
}

void agent_close_channels(helio_agent_t *self)
{
    helio_source_destroy(&self->channels_source);
    helio_timer_destroy(&self->channels_timer);
    helio_channels_destroy(&self->channels);
}

/* ---- messages ------------------------------------------------------------------------------------------ */

void agent_on_channel_open(void *arg, const helio_msg_channel_open_t *message)
{
    const helio_agent_t *self = arg;
    helio_channels_open(self->channels, message);
}

void agent_on_channel_input(void *arg, const helio_msg_channel_input_t *message)
{
    const helio_agent_t *self = arg;
    helio_channels_input(self->channels, message);
}

void agent_on_channel_close(void *arg, const helio_msg_channel_close_t *message)
{
    const helio_agent_t *self = arg;
    helio_channels_close(self->channels, message->channel);
}

void agent_channels_of_over(helio_agent_t *self, const helio_aev_backend_t *event)
{
    bool over = event->word == HELIO_BACKEND_REPORT_ENDED || event->word == HELIO_BACKEND_REPORT_VANISHED ||
                event->word == HELIO_BACKEND_REPORT_ABSENT || event->word == HELIO_BACKEND_REPORT_FAILED_TO_START;
    if (over)
        helio_channels_attempt_over(self->channels, event->key, event->epoch);
}
