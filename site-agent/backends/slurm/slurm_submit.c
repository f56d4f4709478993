/*  slurm_submit.c -- submitting an attempt: the folder first, then sbatch; and what its result means.
 *
 *  sbatch can be killed, can time out, or can get no reply from a controller that accepts the job all the same. So only
 *  its number counts, and a refusal that Slurm itself spells out. After anything else the queue is checked; and
 *  whatever sbatch did, the folder admits one shim at most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "site-agent/backends/slurm/slurm_internal.h"

enum { AGAIN_MS = 2000, AGAIN_MOST_MS = 60000, AHEAD_MOST = 12, AHEAD_MS = 100 };

/*  "sbatch: error: Batch job submission failed: Invalid partition name specified" -> from "Invalid" on; of the last
 *  line with a message. */
static void keep_complaint(helio_slurm_attempt_t *attempt, helio_text_t complaint)
{
    while (complaint.size && (complaint.data[complaint.size - 1] == '\n' || complaint.data[complaint.size - 1] == ' '))
        complaint.size--;
    for (uint32_t i = complaint.size; i > 0; i--)
        if (complaint.data[i - 1] == '\n') {
            complaint = (helio_text_t){complaint.data + i, complaint.size - i};
            break;
        }
    static const char *const heads[] = {"sbatch: ", "error: ", "fatal: ", "Batch job submission failed: "};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        uint32_t size = (uint32_t)strlen(heads[i]);
        if (complaint.size > size && memcmp(complaint.data, heads[i], size) == 0)
            complaint = (helio_text_t){complaint.data + size, complaint.size - size};
    }
    (void)helio_text_copy(complaint, attempt->trouble, sizeof attempt->trouble);
}

static void wait_and_see(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    int64_t pause_ms = AGAIN_MS;
    for (uint32_t i = 1; i < attempt->tries && pause_ms < AGAIN_MOST_MS; i++)
        pause_ms *= 2;
    helio_slurm_advance(attempt, HELIO_SLURM_AT_UNSURE);
    attempt->since_list = self->poll.asked + 1;
    attempt->absent = false;
    attempt->again_ms = self->now_boot_ms + (pause_ms < AGAIN_MOST_MS ? pause_ms : AGAIN_MOST_MS);
}

/*  Closes the folder and reports why nothing of it ran. If a shim was faster, it did run. */
static void fail(helio_slurm_attempt_t *attempt, helio_cause_t cause)
{
    helio_error_t err = {0};
    helio_rc rc = helio_slurm_close(attempt, &err);
    if (rc == HELIO_OK)
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, cause, "%s",
                        attempt->trouble[0] ? attempt->trouble : "sbatch gave no message");
    else if (rc == HELIO_CONFLICT)
        helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
    else if (attempt->phase == HELIO_SLURM_AT_SUBMITTING)
        wait_and_see(attempt); /* the disk failed: try again later */
}

/*  Its end was reported meanwhile (it was stopped): what sbatch did only has to be undone. */
static void late(helio_slurm_attempt_t *attempt, const char *id)
{
    const helio_slurm_t *self = attempt->backend;
    if (id[0] && !attempt->id[0])
        (void)snprintf(attempt->id, sizeof attempt->id, "%s", id);
    attempt->since_list = self->poll.asked + 1;
    if (id[0])
        helio_slurm_cancel_pending(attempt, id);
}

/*  The job did not choose the partition itself: an administrator is changing slurm.conf. The offered capacity follows
 *  some seconds later; until then every refusal would bring the next order, and two refusals hold a job that has no
 *  fault. */
static bool lacks_the_pools_partition(const helio_slurm_attempt_t *attempt)
{
    const helio_job_spec_t *spec = &attempt->spec;
    for (uint32_t i = 0; i < spec->slurm.count; i++)
        if (helio_text_is(spec->slurm.items[i].name, "partition"))
            return false;
    return strcasestr(attempt->trouble, "invalid partition") != NULL;
}

static void on_reply(void *arg, const helio_command_result_t *result)
{
    helio_slurm_attempt_t *attempt = arg;
    helio_slurm_t *self = attempt->backend;
    char id[HELIO_SLURM_ID_SIZE] = "";
    attempt->sbatch_out = false;
    self->next_ms = 0;
    bool clear = result->spawned && !result->timed_out && !result->truncated;
    if (clear && result->exit_code == 0 && helio_slurm_read_submitted(result->out, id))
        id[0] = '\0';
    if (attempt->phase != HELIO_SLURM_AT_SUBMITTING) {
        late(attempt, id);
        return;
    }
    if (id[0]) {
        (void)snprintf(attempt->id, sizeof attempt->id, "%s", id);
        attempt->since_list = self->poll.asked + 1;
        helio_slurm_advance(attempt, HELIO_SLURM_AT_QUEUED);
        return;
    }
    keep_complaint(attempt, result->complaint);
    if (result->timed_out)
        (void)snprintf(attempt->trouble, sizeof attempt->trouble, "sbatch gave no answer in time");
    if (clear && result->exit_code && helio_slurm_trouble_of(result->complaint) == HELIO_SLURM_REFUSED &&
        !lacks_the_pools_partition(attempt))
        fail(attempt, HELIO_CAUSE_SUBMIT_REFUSED);
    else
        wait_and_see(attempt);
}

