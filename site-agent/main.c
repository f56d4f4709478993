/*  helio-agent: runs a site's share of the federation's jobs. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "federation/arguments/command_line.h"
#include "federation/net/curve.h"
#include "site-agent/agent/agent.h"
#include "site-agent/agent/check.h"
#include "site-agent/agent/gpus.h"
#include "site-agent/agent/host.h"

enum { OPTION_CONFIG, OPTION_PROBE, OPTION_CHECK, OPTION_HELP, OPTION_VERSION, OPTION_COUNT };

static const helio_option_t options[] = {
    [OPTION_CONFIG] = {"config", 0, "FILE", NULL, "The site file (" HELIO_AGENT_CONFIG_PATH ")"},
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
    (void)fprintf(out,
                  "usage: helio-agent [COMMAND] [OPTIONS]\n\n"
                  "commands:\n"
                  "  run                          run the site's share of jobs until TERM (the default)\n"
                  "  check                        say what `run` would miss, and how to mend it\n"
                  "  keygen PATH                  make the site's secret key and print the public one\n\n"
                  "options:\n%s\n"
                  "TERM ends the agent; jobs keep running.\n",
                  lines.data);
}

static int complain(const helio_error_t *err)
{
    (void)fprintf(stderr, "helio-agent: error: %s\n", err->text);
    return 1;
}

static int keygen(const char *path)
{
    helio_error_t err = {0};
    HELIO_AUTO(helio_keypair_wipe) helio_keypair_t pair = {0};
    if (helio_keypair_new(&pair, &err) != HELIO_OK || helio_keypair_save(&pair, path, &err) != HELIO_OK)
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

/*  Before any library may start a thread. SIGPIPE would end us at the first peer that hangs up. */
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

static int serve(const helio_agent_settings_t *settings, helio_loop_t *loop, helio_log_t *log, int signal_fd)
{
    helio_error_t err = {0};
    helio_agent_t *agent = NULL;
    helio_agent_parts_t parts = {settings, helio_make_backend, loop, log};
    helio_rc rc = helio_agent_new(&parts, &agent, &err);
    if (rc == HELIO_OK) {
        signals_t signals = {signal_fd, agent, log};
        helio_source_t *source = helio_source_new(loop, signal_fd, HELIO_LOOP_IN, on_signal, &signals);
        helio_log(log, HELIO_INFO, "agent_started", "site=%.*s release=%s",
                  HELIO_TEXT_ARGS(settings->site.name), HELIO_PROGRAM_VERSION);
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
    int lock = -1;
    if (helio_state_dir_lock(settings->state_dir.data, &lock, &err) != HELIO_OK)
        return complain(&err);
    helio_loop_t *loop = NULL;
    int status = 1;
    if (helio_loop_new(&loop, &err) != HELIO_OK) {
        status = complain(&err);
    } else {
        helio_log_t *log = helio_log_new(STDERR_FILENO, (helio_level_t)settings->log_level, "helio-agent");
        status = serve(settings, loop, log, signal_fd);
        helio_log_destroy(&log);
        helio_loop_destroy(&loop);
    }
    (void)close(lock);
    return status;
}

typedef struct arguments {
    const char *command, *config, *path;
    bool help, version, probe;
} arguments_t;

/*  "check" and "--check" mean the same. */
static helio_rc parse(int argc, char **argv, arguments_t *ret, helio_error_t *err)
{
    HELIO_AUTO(helio_arena_destroy) helio_arena_t *arena = helio_arena_new(); /* what is taken points into argv */
    helio_command_line_rules_t rules = {.options = &option_table,
                                        .words_most = 2,
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
    *ret = (arguments_t){.command = check ? "check" : line.word_count ? line.words[0] : "run",
                         .config = config ? config : HELIO_AGENT_CONFIG_PATH,
                         .path = line.word_count > first ? line.words[first] : NULL,
                         .help = helio_command_line_has(&line, OPTION_HELP),
                         .version = helio_command_line_has(&line, OPTION_VERSION),
                         .probe = helio_command_line_has(&line, OPTION_PROBE)};
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
        bool itself = check && helio_text_is(settings.site.backend, "slurm"); /* looks, and says what it found */
        if (!itself && helio_site_gpus_open(&settings, NULL, arena, &err) != HELIO_OK)
            status = complain(&err);
        else
            status = check ? helio_agent_check(&settings, arguments->probe, helio_make_backend) != 0
                           : run(&settings, signal_fd);
        helio_site_gpus_close(&settings);
    }
    helio_arena_destroy(&arena);
    if (signal_fd >= 0)
        (void)close(signal_fd);
    return status;
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
    if (!keys && !arguments.path &&
        (strcmp(arguments.command, "run") == 0 || strcmp(arguments.command, "check") == 0))
        return with_settings(&arguments);
    usage(stderr);
    return 2;
}
