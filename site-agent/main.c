/*  helio-agent: runs a site's share of the federation's jobs. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "federation/arguments/command_line.h"
#include "federation/base/clock.h"
#include "federation/base/process.h"
#include "federation/base/suggest.h"
#include "federation/net/curve.h"
#include "site-agent/agent/agent.h"
#include "site-agent/agent/check.h"
#include "site-agent/agent/gpus.h"
#include "site-agent/agent/host.h"
#include "site-agent/agent/tenure.h"

enum { WORDS_MOST = 32 };
enum {
    OPTION_CONFIG,
    OPTION_FOLDER,
    OPTION_USER,
    OPTION_PROBE,
    OPTION_CHECK,
    OPTION_HELP,
    OPTION_VERSION,
    OPTION_COUNT
};

static const helio_option_t options[] = {
    [OPTION_CONFIG] = {"config", 0, "FILE", NULL, "The site file (" HELIO_AGENT_CONFIG_PATH ")"},
    [OPTION_FOLDER] = {"folder", 0, "DIR", NULL, "check-backend: where attempts lie (a new folder below /tmp)"},
    [OPTION_USER] = {"user", 0, "NAME", NULL, "check-backend: jobs run as this user (the caller)"},
    [OPTION_PROBE] = {"probe", 0, NULL, NULL, "check: also run a job on each pool of a cluster"},
    [OPTION_CHECK] = {"check", 0, NULL, NULL, "As the command `check`"},
    [OPTION_HELP] = {"help", 'h', NULL, NULL, "List commands and options"},
    [OPTION_VERSION] = {"version", 0, NULL, NULL, "Print the version"},
};
static const helio_option_table_t option_table = {options, OPTION_COUNT, 0, 0};

static void usage(FILE *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t lines = {0};
    helio_option_lines(&option_table, HELIO_OPTIONS_ALL, &lines);
    (void)fprintf(
        out,
        "usage: helio-agent [COMMAND] [OPTIONS]\n\n"
        "commands:\n"
        "  run                          Runs jobs at the site until SIGTERM (the default)\n"
        "  check                        Reports what `run` lacks, and how to fix it\n"
        "  check-backend PROGRAM [ARG]… Tests an adapter of the backend `exec`: runs jobs through it\n"
        "  keygen PATH                  Creates the site's secret key, PATH.pub, and prints the public key\n\n"
        "options:\n%s\n"
        "TERM ends the agent; jobs keep running.\n",
        lines.data);
}

static int complain(const helio_error_t *err)
{
    (void)fprintf(stderr, "helio-agent: error: %s\n", err->text);
    return 1;
}

/*  PATH.pub beside the secret key: the file that `helio keys add` reads. */
static helio_rc save_public_key(const helio_keypair_t *pair, const char *path, helio_error_t *ret_err)
{
    char name[PATH_MAX];
    (void)snprintf(name, sizeof name, "%s.pub", path);
    FILE *file = fopen(name, "we");
    bool written = file && fprintf(file, "%s\n", pair->public_key) > 0;
    if (file && fclose(file) != 0)
        written = false;
    return written ? HELIO_OK : helio_fail(ret_err, HELIO_IO, "%s: %s", name, strerror(errno));
}

static int keygen(const char *path)
{
    helio_error_t err = {0};
    HELIO_AUTO(helio_keypair_wipe) helio_keypair_t pair = {0};
    if (helio_keypair_new(&pair, &err) != HELIO_OK || helio_keypair_save(&pair, path, &err) != HELIO_OK ||
        save_public_key(&pair, path, &err) != HELIO_OK)
        return complain(&err);
    (void)puts(pair.public_key);
    return 0;
}

typedef struct signals {
    int fd;
    helio_agent_t *agent;
    helio_log_t *log;
} signals_t;

