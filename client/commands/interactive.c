/*  interactive.c -- `run --interactive`, `salloc`, `srun`. */
#include "client/commands/interactive.h"

#include <stdio.h>
#include <string.h>

#include "client/commands/commands.h"
#include "client/commands/summary.h"
#include "client/jobs/drafts.h"
#include "client/jobs/session.h"
#include "client/jobs/watcher.h"
#include "client/transport/response.h"
#include "federation/base/clock.h"

enum {
    TURN_MS = 1000,
    SUMMARY_MS = 30000, /* how long the end of the job is waited for */
    STARTED = -1        /* no exit code yet */
};
#define LIMIT "8h" /* of a job without --time: as long as a channel lasts by default */

/* ---- who enters it ----------------------------------------------------------------------------------------- */

enum { ENTRY_WORDS = 4 };
/*  Tells the holder who works in the job; then the command, or the login shell. An account that nobody can log in to has no
 *  shell; as in other channels it is bash. */
static const char *const entry[ENTRY_WORDS] = {
    "sh", "-c",
    "echo $$ >" HELIO_HOLDER_MARK "; [ $# -eq 0 ] || exec \"$@\"; "
    "SHELL=$(getent passwd \"$(id -un)\" | cut -d: -f7); case ${SHELL##*/} in nologin|false) SHELL=;; esac; "
    "[ -x \"$SHELL\" ] || SHELL=/bin/bash; export SHELL; exec \"$SHELL\" -l",
    "helio"};

static const char *const *entry_of(helio_client_t *client, const helio_interactive_t *what)
{
    const char **words = helio_arena_alloc(client->arena, ENTRY_WORDS + what->command_count, sizeof *words);
    for (uint32_t i = 0; i < ENTRY_WORDS; i++)
        words[i] = entry[i];
    for (uint32_t i = 0; i < what->command_count; i++)
        words[ENTRY_WORDS + i] = what->command[i];
    return words;
}

/* ---- the job ----------------------------------------------------------------------------------------------- */

static bool is_running(const helio_followed_t *job)
{
    return strcmp(job->state, "running") == 0;
}

/*  STARTED, or the exit code with which the command ends. */
static int await_start(helio_client_t *client, helio_follow_t *follow, helio_terminal_t *terminal)
{
    const helio_followed_t *job = helio_follow_job(follow, 0);
    int interrupts = helio_client_interrupts(client->io);
    bool resized;
    while (!is_running(job)) {
        int code = helio_follow_turn(follow, TURN_MS), ended_by = helio_terminal_signals(terminal, &resized);
        if (code != HELIO_EXIT_OK)
            return code;
        if (ended_by)
            return 128 + ended_by;
        if (helio_client_interrupts(client->io) != interrupts)
            return HELIO_EXIT_INTERRUPTED;
        if (job->over)
            return helio_client_fail(client, job->exit_code ? job->exit_code : HELIO_EXIT_OWN,
                                     "the job ended before anybody entered it: `helio show %s` says why", job->id);
    }
    return STARTED;
}

/*  Its GPUs are free as soon as its user has left; what it cost is said when it is known. */
static void end_job(helio_client_t *client, helio_follow_t *follow, const char *id)
{
    HELIO_AUTO(helio_json_clear) json_t *reply = NULL;
    const helio_followed_t *job = helio_follow_job(follow, 0);
    int64_t until_ms = helio_clock_boot_ms() + SUMMARY_MS;
    int interrupts = helio_client_interrupts(client->io), code = HELIO_EXIT_OK;
    if (!job->over)
        code = helio_ask(client,
                         &(helio_request_t){.method = "DELETE",
                                            .path = helio_path(client, "/v1/jobs/", id, "?now=true"),
                                            .patient = true,
                                            .waits_for = client},
                         &reply);
    if (code != HELIO_EXIT_OK) {
        helio_client_say(client, "the job was not cancelled and goes on: `helio cancel %s` ends it", id);
        return;
    }
    while (!job->over && code == HELIO_EXIT_OK && helio_clock_boot_ms() < until_ms &&
           helio_client_interrupts(client->io) == interrupts)
        code = helio_follow_turn(follow, TURN_MS);
    if (job->over)
        helio_run_say_summary(client, job->reply);
}

