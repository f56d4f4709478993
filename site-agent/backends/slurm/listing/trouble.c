/*  trouble.c -- what an error message of a Slurm command means.
 *
 *  The texts are those of Slurm 20.11 to 25.05 (its table of errors, and the messages of sbatch and scancel
 *  themselves). The first entry that occurs counts. Entries that mean "no answer" come first: sbatch prints several
 *  messages in turn, and "state unknown" is the only conclusion that is never wrong.
 */
#include <ctype.h>
#include <string.h>

#include "site-agent/backends/slurm/listing/internal.h"

typedef struct trouble_row {
    const char *words; /* in lower case */
    helio_slurm_trouble_t trouble;
} trouble_row_t;

static const trouble_row_t troubles[] = {
    /* no answer, not in time, or authentication failed */
    {"unable to contact slurm controller", HELIO_SLURM_UNREACHABLE},
    {"unable to contact slurmctld", HELIO_SLURM_UNREACHABLE},
    {"socket timed out", HELIO_SLURM_UNREACHABLE},
    {"timed out", HELIO_SLURM_UNREACHABLE},
    {"zero bytes were transmitted", HELIO_SLURM_UNREACHABLE},
    {"standby mode", HELIO_SLURM_UNREACHABLE},
    {"message receive failure", HELIO_SLURM_UNREACHABLE},
    {"message send failure", HELIO_SLURM_UNREACHABLE},
    {"communication connection failure", HELIO_SLURM_UNREACHABLE},
    {"communication shutdown failure", HELIO_SLURM_UNREACHABLE},
    {"unexpected message received", HELIO_SLURM_UNREACHABLE},
    {"failed to send entire message", HELIO_SLURM_UNREACHABLE},
    {"received zero length message", HELIO_SLURM_UNREACHABLE},
    {"connection refused", HELIO_SLURM_UNREACHABLE},
    {"connection reset", HELIO_SLURM_UNREACHABLE},
    {"transport endpoint is not connected", HELIO_SLURM_UNREACHABLE},
    {"no route to host", HELIO_SLURM_UNREACHABLE},
    {"network is unreachable", HELIO_SLURM_UNREACHABLE},
    {"broken pipe", HELIO_SLURM_UNREACHABLE},
    {"munge", HELIO_SLURM_UNREACHABLE},
    {"authentication", HELIO_SLURM_UNREACHABLE},
    {"cannot unpack credential", HELIO_SLURM_UNREACHABLE},
    {"could not establish a configuration source", HELIO_SLURM_UNREACHABLE},
    {"unable to process configuration file", HELIO_SLURM_UNREACHABLE},
    {"resolve", HELIO_SLURM_UNREACHABLE}, /* host names, in several wordings */
    {"unable to connect to database", HELIO_SLURM_UNREACHABLE},
    {"slurmdbd", HELIO_SLURM_UNREACHABLE},
    {"slurm accounting storage is disabled", HELIO_SLURM_REFUSED},

    /* it answered: no such job exists (any more) */
    {"invalid job id specified", HELIO_SLURM_UNKNOWN_JOB},
    {"unknown job", HELIO_SLURM_UNKNOWN_JOB},
    {"job not found", HELIO_SLURM_UNKNOWN_JOB},
    {"already completing or completed", HELIO_SLURM_ALREADY_OVER},
    {"job has already finished", HELIO_SLURM_ALREADY_OVER},
    {"job is not pending nor running", HELIO_SLURM_ALREADY_OVER},

    /* refused for now */
    {"slurm job queue full", HELIO_SLURM_BUSY},
    {"temporarily unable to accept job", HELIO_SLURM_BUSY},
    {"temporarily disabled", HELIO_SLURM_BUSY},
    {"resource temporarily unavailable", HELIO_SLURM_BUSY},
    {"rate limit exceeded", HELIO_SLURM_BUSY},
    {"try again", HELIO_SLURM_BUSY},
    {"maxsubmitjob", HELIO_SLURM_BUSY}, /* AssocMaxSubmitJobLimit, QOSMaxSubmitJobPerUserLimit: until other jobs end */
    {"submissions disabled", HELIO_SLURM_BUSY},
    {"required partition not available", HELIO_SLURM_BUSY},
    {"partition in down state", HELIO_SLURM_BUSY},
    {"required node not available", HELIO_SLURM_BUSY},
    {"requested nodes are busy", HELIO_SLURM_BUSY},
    {"requested partition configuration not available now", HELIO_SLURM_BUSY},
    {"licenses currently unavailable", HELIO_SLURM_BUSY},
    {"requested reservation not usable now", HELIO_SLURM_BUSY},
    {"i/o error writing script/environment", HELIO_SLURM_BUSY}, /* the controller's disk is full */
    {"no space left on device", HELIO_SLURM_BUSY},
    {"cannot allocate memory", HELIO_SLURM_BUSY},
    {"too many open files", HELIO_SLURM_BUSY},
    {"slurm internal error", HELIO_SLURM_BUSY},

    /* refused for good */
    {"requested node configuration is not available", HELIO_SLURM_REFUSED},
    {"requested topology configuration is not available", HELIO_SLURM_REFUSED},
    {"requested nodes not in this partition", HELIO_SLURM_REFUSED},
    {"more processors requested than permitted", HELIO_SLURM_REFUSED},
    {"requested more tasks than available", HELIO_SLURM_REFUSED},
    {"job violates accounting", HELIO_SLURM_REFUSED},
    {"requested time limit is invalid", HELIO_SLURM_REFUSED},
    {"time limit specification required", HELIO_SLURM_REFUSED},
    {"memory required by task is not available", HELIO_SLURM_REFUSED},
    {"memory specification can not be satisfied", HELIO_SLURM_REFUSED},
    {"no partition specified or system default", HELIO_SLURM_REFUSED},
    {"group not permitted to use this partition", HELIO_SLURM_REFUSED},
    {"permission denied", HELIO_SLURM_REFUSED},
    {"access denied", HELIO_SLURM_REFUSED},
    {"not permitted", HELIO_SLURM_REFUSED},
    {"presently disabled", HELIO_SLURM_REFUSED},
    {"not supported", HELIO_SLURM_REFUSED},
    {"not allowed", HELIO_SLURM_REFUSED},
    {"usage threshold", HELIO_SLURM_REFUSED},
    {"job size specification", HELIO_SLURM_REFUSED},
    {"node count specification invalid", HELIO_SLURM_REFUSED},
    {"task count specification invalid", HELIO_SLURM_REFUSED},
    {"cpu count specification invalid", HELIO_SLURM_REFUSED},
    {"task distribution specification invalid", HELIO_SLURM_REFUSED},
    {"duplicate generic resource", HELIO_SLURM_REFUSED},
    {"job dependency problem", HELIO_SLURM_REFUSED},
    {"user not found", HELIO_SLURM_REFUSED},
    {"missing unix", HELIO_SLURM_REFUSED},
    {"batch script", HELIO_SLURM_REFUSED},
    {"burst buffer", HELIO_SLURM_REFUSED},
    {"multiple partition job request", HELIO_SLURM_REFUSED},
    {"unrecognized option", HELIO_SLURM_REFUSED},
    {"unrecognised option", HELIO_SLURM_REFUSED},
    {"option requires an argument", HELIO_SLURM_REFUSED},
    {"incompatible versions of client and server", HELIO_SLURM_REFUSED},
    {"pathname of a file", HELIO_SLURM_REFUSED},
    {"no such file or directory", HELIO_SLURM_REFUSED},
    {"unspecified error",
     HELIO_SLURM_UNREACHABLE},        /* perhaps refused by the site's own submit plugin: the message does not tell */
    {"invalid", HELIO_SLURM_REFUSED}, /* partition name, account, qos, gres, feature, --time, … */
};

static bool occurs(helio_text_t complaint, const char *words)
{
    size_t size = strlen(words);
    for (size_t i = 0; i + size <= complaint.size; i++) {
        size_t k = 0;
        while (k < size && tolower((unsigned char)complaint.data[i + k]) == words[k])
            k++;
        if (k == size)
            return true;
    }
    return false;
}

helio_slurm_trouble_t helio_slurm_trouble_of(helio_text_t complaint)
{
    for (size_t i = 0; i < sizeof troubles / sizeof *troubles; i++)
        if (occurs(complaint, troubles[i].words))
            return troubles[i].trouble;
    return HELIO_SLURM_UNREACHABLE;
}
