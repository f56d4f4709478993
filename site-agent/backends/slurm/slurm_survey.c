/*  slurm_survey.c -- what the folders and Slurm hold of this site, whatever the journal knows.
 *
 *  A folder is the site's own. A job in Slurm's queue is the site's own if it has an attempt's name, belongs to a user
 *  of the site, and runs the batch script of this site's shared folder: other sites of the cluster have theirs. The
 *  survey is complete once both were listed, and each attempt that the journal does not know was seen to run, or is
 *  over.
 */
#include <stdio.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum { AGAIN_MS = 2000, SAY_AFTER_MS = 10000 /* a controller needs a moment */, MARK_SIZE = 2200 };

/*  Without the hash of its content, which differs between releases. */
static uint32_t mark_of(const helio_slurm_t *self, char ret_mark[MARK_SIZE])
{
    return (uint32_t)snprintf(ret_mark, MARK_SIZE, "%s/bin/helio-batch", self->shared);
}

static helio_slurm_attempt_t *survey_one(helio_slurm_t *self, helio_job_key_t key, uint32_t epoch)
{
    helio_slurm_attempt_t *attempt = helio_slurm_find(self, key, epoch);
    if (!attempt) {
        attempt = helio_slurm_add(self, key, epoch);
        attempt->surveyed = true;
    }
    return attempt;
}

static void take_folder(void *arg, const char *name, helio_job_key_t key, uint32_t epoch)
{
    (void)name;
    (void)survey_one(arg, key, epoch);
}

static void take_mark(helio_slurm_t *self, const helio_slurm_mark_t *job, const char *mark)
{
    helio_job_key_t key;
    uint32_t epoch;
    if (!helio_text_is(job->script, mark) || helio_attempt_name_parse(job->name, &key, &epoch))
        return;
    bool is_new = !helio_slurm_find(self, key, epoch);
    helio_slurm_attempt_t *attempt = survey_one(self, key, epoch);
    if (helio_slurm_is_ours(attempt, job->uid))
        attempt->marked = true;
    else if (is_new)
        helio_slurm_remove(attempt);
}

static void on_marks(void *arg, const helio_command_result_t *result)
{
    helio_slurm_t *self = arg;
    helio_slurm_survey_t *survey = &self->survey;
    helio_slurm_marks_t marks = {0};
    helio_arena_t *arena = helio_arena_new();
    char mark[MARK_SIZE];
    uint32_t bytes = mark_of(self, mark);
    survey->out = false;
    self->next_ms = 0;
    if (!helio_slurm_is_whole(result))
        (void)helio_fail(&survey->hindrance, HELIO_UNAVAILABLE, "squeue does not list the jobs: %.*s",
                         HELIO_TEXT_ARGS(result->complaint));
    else
        survey->marks = helio_slurm_read_marks(result->out, bytes, arena, &marks, &survey->hindrance) == HELIO_OK;
#ifdef HELIO_MUTANT_queue_unseen
    marks.count = 0;
#endif
    for (uint32_t i = 0; survey->marks && i < marks.count; i++)
        take_mark(self, &marks.items[i], mark);
    survey->due_ms = survey->marks ? 0 : self->now_boot_ms + AGAIN_MS;
    helio_arena_destroy(&arena);
}

static void ask_marks(helio_slurm_t *self)
{
    char mark[MARK_SIZE], format[160];
    helio_slurm_marks_format(mark_of(self, mark), format, sizeof format);
    const char *argv[] = {"squeue", "--noheader", "--all", "--states=all", "--array", format, NULL};
    self->survey.out = helio_slurm_ask(self, argv, HELIO_SLURM_LIST_BYTES, true, on_marks, self);
    if (!self->survey.out)
        self->survey.due_ms = self->now_boot_ms + AGAIN_MS;
}

/*  Those that the journal knows are held whatever becomes of them. */
static bool knows_all(helio_slurm_t *self)
{
    for (const helio_slurm_attempt_t *attempt = helio_slurm_first(self); attempt; attempt = helio_slurm_after(attempt))
        if (attempt->surveyed && !attempt->known && !attempt->said_started && attempt->phase < HELIO_SLURM_AT_OVER) {
            (void)helio_fail(&self->survey.hindrance, HELIO_UNAVAILABLE, "what became of %s is not known yet",
                             attempt->held.name);
            return false;
        }
    return true;
}

void helio_slurm_survey(helio_slurm_t *self)
{
    self->survey = (helio_slurm_survey_t){.open = true};
    self->survey.folders = !helio_folders_each(self->folders, take_folder, self, &self->survey.hindrance);
    self->next_ms = 0;
}

void helio_slurm_survey_serve(helio_slurm_t *self)
{
    helio_slurm_survey_t *survey = &self->survey;
    if (!survey->open || survey->out || self->now_boot_ms < survey->due_ms)
        return;
    if (!survey->since_ms)
        survey->since_ms = self->now_boot_ms;
    survey->due_ms = self->now_boot_ms + AGAIN_MS;
    if (!survey->folders)
        survey->folders = !helio_folders_each(self->folders, take_folder, self, &survey->hindrance);
    if (!survey->marks)
        ask_marks(self);
    bool complete = survey->folders && survey->marks && knows_all(self);
    bool late = self->now_boot_ms - survey->since_ms >= SAY_AFTER_MS && survey->hindrance.code;
    if (self->sink.on_survey && (complete || (late && !survey->hindrance_said)))
        self->sink.on_survey(self->sink.arg, complete ? NULL : survey->hindrance.text);
    survey->hindrance_said = survey->hindrance_said || late;
    survey->open = !complete;
}
