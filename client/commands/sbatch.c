/*  sbatch.c -- `sbatch`, `convert`: read Slurm batch scripts and print as sbatch does. client/sbatch interprets
 *  them. */
#include "client/sbatch/sbatch.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "client/commands/commands.h"
#include "client/commands/interactive.h"
#include "client/commands/slurm_jobs.h"
#include "client/jobs/drafts.h"
#include "client/transport/response.h"
#include "federation/model/job.h"

/*  ---- the caller's time zone ---- */

static bool to_local(int64_t wall_ms, struct tm *ret_local)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    return localtime_r(&seconds, ret_local) != NULL;
}

static bool from_local(const struct tm *local, int64_t *ret_wall_ms)
{
    struct tm copy = *local;
    time_t seconds = mktime(&copy);
    if (seconds == (time_t)-1)
        return false;
    *ret_wall_ms = (int64_t)seconds * 1000;
    return true;
}

/*  ---- words ---- */

helio_command_line_t helio_sbatch_without_pty(helio_client_t *client, const helio_command_line_t *arguments,
                                              bool *ret_pty)
{
    helio_command_line_t line = *arguments;
    const char **words = helio_arena_alloc(client->arena, line.word_count + 1, sizeof *words);
    uint32_t count = 0;
    *ret_pty = false;
    for (uint32_t i = 0; i < line.word_count; i++) {
        bool is_pty = !*ret_pty && strcmp(client->command->name, "srun") == 0 && strcmp(line.words[i], "--pty") == 0;
        if (is_pty)
            *ret_pty = true;
        else
            words[count++] = line.words[i];
    }
    line.words = words;
    line.word_count = count;
    return line;
}

static int read_words(helio_client_t *client, const helio_command_line_t *arguments, helio_sbatch_words_t *ret_words)
{
    helio_diagnostic_t diagnostic;
    bool pty;
    helio_command_line_t line = helio_sbatch_without_pty(client, arguments, &pty);
    if (helio_sbatch_words(line.words, line.word_count, client->arena, ret_words, &diagnostic) == HELIO_OK)
        return HELIO_EXIT_OK;
    helio_diagnostic_print(client, &diagnostic);
    return HELIO_EXIT_USAGE;
}

int helio_sbatch_take_options(helio_client_t *client, helio_command_line_t *arguments)
{
    helio_sbatch_words_t words;
    helio_error_t err;
    int code = read_words(client, arguments, &words);
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT && code == HELIO_EXIT_OK; id++) {
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        bool shared = option->policy == HELIO_SBATCH_CLIENT || id == HELIO_SBATCH_HELP || id == HELIO_SBATCH_QUIET;
        const char *name = id == HELIO_SBATCH_USAGE ? "help" : shared ? option->name : NULL;
        if (words.values[id] && name && helio_command_line_take(arguments, name, words.values[id], &err) != HELIO_OK)
            code = helio_client_fail(client, HELIO_EXIT_USAGE, "%s", err.text);
    }
    return code;
}

/*  Looks for the script as sbatch does: in the current folder, then along PATH. */
static const char *find_script(helio_client_t *client, const char *word)
{
    const char *path = helio_client_env(client->io, HELIO_VARIABLE_PATH);
    if (strchr(word, '/') || access(word, R_OK) == 0)
        return word;
    for (const char *at = path ? path : ""; *at; at += *at == ':') {
        size_t size = strcspn(at, ":");
        const char *candidate = helio_arena_printf(client->arena, "%.*s/%s", (int)size, at, word).data;
        at += size;
        if (size && access(candidate, R_OK) == 0)
            return candidate;
    }
    return word;
}

/*  The folder of submission, by the shell's name for it if that is correct, so that symbolic links are kept. */
static const char *directory(helio_client_t *client)
{
    char buffer[PATH_MAX];
    const char *told = helio_client_env(client->io, HELIO_VARIABLE_PWD);
    char *real = told && told[0] == '/' ? realpath(told, buffer) : NULL;
    char here[PATH_MAX];
    if (!getcwd(here, sizeof here))
        return "/";
    return helio_arena_string(client->arena, helio_text_of(real && strcmp(real, here) == 0 ? told : here));
}

typedef struct source {
    helio_sbatch_words_t words;
    helio_sbatch_input_t input;
} source_t;

static int read_source(helio_client_t *client, source_t *self)
{
    const helio_command_line_t *arguments = client->arguments;
    int code = read_words(client, arguments, &self->words);
    if (code != HELIO_EXIT_OK)
        return code;
    const char *const *rest = arguments->words + self->words.taken;
    uint32_t rest_count = arguments->word_count - self->words.taken;
    bool wrap = self->words.values[HELIO_SBATCH_WRAP] != NULL;
    if (wrap && rest_count)
        return helio_client_fail(client, HELIO_EXIT_USAGE, "--wrap takes no script, found '%.64s'", rest[0]);
    self->input = (helio_sbatch_input_t){.name = wrap ? "command line" : "stdin",
                                         .words = &self->words,
                                         .environment = client->io->environment,
                                         .directory = directory(client),
                                         .wall_ms = client->output.wall_ms,
                                         .to_local = to_local,
                                         .from_local = from_local};
    bool file = rest_count && strcmp(rest[0], "-") != 0;
    if (rest_count) {
        self->input.arguments = rest + 1;
        self->input.argument_count = rest_count - 1;
    }
    if (file)
        self->input.name = self->input.path = find_script(client, rest[0]);
    return wrap ? HELIO_EXIT_OK : helio_source_read(client, file ? self->input.path : "-", &self->input.script);
}