static void on_signal(void *arg)
{
    signals_t *self = arg;
    struct signalfd_siginfo info;
    if (read(self->fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    if (info.ssi_signo == SIGHUP) {
        helio_log(self->log, HELIO_WARN, "hangup_ignored", "hint=\"settings are read at start only\"");
        return;
    }
    helio_log(self->log, HELIO_INFO, "stopping", "signal=%u", info.ssi_signo);
    helio_notify("STOPPING=1");
    helio_agent_stop(self->agent, "stopped by its operator");
}

/*  Before any library can start a thread. SIGPIPE would end the process at the first peer that hangs up. */
static int block_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    (void)sigaddset(&set, SIGHUP);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0)
        return -1;
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    return sigaction(SIGPIPE, &ignore, NULL) == 0 ? fd : -1;
}

static int serve(const helio_agent_settings_t *settings, helio_tenure_t *tenure, helio_loop_t *loop, helio_log_t *log,
                 int signal_fd)
{
    helio_error_t err = {0};
    helio_agent_t *agent = NULL;
    helio_agent_parts_t parts = {settings, helio_make_backend, loop, log, tenure};
    helio_rc rc = helio_agent_new(&parts, &agent, &err);
    if (rc == HELIO_OK) {
        signals_t signals = {signal_fd, agent, log};
        helio_source_t *source = helio_source_new(loop, signal_fd, HELIO_LOOP_IN, on_signal, &signals);
        helio_log(log, HELIO_INFO, "agent_started", "site=%.*s release=%s", HELIO_TEXT_ARGS(settings->site.name),
                  HELIO_PROGRAM_VERSION);
        helio_notify("READY=1");
        rc = helio_agent_run(agent, &err);
        helio_source_destroy(&source);
    }
    if (rc != HELIO_OK) {
        char text[600];
        helio_log(log, HELIO_ERROR, "agent_failed", "text=%s",
                  helio_log_quote(helio_text_of(err.text), text, sizeof text));
    }
    helio_agent_destroy(&agent);
    return rc == HELIO_OK ? 0 : 1;
}

static int run(const helio_agent_settings_t *settings, int signal_fd)
{
    helio_error_t err = {0};
    helio_process_hide_memory();
    helio_tenure_t tenure;
    if (helio_tenure_begin(settings->state_dir.data, helio_clock_wall_ms(), &tenure, &err) != HELIO_OK)
        return complain(&err);
    helio_loop_t *loop = NULL;
    int status = 1;
    if (helio_site_gpus_begin(settings, &err) != HELIO_OK || helio_loop_new(&loop, &err) != HELIO_OK) {
        status = complain(&err);
    } else {
        helio_log_t *log = helio_log_new(STDERR_FILENO, (helio_level_t)settings->log_level, "helio-agent");
        status = serve(settings, &tenure, loop, log, signal_fd);
        helio_log_destroy(&log);
        helio_loop_destroy(&loop);
    }
    helio_tenure_end(&tenure);
    return status;
}

typedef struct arguments {
    const char *command, *config, *path, *folder, *user;
    const char *words[WORDS_MOST + 1]; /* after the command; NULL-terminated */
    bool help, version, probe;
} arguments_t;

/*  "check" and "--check" mean the same. */
static helio_rc parse(int argc, char **argv, arguments_t *ret, helio_error_t *err)
{
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new(); /* parsed options point into argv */
    helio_command_line_rules_t rules = {.options = &option_table,
                                        .words_most = WORDS_MOST,
                                        .refuses_empty = true,
                                        .options_help = "`helio-agent --help` lists commands and options",
                                        .words_help = "`helio-agent --help` lists commands and options"};
    helio_command_line_t line;
    helio_rc rc = helio_command_line_parse(argc, argv, &rules, arena, &line, err);
    if (rc != HELIO_OK)
        return rc;
    const char *config = helio_command_line_value(&line, OPTION_CONFIG);
    bool check = helio_command_line_has(&line, OPTION_CHECK);
    uint32_t first = check ? 0 : 1;
    *ret = (arguments_t){.command = check             ? "check"
                                    : line.word_count ? line.words[0]
                                                      : "run",
                         .config = config ? config : HELIO_AGENT_CONFIG_PATH,
                         .path = line.word_count > first ? line.words[first] : NULL,
                         .help = helio_command_line_has(&line, OPTION_HELP),
                         .version = helio_command_line_has(&line, OPTION_VERSION),
                         .folder = helio_command_line_value(&line, OPTION_FOLDER),
                         .user = helio_command_line_value(&line, OPTION_USER),
                         .probe = helio_command_line_has(&line, OPTION_PROBE)};
    for (uint32_t i = first; i < line.word_count; i++)
        ret->words[i - first] = line.words[i];
    if (ret->words[0] && ret->words[1] && strcmp(ret->command, "check-backend") != 0)
        return helio_fail(err, HELIO_INVALID, "`%s` takes no argument '%s'", ret->command, ret->words[1]);
    return rc;
}

