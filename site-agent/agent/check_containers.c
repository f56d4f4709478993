/*  check_containers.c -- `helio-agent check`: whether jobs with an image can run here, by running one as each of the users
 *  that jobs run as. */
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "site-agent/agent/check.h"
#include "site-agent/backends/command.h"
#include "site-agent/shim/container.h"

enum { RUN_MS = 120000, DETAIL_SIZE = 600, USERS_MOST = 16 };

typedef struct trial {
    const helio_agent_settings_t *settings;
    char folder[64];
    helio_arena_t *arena;
} trial_t;

/*  The program that the container runs: the folder is mounted as an attempt's is. */
static helio_rc make_folder(trial_t *self, helio_error_t *err)
{
    static const char program[] = "#!/bin/sh\necho \"user $(id -u)\"\n";
    char path[PATH_MAX];
    (void)snprintf(self->folder, sizeof self->folder, "/tmp/helio-container-XXXXXX");
    if (!mkdtemp(self->folder) || chmod(self->folder, 0755))
        return helio_fail(err, HELIO_IO, "/tmp: %s", strerror(errno));
    (void)snprintf(path, sizeof path, "%s/run", self->folder);
    FILE *file = fopen(path, "we");
    bool good = file && fputs(program, file) >= 0;
    if (file && fclose(file) != 0)
        good = false;
    return good && chmod(path, 0755) == 0 ? HELIO_OK : helio_fail(err, HELIO_IO, "%s: %s", path, strerror(errno));
}

static void remove_folder(const trial_t *self)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/run", self->folder);
    (void)unlink(path);
    (void)rmdir(self->folder);
}

static helio_rc fill_command(trial_t *self, char ***ret_argv, helio_error_t *err)
{
    const helio_container_rules_t *rules = &self->settings->rules.containers;
    helio_container_words_t words;
    helio_plan_t *plan = helio_arena_alloc(self->arena, 1, sizeof *plan);
    helio_rc rc = helio_container_template(rules, self->arena, &words, err);
    if (rc)
        return rc;
    plan->image = rules->probe;
    plan->workdir = helio_text_of(self->folder);
    for (; plan->container_count < words.count; plan->container_count++)
        plan->container[plan->container_count] = words.items[plan->container_count].text;
    for (; plan->mount_count < rules->mounts.count; plan->mount_count++)
        plan->mounts[plan->mount_count] = rules->mounts.items[plan->mount_count].text;
    helio_environment_t none = {.arena = self->arena};
    helio_container_job_t job = {.plan = plan, .folder = self->folder, .env = &none, .own = true};
    return helio_container_argv(&job, self->settings->rules.path.data, self->arena, ret_argv, err);
}

static helio_rc run_as(trial_t *self, const struct passwd *user, char ret_detail[DETAIL_SIZE])
{
    helio_error_t err = {0};
    char **argv = NULL;
    helio_rc rc = fill_command(self, &argv, &err);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t complaint = {0};
    int exit_code = 0;
    const char *env[] = {helio_arena_printf(self->arena, "HOME=%s", user->pw_dir).data, NULL};
    helio_commands_options_t options = {
        .path = self->settings->rules.path.data, .env = env, .at_once = 1, .queue_max = 1};
    helio_command_t command = {.argv = (const char *const *)argv,
                               .timeout_ms = RUN_MS,
                               .max_bytes = 65536,
                               .as = {user->pw_name, user->pw_uid, user->pw_gid}};
    if (!rc)
        rc = helio_command_wait(&options, &command, &exit_code, &out, &complaint, &err);
    (void)snprintf(ret_detail, DETAIL_SIZE, "%.200s in a container of %.*s", user->pw_name,
                   HELIO_TEXT_ARGS(self->settings->rules.containers.probe));
    if (!rc && exit_code == 0 && out.size)
        return HELIO_OK;
    const char *why = rc ? err.text : complaint.size ? complaint.data : "its program printed nothing";
    (void)snprintf(ret_detail, DETAIL_SIZE, "%.60s: %.*s (exit code %d)", user->pw_name,
                   (int)(strcspn(why, "\n") < 400 ? strcspn(why, "\n") : 400), why, exit_code);
    return rc ? rc : HELIO_UNAVAILABLE;
}

static void run_users(trial_t *self, helio_check_line_fn *line, void *arg)
{
    const helio_job_rules_t *rules = &self->settings->rules;
    char name[64], detail[DETAIL_SIZE];
    for (uint32_t i = 0; i < rules->users.count && i < USERS_MOST; i++) {
        const struct passwd *user =
            helio_text_copy(rules->users.items[i].unix_user, name, sizeof name) ? getpwnam(name) : NULL;
        if (!user || (geteuid() != 0 && user->pw_uid != geteuid()))
            continue; /* the line on users says so */
        helio_rc rc = run_as(self, user, detail);
        line(arg, "container", rc, detail);
    }
}

void helio_check_containers(const helio_agent_settings_t *settings, helio_check_line_fn *line, void *arg)
{
    const helio_container_rules_t *rules = &settings->rules.containers;
    trial_t self = {.settings = settings};
    helio_error_t err = {0};
    char program[PATH_MAX], detail[PATH_MAX + 200];
    if (!rules->runtime.size)
        return;
    helio_rc rc = helio_container_find(rules, settings->rules.path.data, program, &err);
    (void)snprintf(detail, sizeof detail, "%s%s", rc ? err.text : program,
                   rc || rules->probe.size ? "" : "; name an image in container_probe, and this check runs it");
    line(arg, "containers", rc, detail);
    if (rc || !rules->probe.size)
        return;
    self.arena = helio_arena_new();
    rc = make_folder(&self, &err);
    if (rc)
        line(arg, "container", rc, err.text);
    else
        run_users(&self, line, arg);
    remove_folder(&self);
    helio_arena_destroy(&self.arena);
}