static int convert(helio_client_t *client, const source_t *source, helio_sbatch_job_t *ret_job)
{
    helio_diagnostic_t diagnostic;
    if (helio_sbatch_convert(&source->input, client->arena, ret_job, &diagnostic) == HELIO_OK)
        return HELIO_EXIT_OK;
    helio_diagnostic_print(client, &diagnostic);
    return HELIO_EXIT_USAGE;
}

static void print_notes(const helio_client_t *client, const helio_sbatch_job_t *job)
{
    for (uint32_t i = 0; !job->quiet && i < job->note_count; i++)
        helio_client_say(client, "note: %s", job->notes[i]);
}

int helio_sbatch_job_of(helio_client_t *client, const helio_sbatch_words_t *words, helio_text_t script,
                        helio_sbatch_job_t *ret_job)
{
    source_t source = {.input = {.script = script,
                                 .name = "command line",
                                 .words = words,
                                 .environment = client->io->environment,
                                 .directory = directory(client),
                                 .wall_ms = client->output.wall_ms,
                                 .to_local = to_local,
                                 .from_local = from_local}};
    int code = convert(client, &source, ret_job);
    if (code == HELIO_EXIT_OK)
        print_notes(client, ret_job);
    return code;
}

/*  ---- the commands ---- */

int helio_cmd_convert(helio_client_t *client)
{
    source_t source;
    helio_sbatch_job_t job;
    int code = read_source(client, &source);
    if (code == HELIO_EXIT_OK)
        code = convert(client, &source, &job);
    if (code != HELIO_EXIT_OK)
        return code;
    print_notes(client, &job);
    (void)fwrite(job.yaml.data, 1, job.yaml.size, client->io->out);
    return code;
}

/*  The token's jobs of that name that are not over; of an array its own id. */
static int find_earlier(const helio_client_t *client, const char *name, const char **ret_ids)
{
    helio_slurm_choice_t choice = {.names = name, .me = true};
    HELIO_AUTO(helio_json_clear) json_t *jobs = json_array();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t ids = {0};
    helio_text_t last = {0};
    uint32_t count = 0;
    size_t i;
    json_t *job;
    int code = helio_slurm_jobs(client, &choice, jobs);
    if (code != HELIO_EXIT_OK)
        return code;
    helio_buffer_text(&ids, "");
    json_array_foreach(jobs, i, job)
    {
        const char *id = helio_output_string(job, "id");
        helio_text_t whole = {id, (uint32_t)strcspn(id, ".")};
        if (!whole.size || helio_text_equal(whole, last)) /* tasks of an array follow one another */
            continue;
        helio_buffer_printf(&ids, "%s%.*s", count++ ? ", " : "", HELIO_TEXT_ARGS(whole));
        last = whole;
    }
    *ret_ids = helio_arena_string(client->arena, helio_buffer_view(&ids));
    return count <= HELIO_JOB_LIST_MAX
               ? HELIO_EXIT_OK
               : helio_client_fail(client, HELIO_EXIT_USAGE,
                                   "--dependency=singleton: %u of your jobs are called '%.64s' and not over; a job can "
                                   "wait for at most %d",
                                   count, name, HELIO_JOB_LIST_MAX);
}

/*  What waits for earlier jobs of its name is converted again once these are known. */
static int convert_for_sending(helio_client_t *client, helio_sbatch_job_t *ret_job)
{
    source_t source;
    int code = read_source(client, &source);
    if (code == HELIO_EXIT_OK)
        code = convert(client, &source, ret_job);
    if (code == HELIO_EXIT_OK && ret_job->singleton && !ret_job->test_only) {
        code = find_earlier(client, ret_job->name, &source.input.earlier);
        if (code == HELIO_EXIT_OK)
            code = convert(client, &source, ret_job);
    }
    if (code == HELIO_EXIT_OK)
        print_notes(client, ret_job);
    return code;
}

static int wait_for(const helio_client_t *client, const char *id)
{
    helio_command_line_t arguments = *client->arguments;
    arguments.words = &id;
    arguments.word_count = 1;
    helio_client_t waiter = *client;
    waiter.arguments = &arguments;
    (void)fflush(client->io->out);
    return helio_cmd_wait(&waiter);
}

static int print_id(helio_client_t *client, const helio_drafts_t *drafts, bool parsable)
{
    if (helio_client_has(client, HELIO_OPTION_OUTPUT))
        return helio_drafts_print(client, drafts);
    fprintf(client->io->out, parsable ? "%s\n" : "Submitted batch job %s\n", drafts->items[0].id);
    return HELIO_EXIT_OK;
}

int helio_cmd_sbatch(helio_client_t *client)
{
    helio_sbatch_job_t job;
    helio_drafts_t drafts;
    int code = convert_for_sending(client, &job);
    if (code == HELIO_EXIT_OK && job.test_only) {
        helio_client_say(client, "nothing was submitted; the script itself is valid: `helio convert` shows its job "
                                 "file");
        return HELIO_EXIT_OK;
    }
    if (code == HELIO_EXIT_OK)
        code = helio_draft_make(client, job.yaml, "job file", &drafts);
    if (code == HELIO_EXIT_OK)
        code = helio_drafts_send(client, &drafts);
    if (code == HELIO_EXIT_OK)
        code = print_id(client, &drafts, job.parsable);
    if (code == HELIO_EXIT_OK && job.wait)
        code = wait_for(client, drafts.items[0].id);
    return code;
}
