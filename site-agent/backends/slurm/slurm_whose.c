/*  slurm_whose.c -- whose a job is. Anybody on the cluster may call a job as an attempt is called; only the
 * user that the attempt runs as can have handed in the attempt's own.
 *
 *  That user is the owner of its folder, which nobody else can make. Before there is one, or where it cannot
 * be seen, it is a user that the site's `users` name.
 */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/backends/slurm/slurm_inner.h"

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

/*  Asks for the user by the number: `users` may have thousands of lines, foreign jobs of our names are few.
 */
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
    if (!attempt->uid_known && helio_folders_open(self->folders, attempt->name, &folder, NULL) == HELIO_OK &&
        folder >= 0) {
        helio_slurm_note_owner(attempt, folder);
        (void)close(folder);
    }
    return attempt->uid_known ? attempt->uid == uid : is_mapped(self, uid);
}
