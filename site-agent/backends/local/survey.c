/*  survey.c -- all that runs here of this state folder, whatever the journal knows: by the folders of attempts and by
 *  the processes of this machine. What cannot be looked at now is not absent: the survey is complete once it has
 *  looked everywhere, and at everything that it found. */
#include <unistd.h>

#include "site-agent/backends/local/internal.h"

enum { AGAIN_MS = 2000 };

static void survey_one(void *arg, const char *name, helio_job_key_t key, uint32_t epoch)
{
    helio_local_t *self = arg;
    helio_local_found_t found;
    (void)name;
    if (!helio_local_find(self, key, epoch))
        (void)helio_local_look_up(self, key, epoch, &found);
}

/*  Folders come first, so what has one is known already. An acknowledged folder is no folder here: its attempt has
 *  ended, and its shim with it. */
static void survey_process(void *arg, helio_job_key_t key, uint32_t epoch, helio_process_t process, bool shim)
{
    helio_local_t *self = arg;
    helio_local_attempt_t *attempt = helio_local_find(self, key, epoch);
    char name[HELIO_ATTEMPT_NAME_SIZE];
    int folder = -1;
    bool absent = attempt && attempt->state == HELIO_LOCAL_OVER && attempt->end.word == HELIO_BACKEND_REPORT_ABSENT;
    if (attempt && attempt->state != HELIO_LOCAL_STRAY && !absent) /* an older copy of its folder can be unclaimed */
        return;
    helio_attempt_name(key, epoch, name);
    if (!attempt && (helio_folders_open(self->folders, name, &folder, NULL) || folder >= 0)) {
        if (folder >= 0)
            (void)close(folder);
        return;
    }
    if (!attempt)
        attempt = helio_local_add(self, key, epoch);
    helio_local_take_stray(self, attempt, shim ? process : (helio_process_t){0});
    helio_local_stray_seen(attempt, process.start_ticks); /* it may be gone at the first look */
}

static bool look_everywhere(helio_local_t *self)
{
    if (helio_folders_each(self->folders, survey_one, self, &self->hindrance))
        return false;
#ifndef HELIO_MUTANT_strays_unseen
    if (!helio_local_sees_processes()) {
        (void)helio_fail(&self->hindrance, HELIO_UNAVAILABLE, "/proc does not show the processes of this machine");
        return false;
    }
    (void)helio_local_strays(self, NULL, survey_process, self);
#endif
    return true;
}

/*  One that the journal knows is held with its GPUs, and waits for its folder alone. */
static bool sees_all(helio_local_t *self)
{
#ifdef HELIO_MUTANT_unseen_is_complete
    return true;
#endif
    for (const helio_local_attempt_t *attempt = helio_local_first(self); attempt; attempt = helio_local_after(attempt))
        if (attempt->unseen && !attempt->known) {
            (void)helio_fail(
                &self->hindrance, HELIO_IO,
                "the folder '%s/attempts/%s' cannot be read: make it readable, or remove it if nothing of that "
                "attempt runs",
                self->options.state_dir, attempt->held.name);
            return false;
        }
    return true;
}

void helio_local_survey(helio_local_t *self)
{
    self->looked_everywhere = look_everywhere(self);
    self->survey_ms = 0;
    self->next_ms = 0;
}

void helio_local_survey_serve(helio_local_t *self, int64_t now_boot_ms)
{
    if (now_boot_ms < self->survey_ms)
        return;
    self->looked_everywhere = self->looked_everywhere || look_everywhere(self);
    bool complete = self->looked_everywhere && sees_all(self);
    self->survey_ms = complete ? INT64_MAX : now_boot_ms + AGAIN_MS;
    if (self->options.sink.on_survey && (complete || !self->hindrance_said))
        self->options.sink.on_survey(self->options.sink.arg, complete ? NULL : self->hindrance.text);
    self->hindrance_said = !complete;
}