static int with_settings(const arguments_t *arguments)
{
    bool check = strcmp(arguments->command, "check") == 0;
    int signal_fd = check ? -1 : block_signals();
    if (!check && signal_fd < 0) {
        (void)fprintf(stderr, "helio-agent: error: signals: %s\n", strerror(errno));
        return 1;
    }
    helio_arena_t *arena = helio_arena_new();
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    helio_agent_settings_t settings;
    int status;
    if (helio_agent_settings_load(arguments->config, arena, &settings, &complaint) != HELIO_OK) {
        (void)fprintf(stderr, "%s", complaint.data ? complaint.data : "");
        if (check)
            (void)puts("✗ config: see above");
        status = 1;
    } else {
        helio_error_t err = {0};
        bool itself = check && helio_text_is(settings.site.backend, "slurm"); /* checks, and prints what it found */
        if (!itself && helio_site_gpus_open(&settings, NULL, arena, &err) != HELIO_OK)
            status = complain(&err);
        else
            status = check ? helio_agent_check(&settings, arguments->probe) != 0 : run(&settings, signal_fd);
        helio_site_gpus_close(&settings);
    }
    helio_arena_destroy(&arena);
    if (signal_fd >= 0)
        (void)close(signal_fd);
    return status;
}

/*  The whole list helps only who is far from every command. */
static int refuse(const arguments_t *arguments)
{
    static const char commands[] = "run check check-backend keygen";
    const char *command = arguments->command;
    helio_text_t near = helio_suggestion_among(helio_text_of(command), HELIO_TEXT(commands), ' ');
    bool known = helio_text_is(near, command);
    if (known && arguments->path && strcmp(command, "check-backend") != 0)
        (void)fprintf(stderr, "helio-agent: error: `%s` takes no argument '%s'\n", command, arguments->path);
    else if (known)
        (void)fprintf(stderr, "helio-agent: error: `%s` needs %s\n", command,
                      strcmp(command, "keygen") == 0 ? "PATH, a new file for the secret key" : "PROGRAM, an adapter");
    else
        (void)fprintf(stderr, "helio-agent: error: unknown command '%s'\n", command);
    if (!known && near.size)
        (void)fprintf(stderr, "help: did you mean `helio-agent %.*s`?\n", HELIO_TEXT_ARGS(near));
    else
        usage(stderr);
    return 2;
}

int main(int argc, char **argv)
{
    arguments_t arguments;
    helio_error_t err = {0};
    if (parse(argc, argv, &arguments, &err) != HELIO_OK) {
        (void)complain(&err);
        return 2;
    }
    if (arguments.help) {
        usage(stdout);
        return 0;
    }
    if (arguments.version) {
        (void)puts("helio-agent " HELIO_PROGRAM_VERSION);
        return 0;
    }
    bool keys = strcmp(arguments.command, "keygen") == 0;
    if (keys && arguments.path)
        return keygen(arguments.path);
    if (arguments.path && strcmp(arguments.command, "check-backend") == 0)
        return helio_agent_check_adapter(arguments.words, arguments.folder, arguments.user) != 0;
    if (!keys && !arguments.path && (strcmp(arguments.command, "run") == 0 || strcmp(arguments.command, "check") == 0))
        return with_settings(&arguments);
    return refuse(&arguments);
}
