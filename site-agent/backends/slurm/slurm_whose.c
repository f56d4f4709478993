/*  slurm_whose.c -- which user a job belongs to. Any user of the cluster can give a job an attempt's name; only the
 *  user as whom the attempt runs can have submitted the attempt's own.
 *
 *  That user is the owner of its folder, which no other user can make. Before the folder exists, or where it cannot be
 *  read, the user must be one that the site's `users` name.
 */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum { ENTRY_SIZE = 1 << 16 };

void helio_slurm_owned_by(helio_slurm_attempt_t *attempt, uint32_t uid)
{
    attempt->uid = uid;
    attempt->uid_known = true;
}

void helio_slurm_note_owner(helio_slurm_attempt_t *attempt, int folder)
{
    struct stat status;
    if (!attempt->uid_known && fstat(folder, &status) == 0)
        helio_slurm_owned_by(attempt, status.st_uid);
}

static bool names_user(const helio_job_rules_t *rules, const char *name)
{
    for (uint32_t i = 0; i < rules->users.count; i++)
        if (helio_text_is(rules->users.items[i].unix_user, name))
            return true;
    return false;
}

/*  Looks the user up by number: `users` can have thousands of lines, while foreign jobs of attempts' names are few. */
static bool is_mapped(const helio_slurm_t *self, uint32_t uid)
{
    struct passwd entry, *found = NULL;
    char *text = helio_new(ENTRY_SIZE, 1);
    bool known = getpwuid_r(uid, &entry, text, ENTRY_SIZE, &found) == 0 && found;
    bool mapped = known && names_user(&self->rules, found->pw_name);
    free(text);
    return mapped;
}

bool helio_slurm_is_ours(helio_slurm_attempt_t *attempt, uint32_t uid)
{
    helio_slurm_t *self = attempt->backend;
    int folder = -1;
    if (!attempt->uid_known && helio_folders_open(self->folders, attempt->held.name, &folder, NULL) == HELIO_OK &&
        folder >= 0) {
        helio_slurm_note_owner(attempt, folder);
        (void)close(folder);
    }
    return attempt->uid_known ? attempt->uid == uid : is_mapped(self, uid);
}
