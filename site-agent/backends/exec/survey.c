/*  survey.c -- what the folders and the engine hold of this site, whatever the journal knows. It is complete once both
 *  were listed, and each attempt that the journal does not know was seen to run, or is over. */
#include "site-agent/backends/exec/internal.h"

enum { SAY_AFTER_MS = 10000 };

helio_exec_attempt_t *helio_exec_survey_one(helio_exec_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_exec_attempt_t *attempt = helio_exec_find(self, key, epoch);
    if (!attempt) {
        attempt = helio_exec_add(self, key, epoch);
        attempt->surveyed = true;
    }
    return attempt;
}

static void take_folder(void *arg, const char *name, helio_job_key_t key, uint32_t epoch)
{
    (void)name;
    (void)helio_exec_survey_one(arg, key, epoch);
}

/*  Those that the journal knows are held whatever becomes of them. */
static bool knows_all(helio_exec_t *self)
{
    for (const helio_exec_attempt_t *attempt = helio_exec_first(self); attempt; attempt = helio_exec_after(attempt))
        if (attempt->surveyed && !attempt->known && !attempt->said_started && attempt->phase < HELIO_EXEC_AT_OVER) {
            (void)helio_fail(&self->survey.hindrance, HELIO_UNAVAILABLE, "what became of %s is not known yet",
                             attempt->held.name);
            return false;
        }
    return true;
}

static bool has_inventory(helio_exec_t *self)
{
    if (self->poll.heard >= self->survey.listed)
        return true;
    (void)helio_fail(&self->survey.hindrance, HELIO_UNAVAILABLE, "the adapter gives no inventory: %.200s",
                     self->poll.doubt[0] ? self->poll.doubt : "it has not answered");
    return false;
}

void helio_exec_survey(helio_exec_t *self)
{
    self->survey = (helio_exec_survey_t){.open = true, .listed = self->poll.asked + 1};
    self->survey.folders = !helio_folders_each(self->folders, take_folder, self, &self->survey.hindrance);
    self->next_ms = 0;
}

/*  What the engine lists, and no folder here has: its folder is gone, or the agent's copy of it is. */
static void take_listed(helio_exec_t *self)
{
    for (uint32_t i = 0; i < self->poll.answer.attempt_count; i++)
        if (self->poll.answer.attempts[i].state != HELIO_EXEC_ENDED)
            (void)helio_exec_survey_one(self, self->poll.answer.attempts[i].key, self->poll.answer.attempts[i].epoch);
}

void helio_exec_survey_serve(helio_exec_t *self)
{
    helio_exec_survey_t *survey = &self->survey;
    if (!survey->open || self->now_boot_ms < survey->due_ms)
        return;
    if (!survey->since_ms)
        survey->since_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    survey->due_ms = self->now_boot_ms + HELIO_EXEC_AGAIN_MS / 4;
    if (!survey->folders)
        survey->folders = !helio_folders_each(self->folders, take_folder, self, &survey->hindrance);
    bool listed = has_inventory(self);
    if (listed)
        take_listed(self);
    bool complete = survey->folders && listed && knows_all(self);
    bool late = self->now_boot_ms - survey->since_ms >= SAY_AFTER_MS && survey->hindrance.code;
    if (self->sink.on_survey && (complete || (late && !survey->hindrance_said)))
        self->sink.on_survey(self->sink.arg, complete ? NULL : survey->hindrance.text);
    survey->hindrance_said = survey->hindrance_said || late;
    survey->open = !complete;
}
