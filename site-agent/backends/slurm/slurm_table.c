/*  slurm_table.c -- the attempts by key, the edges of their states, and their events. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"

/* ---- by key -------------------------------------------------------------------------------------------- */

helio_slurm_attempt_t *helio_slurm_find(const helio_slurm_t *self, helio_job_key_t key, uint32_t epoch)
{
    return helio_held_find(&self->attempts, key, epoch);
}

helio_slurm_attempt_t *helio_slurm_add(helio_slurm_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_slurm_attempt_t *attempt = helio_held_add(&self->attempts, key, epoch, sizeof *attempt);
    attempt->backend = self;
    attempt->stop_mode = HELIO_SLURM_NO_STOP;
    attempt->grace_ms = self->rules.grace_ms;
    attempt->since_list = self->poll.asked + 1;
    self->next_ms = 0;
    return attempt;
}

void helio_slurm_remove(helio_slurm_attempt_t *attempt)
{
    helio_commands_drop(attempt->backend->commands, attempt);
    helio_held_remove(&attempt->backend->attempts, &attempt->held);
    helio_arena_destroy(&attempt->arena);
    free(attempt);
}

/* ---- states -------------------------------------------------------------------------------------------- */

static bool is_edge(helio_slurm_phase_t from, helio_slurm_phase_t to)
{
    static const bool edges[HELIO_SLURM_AT_COUNT][HELIO_SLURM_AT_COUNT] = {
#define EDGE(from, to, why) [HELIO_SLURM_AT_##from][HELIO_SLURM_AT_##to] = true,
#include "site-agent/backends/slurm/slurm_state.def"
    };
    return edges[from][to];
}

void helio_slurm_advance(helio_slurm_attempt_t *attempt, helio_slurm_phase_t phase)
{
    assert(is_edge(attempt->phase, phase));
    attempt->phase = phase;
    attempt->due_ms = 0;
    attempt->backend->next_ms = 0;
    if (phase >= HELIO_SLURM_AT_QUEUED) /* it will not be submitted any more */
        helio_arena_destroy(&attempt->arena);
}

/* ---- events ------------------------------------------------------------------------------------------------- */

static void say(const helio_slurm_attempt_t *attempt, helio_aev_backend_t event)
{
    helio_held_report(&attempt->backend->sink, &attempt->held, attempt->id, event);
}

void helio_slurm_say(helio_slurm_attempt_t *attempt, uint32_t word, uint32_t cause, const char *explanation)
{
    char text[sizeof attempt->explanation];
    (void)snprintf(text, sizeof text, "%s", explanation);
    helio_explanation_flatten(text);
    say(attempt, (helio_aev_backend_t){.word = word, .cause = cause, .explanation = helio_text_of(text)});
}

void helio_slurm_say_started(helio_slurm_attempt_t *attempt)
{
    if (attempt->said_started)
        return;
    attempt->said_started = true;
    attempt->said_started_ms = attempt->backend->now_boot_ms;
    say(attempt,
        (helio_aev_backend_t){.word = HELIO_BACKEND_REPORT_STARTED, .started_wall_ms = attempt->started_wall_ms});
}

void helio_slurm_end(helio_slurm_attempt_t *attempt, uint32_t word, uint32_t cause, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(attempt->explanation, sizeof attempt->explanation, format, args);
    va_end(args);
    helio_explanation_flatten(attempt->explanation);
    attempt->end.word = word;
    attempt->end.cause = cause;
    if (!attempt->end.started_wall_ms && word != HELIO_BACKEND_REPORT_FAILED_TO_START)
        attempt->end.started_wall_ms = attempt->started_wall_ms;
    helio_slurm_advance(attempt, HELIO_SLURM_AT_OVER);
}

/*  A job may be left in Slurm: pending beside a closed folder, or stuck after `done`. */
static bool may_be_held(const helio_slurm_attempt_t *attempt)
{
    return attempt->sbatch_out || attempt->seen.live || (attempt->first_ms && !attempt->seen.over) ||
           (attempt->id[0] && !attempt->seen.over);
}

static void note_run(const helio_slurm_attempt_t *attempt)
{
    const helio_aev_backend_t *end = &attempt->end;
    int64_t ended_ms =
        end->ended_wall_ms < attempt->backend->now_wall_ms ? end->ended_wall_ms : attempt->backend->now_wall_ms;
    int64_t ran_ms = ended_ms - helio_slurm_begun_wall_ms(attempt, end->started_wall_ms);
    if (attempt->noticed_ms && attempt->seen.over)
        helio_slurm_note_freed(attempt);
    if (!attempt->noticed_ms && end->word == HELIO_BACKEND_REPORT_ENDED && end->started_wall_ms && ran_ms >= 0)
        helio_slurm_note_run(attempt, ran_ms, !end->stopped);
}

void helio_slurm_say_end(helio_slurm_attempt_t *attempt)
{
    helio_slurm_t *self = attempt->backend;
    note_run(attempt);
    helio_slurm_charge(attempt);
    helio_explanation_flatten(attempt->explanation);
    bool ran = attempt->end.word == HELIO_BACKEND_REPORT_ENDED || attempt->end.word == HELIO_BACKEND_REPORT_VANISHED;
    if (ran && attempt->end.started_wall_ms) {
        attempt->started_wall_ms = attempt->end.started_wall_ms;
        helio_slurm_say_started(attempt);
    }
    /* Removed before the report: the reply can be another start of it. */
    helio_aev_backend_t end = attempt->end;
    helio_held_t held = attempt->held;
    char explanation[sizeof attempt->explanation], id[HELIO_SLURM_ID_SIZE];
    memcpy(explanation, attempt->explanation, sizeof explanation);
    memcpy(id, attempt->id, sizeof id);
    end.explanation = helio_text_of(explanation);
    self->poll.capacity_due = true;
    if (may_be_held(attempt)) {
        helio_slurm_advance(attempt, HELIO_SLURM_AT_GONE);
        attempt->gone_ms = self->now_boot_ms;
        attempt->since_list = self->poll.asked + 1;
    } else {
        helio_slurm_remove(attempt);
    }
    helio_held_report(&self->sink, &held, id, end);
}

void helio_slurm_leave(helio_slurm_attempt_t *attempt)
{
    helio_slurm_advance(attempt, HELIO_SLURM_AT_LEAVING);
    attempt->leaving = (helio_slurm_leaving_t){.since_ms = attempt->backend->now_boot_ms};
}

void helio_slurm_end_unstarted(helio_slurm_attempt_t *attempt)
{
    attempt->end =
        (helio_aev_backend_t){.exit_code = 128 + 15, .stopped = true, .ended_wall_ms = attempt->backend->now_wall_ms};
    helio_slurm_end(attempt, HELIO_BACKEND_REPORT_ENDED, HELIO_CAUSE_NONE, "%s", "");
}