static int work(helio_client_t *client, const helio_interactive_t *what, const char *id, helio_terminal_t *terminal)
{
    helio_watcher_t watcher = {.client = client, .deadline_ms = INT64_MAX};
    HELIO_AUTO(helio_follow_destroy)
    helio_follow_t *follow = helio_follow_new(client, true, helio_watcher_on_change, &watcher);
    const helio_session_ask_t ask = {.job = id,
                                     .command = entry_of(client, what),
                                     .command_count = ENTRY_WORDS + what->command_count,
                                     .terminal = what->terminal,
                                     .input = true};
    helio_follow_add(follow, id);
    int code = await_start(client, follow, terminal);
    if (code == STARTED)
        code = helio_session_run(client, terminal, &ask);
    end_job(client, follow, id);
    return code;
}

int helio_interactive_run(helio_client_t *client, const helio_interactive_t *what)
{
    helio_drafts_t drafts;
    helio_terminal_t terminal;
    int code = helio_draft_make(client, what->document, "job file", &drafts);
    if (code != HELIO_EXIT_OK)
        return code;
    helio_terminal_begin(&terminal, client->io->in_tty ? fileno(client->io->in) : -1);
    code = helio_drafts_send(client, &drafts);
    if (code == HELIO_EXIT_OK) {
        helio_client_say(client, "submitted %s; it is cancelled when you leave", drafts.items[0].id);
        code = work(client, what, drafts.items[0].id, &terminal);
    }
    helio_terminal_end(&terminal);
    return code;
}

/* ---- run --interactive ------------------------------------------------------------------------------------- */

static void put(json_t *job, const char *key, const char *value)
{
    if (value)
        (void)json_object_set_new(job, key, json_string(value));
}

int helio_run_interactive(helio_client_t *client)
{
    const helio_command_line_t *arguments = client->arguments;
    const char *limit = helio_client_value(client, HELIO_OPTION_TIME);
    const char *goal = helio_client_value(client, HELIO_OPTION_GOAL);
    const char *name = helio_client_value(client, HELIO_OPTION_NAME);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    HELIO_AUTO(helio_json_clear) json_t *job = json_object();
    put(job, "name", name ? name : "interactive");
    put(job, "run", HELIO_HOLDER_SCRIPT);
    put(job, "gpu", helio_client_value(client, HELIO_OPTION_GPU));
    put(job, "queue", helio_client_value(client, HELIO_OPTION_QUEUE));
    put(job, "time", limit ? limit : LIMIT);
    if (goal)
        (void)json_object_set_new(job, "placement", json_pack("{s:s}", "goal", goal));
    helio_output_json(job, false, &text);
    helio_interactive_t what = {.document = helio_buffer_view(&text),
                                .command = arguments->words,
                                .command_count = arguments->word_count,
                                .terminal = client->io->in_tty && client->io->out_tty};
    return helio_interactive_run(client, &what);
}

/* ---- salloc, srun ------------------------------------------------------------------------------------------ */

static int allocate(helio_client_t *client, bool needs_command, bool terminal_unasked)
{
    bool pty;
    helio_sbatch_words_t words;
    helio_sbatch_job_t job;
    helio_diagnostic_t diagnostic;
    helio_command_line_t line = helio_sbatch_without_pty(client, client->arguments, &pty);
    if (helio_sbatch_words(line.words, line.word_count, client->arena, &words, &diagnostic) != HELIO_OK) {
        helio_diagnostic_print(client, &diagnostic);
        return HELIO_EXIT_USAGE;
    }
    if (needs_command && words.taken == line.word_count)
        return helio_client_fail(client, HELIO_EXIT_USAGE,
                                 "srun: no command\nhelp: `helio srun --pty bash` opens a shell");
    int code = helio_sbatch_job_of(client, &words, HELIO_TEXT("#!/bin/sh\n" HELIO_HOLDER_SCRIPT "\n"), &job);
    if (code != HELIO_EXIT_OK)
        return code;
    bool on_terminal = client->io->in_tty && client->io->out_tty;
    helio_interactive_t what = {.document = job.yaml,
                                .command = line.words + words.taken,
                                .command_count = line.word_count - words.taken,
                                .terminal = on_terminal && (pty || terminal_unasked)};
    return helio_interactive_run(client, &what);
}

int helio_cmd_salloc(helio_client_t *client)
{
    return allocate(client, false, true);
}

int helio_cmd_srun(helio_client_t *client)
{
    return allocate(client, true, false);
}
