/*  submit.c -- the folder, `submit`, and what its answer means. */
#include <stdio.h>
#include <stdlib.h>

#include "site-agent/backends/exec/internal.h"

enum { AGAIN_FIRST_MS = 1000, AGAIN_MOST_MS = 15000, AHEAD_MOST = 16, AHEAD_MS = 50 };

static void wait_and_see(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    int64_t pause_ms = AGAIN_FIRST_MS;
    for (uint32_t i = 1; i < attempt->tries && pause_ms < AGAIN_MOST_MS; i++)
        pause_ms *= 2;
    helio_exec_advance(attempt, HELIO_EXEC_AT_UNSURE);
    attempt->since_list = self->poll.asked + 1;
    attempt->absent = false;
    attempt->again_ms = self->now_boot_ms + (pause_ms < AGAIN_MOST_MS ? pause_ms : AGAIN_MOST_MS);
}

/*  If a shim was faster, it did run. */
void helio_exec_give_up(helio_exec_attempt_t *attempt, helio_cause_t cause)
{
    attempt->giving_up = cause;
    helio_rc rc = helio_exec_close(attempt);
    if (rc == HELIO_OK)
        helio_exec_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, cause, "%s",
                       attempt->trouble[0] ? attempt->trouble : "the adapter gave no reason");
    else if (rc == HELIO_CONFLICT && attempt->phase < HELIO_EXEC_AT_HELD)
        helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
    else if (attempt->phase == HELIO_EXEC_AT_SUBMITTING)
        wait_and_see(attempt); /* the disk failed, or the adapter is still asked: again later */
}

/*  Its end was reported meanwhile (it was stopped): what the engine took only has to be undone. */
static void late(helio_exec_attempt_t *attempt)
{
    attempt->since_list = attempt->backend->poll.asked + 1;
    attempt->cancel_ms = 0;
    if (attempt->id[0])
        helio_exec_cancel(attempt, true);
}

static void on_reply(void *arg, const helio_command_result_t *result)
{
    helio_exec_attempt_t *attempt = arg;
    helio_exec_answer_t answer = {0};
    helio_error_t err = {0};
    helio_arena_t *arena = helio_arena_new();
    attempt->submit_out = false;
    attempt->backend->next_ms = 0;
    helio_rc rc = helio_exec_answer(result, arena, &answer, &err);
    const helio_exec_end_t *end = &answer.end;
    if (!rc && end->submitted.size)
        (void)helio_text_copy(end->submitted, attempt->id, sizeof attempt->id);
    helio_text_t why = rc                  ? helio_text_of(err.text)
                       : end->refused.size ? end->refused
                       : end->later.size   ? end->later
                                           : HELIO_TEXT("the adapter's answer to submit says nothing");
    if (attempt->phase != HELIO_EXEC_AT_SUBMITTING) {
        late(attempt);
    } else if (!rc && end->submitted.size) {
        attempt->since_list = attempt->backend->poll.asked + 1;
        helio_exec_advance(attempt, HELIO_EXEC_AT_HELD);
        helio_exec_poll_t *poll = &attempt->backend->poll; /* the engine answers */
        int64_t soon_ms = attempt->backend->now_boot_ms + (int64_t)attempt->backend->settings.poll_ms;
        poll->due_ms = poll->due_ms < soon_ms ? poll->due_ms : soon_ms;
    } else {
        (void)helio_text_copy(why, attempt->trouble, sizeof attempt->trouble);
        if (!rc && end->refused.size)
            helio_exec_give_up(attempt, HELIO_CAUSE_SUBMIT_REFUSED);
        else
            wait_and_see(attempt);
    }
    helio_arena_destroy(&arena);
}

static helio_rc make_folder(helio_exec_attempt_t *attempt, uint32_t *ret_cause, helio_error_t *err)
{
    helio_exec_t *self = attempt->backend;
    helio_backend_task_t task = {.order = &attempt->order, .spec = &attempt->spec};
    bool leased = attempt->order.on_site_loss != HELIO_SITE_LOSS_STRICT;
    helio_folder_how_t how = {.launcher = HELIO_LAUNCHER_BATCH,
                              .lease = leased ? self->lease_path : NULL,
                              .batch_script = helio_job_is_batch_script(&attempt->spec),
                              .clock_tolerance_ms = self->settings.clock_tolerance_ms};
    /* An existing folder was closed, or left incomplete by a former agent: nothing of it ever ran. */
    helio_folders_remove(self->folders, attempt->held.name);
    helio_rc rc = helio_folders_prepare(self->folders, &task, attempt->held.name, &how, ret_cause, err);
    if (!rc)
        attempt->closed = false;
    return rc;
}

static void ask(helio_exec_attempt_t *attempt, const helio_unix_account_t *account)
{
    helio_exec_t *self = attempt->backend;
    if (!helio_exec_ask_submit(attempt, account, on_reply)) {
        attempt->due_ms = self->now_boot_ms + HELIO_EXEC_AGAIN_MS; /* too many requests wait: back to the look-up */
        return;
    }
    attempt->tries++;
    attempt->submit_out = true;
    if (!attempt->first_ms)
        attempt->first_ms = self->now_boot_ms ? self->now_boot_ms : 1;
    helio_exec_advance(attempt, HELIO_EXEC_AT_SUBMITTING);
}

/*  A folder costs several syncs of a shared disk: no more are made ahead than are asked for at once. */
static void hand_in(helio_exec_attempt_t *attempt, bool again)
{
    helio_exec_t *self = attempt->backend;
    if (helio_commands_busy(self->commands) >= AHEAD_MOST) {
        attempt->due_ms = self->now_boot_ms + AHEAD_MS;
        return;
    }
    helio_unix_account_t *account = helio_new(1, sizeof *account);
    helio_error_t err = {0};
    uint32_t cause = HELIO_CAUSE_NO_USER_MAPPING;
    helio_rc rc = helio_folders_account(self->folders, &attempt->order, account, &err);
    if (!rc && !again)
        rc = make_folder(attempt, &cause, &err);
    if (rc && again) { /* the account is gone, for instance: a job that was submitted before can still come */
        (void)snprintf(attempt->trouble, sizeof attempt->trouble, "%.190s", err.text);
        helio_exec_give_up(attempt, HELIO_CAUSE_SUBMIT_FAILED);
    } else if (rc) {
        helio_exec_end(attempt, HELIO_BACKEND_REPORT_FAILED_TO_START, cause, "%s", err.text);
    } else {
        ask(attempt, account);
    }
    free(account);
}

void helio_exec_submit(helio_exec_attempt_t *attempt)
{
    hand_in(attempt, false);
}

void helio_exec_unsure_serve(helio_exec_attempt_t *attempt)
{
    const helio_exec_t *self = attempt->backend;
    int64_t give_up_ms = attempt->first_ms + HELIO_EXEC_GIVE_UP_MS;
#ifdef HELIO_MUTANT_adapter_submits_blindly
    attempt->absent = true;
#endif
    attempt->due_ms = give_up_ms;
    if (attempt->giving_up || self->now_boot_ms >= give_up_ms) {
        attempt->due_ms = self->now_boot_ms + HELIO_EXEC_AGAIN_MS; /* if the folder cannot be closed now */
        helio_exec_give_up(attempt, attempt->giving_up ? (helio_cause_t)attempt->giving_up : HELIO_CAUSE_SUBMIT_FAILED);
    } else if (attempt->absent && self->now_boot_ms >= attempt->again_ms) {
        hand_in(attempt, true);
    } else if (attempt->absent) {
        attempt->due_ms = attempt->again_ms;
    }
}