void helio_slurm_never_submitted(helio_slurm_attempt_t *attempt)
{
    if (!attempt->trouble[0])
        (void)snprintf(attempt->trouble, sizeof attempt->trouble, "the controller could not be queried for a minute");
    attempt->due_ms = attempt->backend->now_boot_ms + AGAIN_MS; /* if the folder cannot be closed now */
    fail(attempt, HELIO_CAUSE_SUBMIT_FAILED);
}

static helio_rc call_sbatch(helio_slurm_attempt_t *attempt, const char *const *argv,
                            const helio_unix_account_t *account, helio_error_t *err)
{
    helio_slurm_t *self = attempt->backend;
    helio_command_t command = {.argv = argv,
                               .timeout_ms = self->settings.timeout_ms,
                               .max_bytes = 4096,
                               .as = {account->name, account->uid, account->gid},
                               .done = on_reply,
                               .arg = attempt};
    helio_rc rc = helio_commands_run(self->commands, &command, false, err);
    if (rc)
        return rc;
    attempt->tries++;
    attempt->sbatch_out = true;
    if (!attempt->first_ms)
        attempt->first_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    helio_slurm_advance(attempt, HELIO_SLURM_AT_SUBMITTING);
    return HELIO_OK;
}

/*  An existing folder was closed, or left incomplete by a former agent: nothing of it ever ran. */
static helio_rc make_folder(helio_slurm_attempt_t *attempt, const helio_folder_how_t *how, uint32_t *ret_cause,
                            helio_error_t *err)
{
    helio_slurm_t *self = attempt->backend;
    helio_backend_task_t task = {.order = &attempt->order, .spec = &attempt->spec};
    helio_folders_remove(self->folders, attempt->held.name);
    helio_rc rc = helio_folders_prepare(self->folders, &task, attempt->held.name, how, ret_cause, err);
    attempt->closed = false;
    return rc;
}

/*  A folder costs several syncs of a shared disk: no more are made ahead than sbatch can be called for. */
static void hand_in(helio_slurm_attempt_t *attempt, bool again)
{
    helio_slurm_t *self = attempt->backend;
    if (helio_commands_busy(self->commands) >= AHEAD_MOST) {
        attempt->due_ms = self->now_boot_ms + AHEAD_MS;
        return;
    }
    helio_arena_t *arena = helio_arena_new();
    helio_unix_account_t *account = helio_new(1, sizeof *account);
    helio_slurm_launch_t launch;
    helio_error_t err = {0};
    uint32_t cause = HELIO_CAUSE_NO_USER_MAPPING;
    helio_rc rc = helio_folders_account(self->folders, &attempt->order, account, &err);
    if (!rc) {
        cause = HELIO_CAUSE_BAD_OPTION;
        rc = helio_slurm_launch(self, attempt, account, arena, &launch, &err);
    }
    if (!rc)
        helio_slurm_owned_by(attempt, account->uid);
    if (!rc && !again)
        rc = make_folder(attempt, &launch.how, &cause, &err);
    if (rc && again) { /* the account is gone, for instance: a job that was submitted before can still come */
        (void)snprintf(attempt->trouble, sizeof attempt->trouble, "%.190s", err.text);
        fail(attempt, HELIO_CAUSE_SUBMIT_FAILED);
    } else if (rc) {
        helio_slurm_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, cause, "%s", err.text);
    } else if (call_sbatch(attempt, launch.argv, account, &err)) {
        attempt->due_ms = self->now_boot_ms + AGAIN_MS; /* too many commands wait: back to the look-up */
    }
    free(account);
    helio_arena_destroy(&arena);
}

void helio_slurm_submit(helio_slurm_attempt_t *attempt)
{
    hand_in(attempt, false);
}

void helio_slurm_unsure_serve(helio_slurm_attempt_t *attempt)
{
    const helio_slurm_t *self = attempt->backend;
    int64_t give_up_ms = attempt->first_ms + HELIO_SLURM_GIVE_UP_MS;
#ifdef HELIO_MUTANT_submitted_blindly
    attempt->absent = true;
#endif
    attempt->due_ms = give_up_ms;
    if (self->now_boot_ms >= give_up_ms) {
        attempt->due_ms = self->now_boot_ms + AGAIN_MS; /* if the folder cannot be closed now */
        fail(attempt, HELIO_CAUSE_SUBMIT_FAILED);
    } else if (attempt->absent && self->now_boot_ms >= attempt->again_ms) {
        hand_in(attempt, true);
    } else if (attempt->absent) {
        attempt->due_ms = attempt->again_ms;
    }
}
