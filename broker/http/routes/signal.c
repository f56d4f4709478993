/*  signal.c -- POST /v1/jobs/{id}/signal: {"signal": "USR1", "to": "script"}. */
#include "broker/http/routes/command.h"
#include "broker/http/routes/job_command.h"
#include "broker/http/routes/routes.h"

static void *payload(helio_request_context_t *self, helio_job_key_t key, const void *what)
{
    helio_ev_signal_t *event = helio_arena_alloc(helio_await_arena(self), 1, sizeof *event);
    const helio_ev_command_t *command = helio_job_command_payload(self, key, NULL);
    *event = *(const helio_ev_signal_t *)what;
    event->command = *command;
    return event;
}

static const helio_job_verb_t verb = {HELIO_BROKER_EV_SIGNAL, 202, "sent a signal", payload, NULL};

#define WORD(name, word) "," word

void helio_jobs_signal(helio_request_context_t *self)
{
    enum { SIGNAL, TO };
    static const char signals[] = HELIO_JOB_SIGNAL_TABLE(WORD), targets[] = HELIO_SIGNAL_TO_TABLE(WORD);
    helio_member_t members[] = {
        [SIGNAL] = {.name = "signal", .kind = HELIO_MEMBER_TEXT, .bytes_max = 16, .required = true},
        [TO] = {.name = "to", .kind = HELIO_MEMBER_TEXT, .bytes_max = 16}};
    helio_ev_signal_t *event = helio_arena_alloc(self->arena, 1, sizeof *event);
    if (!helio_command_read(self, self->arena, members, sizeof members / sizeof members[0]))
        return;
    if (helio_job_signal_of(members[SIGNAL].text, &event->signal) != HELIO_OK)
        helio_command_refuse_word(self, "signal", members[SIGNAL].text, helio_text_of(signals + 1));
    else if (members[TO].given && helio_signal_to_of(members[TO].text, &event->to) != HELIO_OK)
        helio_command_refuse_word(self, "to", members[TO].text, helio_text_of(targets + 1));
    else
        helio_job_command(self, &verb, event);
}
