/*  settings.c -- reads the site file: its keys, their defaults, and what follows from them. */
#include "site-agent/agent/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "federation/energy/zone.h"
#include "federation/net/curve.h"

#define ZONES "/usr/share/zoneinfo"

enum { PATH_SIZE = 4096, KEY_FILE_MAX = 4096 };

#define AT(member) .offset = offsetof(helio_agent_settings_t, member)

/*  Without the feeds, which have a page of their own. */
static const helio_spec_field_t own_fields[] = {
    {.key = "state_dir",
     .kind = HELIO_SPEC_PATH,
     AT(state_dir),
     .fallback = "/var/lib/heliostat",
     .example = "/var/lib/heliostat",
     .doc = "Directory of the journal and the attempts, created with mode 0711. Only one agent can use it at a time."},
    {.key = "broker",
     .kind = HELIO_SPEC_STRINGS,
     AT(brokers),
     .required = true,
     .most = 16,
     .example = "[\"tcp://broker.example:7443\"]",
     .doc = "Addresses on which the brokers listen for sites, in order of preference."},
    {.key = "broker_key",
     .kind = HELIO_SPEC_TEXT,
     AT(broker_key),
     .required = true,
     .most = 1024,
     .example = "/etc/heliostat/broker.pub",
     .doc = "The brokers' public key (40 characters), or a file that holds it."},
    {.key = "key_file",
     .kind = HELIO_SPEC_PATH,
     AT(key_file),
     .fallback = "/etc/heliostat/agent.key",
     .example = "/etc/heliostat/agent.key",
     .doc = "File with the site's secret key, mode 0600, created by `helio-agent keygen`."},
    {.key = "shim",
     .kind = HELIO_SPEC_PATH,
     AT(shim),
     .example = "/usr/libexec/heliostat/helio-shim",
     .doc = "Path of helio-shim, the program that runs each job. Default: the one that is installed beside the agent."},
    {.key = "cgroup",
     .kind = HELIO_SPEC_PATH,
     AT(cgroup),
     .example = "/sys/fs/cgroup/system.slice/helio-jobs.service",
     .doc =
         "Control group (version 2) that is delegated to the agent; each job of the backend `local` gets its own group "
         "below it. Default: that of helio-jobs.service, or none if that service does not run."},
    {.key = "processes_max",
     .kind = HELIO_SPEC_U64,
     AT(processes_max),
     .least = 16,
     .most = 4194304,
     .fallback = "16384",
     .example = "16384",
     .doc = "Maximum number of processes and threads of a job of the backend `local`, if it has a control group. "
            "`16384`: half of the kernel's smallest table of processes, so one job cannot fill it."},
    {.key = "gpus_shared",
     .kind = HELIO_SPEC_BOOL,
     AT(gpus_shared),
     .fallback = "false",
     .example = "false",
     .doc =
         "Whether the backend `local` also offers GPUs on which processes from outside the federation run. `false`: such "
         "GPUs count as in use, if the NVIDIA driver reports these processes and the pool has one node."},
    {.kind = HELIO_SPEC_INCLUDE, AT(rules), .table = &helio_job_rules_table},
    {.key = "slurm",
     .kind = HELIO_SPEC_GROUP,
     AT(slurm),
     .table = &helio_slurm_settings_table,
     .example = "{shared: /shared/heliostat}",
     .doc = "Settings of the backend `slurm`."},
    {.key = "kubernetes",
     .kind = HELIO_SPEC_GROUP,
     AT(kubernetes),
     .table = &helio_kubernetes_settings_table,
     .example = "{kubeconfig: /etc/heliostat/kubeconfig, namespace: heliostat}",
     .doc = "Settings of the backend `kubernetes`."},
    {.key = "exec",
     .kind = HELIO_SPEC_GROUP,
     AT(exec),
     .table = &helio_exec_settings_table,
     .example = "{command: [/usr/share/heliostat/adapters/gridengine], folder: /shared/heliostat}",
     .doc = "Settings of the backend `exec`."},
    {.key = "channels",
     .kind = HELIO_SPEC_GROUP,
     AT(channels),
     .table = &helio_channels_settings_table,
     .example = "{allow: [commands, ports]}",
     .doc = "Entering jobs that run, with the backends `local` and `slurm`: `helio exec`, `helio shell` and `helio "
            "port-forward`."},
    {.key = "scale",
     .kind = HELIO_SPEC_LIST,
     AT(scale),
     .most = HELIO_SITE_POOLS_MAX,
     .table = &helio_scale_rule_table,
     .example = "[{pool: a100-cloud, max: 8, command: [/etc/heliostat/provider]}]",
     .doc = "Elastic pools of a site with the backend `exec`, which grow and shrink by a provider's command."},
    {.key = "shares",
     .kind = HELIO_SPEC_LIST,
     AT(shares),
     .most = HELIO_SITE_POOLS_MAX,
     .table = &helio_share_rule_table,
     .example = "[{pool: l4, jobs_per_gpu: 4}]",
     .doc = "Pools of the backend `local` whose GPUs several jobs use at a time."},
    {.key = "attempts_max",
     .kind = HELIO_SPEC_U32,
     AT(attempts_max),
     .least = 1,
     .most = 100000,
     .fallback = "10000",
     .example = "10000",
     .doc = "Maximum number of attempts that the agent holds at once; more are refused."},
    {.key = "kill_margin",
     .kind = HELIO_SPEC_DURATION,
     AT(kill_margin_ms),
     .least = 100,
     .most = 3600000,
     .fallback = "60s",
     .example = "60s",
     .doc = "Time before the end of its lease at which a job is stopped; at most a quarter of the lease."},
    {.key = "log_level",
     .kind = HELIO_SPEC_CHOICE,
     AT(log_level),
     .words = &helio_spec_levels,
     .fallback = "info",
     .example = "info",
     .doc = "Minimum level of log messages."},
};
static const helio_spec_table_t own_table = HELIO_SPEC_TABLE("agent", helio_agent_settings_t, own_fields, NULL);

static const helio_spec_field_t agent_fields[] = {
    {.kind = HELIO_SPEC_INCLUDE, .table = &own_table},
    {.kind = HELIO_SPEC_INCLUDE, AT(feeds), .table = &helio_feeds_settings_table},
};
static const helio_spec_table_t agent_table = HELIO_SPEC_TABLE("agent", helio_agent_settings_t, agent_fields, NULL);

static const helio_spec_field_t file_fields[] = {
    {.kind = HELIO_SPEC_INCLUDE, AT(site), .table = &helio_spec_site_table},
    {.key = "windows",
     .kind = HELIO_SPEC_LIST,
     AT(feeds.windows),
     .most = HELIO_WINDOWS_MAX,
     .table = &helio_spec_window_table,
     .example = "[{pool: h100, reserve_gpus: 64, when: \"Mon..Fri 08:00-20:00\"}]",
     .doc = "GPUs that the site reserves for itself at certain hours."},
    {.key = "agent",
     .kind = HELIO_SPEC_GROUP,
     .table = &agent_table,
     .required = true,
     .example = "{broker: [\"tcp://broker.example:7443\"], broker_key: /etc/heliostat/broker.pub}",
     .doc = "Settings of the site's agent."},
};
const helio_spec_table_t helio_agent_settings_table =
    HELIO_SPEC_TABLE("site", helio_agent_settings_t, file_fields, NULL);

static helio_rc read_file(const char *path, size_t most, helio_buffer_t *out, helio_error_t *err)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return helio_fail(err, errno == ENOENT ? HELIO_NOT_FOUND : HELIO_IO, "%s: %s", path, strerror(errno));
    char bytes[8192];
    size_t size;
    out->max = most + 1;
    while ((size = fread(bytes, 1, sizeof bytes, file)) > 0 && !out->overflow)
        helio_buffer_append(out, bytes, size);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    if (failed)
        return helio_fail(err, HELIO_IO, "%s: cannot be read", path);
    if (out->overflow || out->size > most)
        return helio_fail(err, HELIO_TOO_BIG, "%s: larger than %zu bytes", path, most);
    return HELIO_OK;
}

/*  The line of a top-level key of the file; 0 = none. */
static uint32_t line_of(helio_text_t text, const char *key)
{
    size_t size = strlen(key);
    uint32_t line = 1;
    for (uint32_t at = 0; at + size < text.size; line++) {
        if (memcmp(text.data + at, key, size) == 0 && text.data[at + size] == ':')
            return line;
        const char *end = memchr(text.data + at, '\n', text.size - at);
        if (!end)
            break;
        at = (uint32_t)(end - text.data) + 1;
    }
    return 0;
}

/*  UTC needs no data; every other zone is a file of the system. */
static helio_rc check_zone(const char *path, helio_text_t text, helio_text_t zone, helio_buffer_t *complaint)
{
    char file[sizeof ZONES + HELIO_ZONE_NAME_MAX + 2];
    bool good = helio_zone_name_is_good(zone) && zone.size <= HELIO_ZONE_NAME_MAX;
    (void)snprintf(file, sizeof file, "%s/%.*s", ZONES, good ? (int)zone.size : 0, zone.data);
    if (helio_text_is(zone, "UTC") || (good && access(file, R_OK) == 0))
        return HELIO_OK;
    helio_buffer_printf(
        complaint,
        "%s:%u: error: timezone: this machine does not know the time zone '%.*s'\n"
        "help: use a name below %s, such as Europe/Stockholm (`timedatectl list-timezones`; Debian's package is "
        "tzdata)\n",
        path, line_of(text, "timezone"), HELIO_TEXT_ARGS(zone), ZONES);
    return HELIO_NOT_FOUND;
}

static const char *folder_of(helio_arena_t *arena, const char *file)
{
    const char *slash = strrchr(file, '/');
    char folder[PATH_SIZE], full[PATH_SIZE];
    (void)helio_text_copy(slash ? (helio_text_t){file, (uint32_t)(slash - file)} : HELIO_TEXT("."), folder,
                          sizeof folder);
    const char *from = folder[0] ? folder : "/";
    return helio_arena_string(arena, helio_text_of(realpath(from, full) ? full : from));
}

/*  Relative to the folder of the file that names it. The result is absolute, since a backend's programs run in other
 *  folders. */
static helio_text_t resolve(helio_arena_t *arena, const char *file, helio_text_t path)
{
    if (path.size == 0 || path.data[0] == '/')
        return helio_arena_text(arena, path);
    return helio_arena_printf(arena, "%s/%.*s", folder_of(arena, file), HELIO_TEXT_ARGS(path));
}

/*  Installed as PREFIX/bin and PREFIX/libexec/heliostat; in a build folder side by side. */
helio_text_t helio_agent_default_shim(helio_arena_t *arena)
{
    char self[PATH_SIZE];
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0)
        return HELIO_TEXT("/usr/libexec/heliostat/helio-shim");
    self[size] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    helio_text_t beside = helio_arena_printf(arena, "%s/helio-shim", self);
    if (access(beside.data, X_OK) == 0)
        return beside;
    return helio_arena_printf(arena, "%s/../libexec/heliostat/helio-shim", self);
}

static void resolve_paths(helio_arena_t *arena, const char *path, helio_agent_settings_t *settings)
{
    settings->state_dir = resolve(arena, path, settings->state_dir);
    settings->key_file = resolve(arena, path, settings->key_file);
    settings->cgroup = resolve(arena, path, settings->cgroup);
    settings->rules.secrets = resolve(arena, path, settings->rules.secrets);
    settings->shim = settings->shim.size ? resolve(arena, path, settings->shim) : helio_agent_default_shim(arena);
    if (!helio_curve_key_is_valid(settings->broker_key))
        settings->broker_key = resolve(arena, path, settings->broker_key);
    settings->slurm.shared = resolve(arena, path, settings->slurm.shared);
    settings->slurm.conf = resolve(arena, path, settings->slurm.conf);
    settings->slurm.commands = resolve(arena, path, settings->slurm.commands);
    settings->slurm.shim = resolve(arena, path, settings->slurm.shim);
    settings->kubernetes.kubeconfig = resolve(arena, path, settings->kubernetes.kubeconfig);
    settings->exec.folder = resolve(arena, path, settings->exec.folder);
    settings->exec.shim = resolve(arena, path, settings->exec.shim);
    for (uint32_t i = 0; i < settings->scale.count; i++)
        settings->scale.items[i].notice = resolve(arena, path, settings->scale.items[i].notice);
}

/*  The broker believes what the profile says: a site that cannot run an image says so. */
static helio_rc settle_containers(const char *path, helio_text_t text, helio_arena_t *arena,
                                  helio_agent_settings_t *settings, helio_buffer_t *complaint)
{
    const helio_container_rules_t *rules = &settings->rules.containers;
    char program[PATH_SIZE];
    helio_error_t err = {0};
    helio_container_words_t words;
    if (helio_text_is(settings->site.backend, "kubernetes"))
        return HELIO_OK;
    helio_rc rc = helio_container_template(rules, arena, &words, &err);
    if (rc == HELIO_NOT_FOUND && settings->site.containers)
        rc = helio_fail(&err, HELIO_INVALID,
                        "containers: true, and agent.containers names no runtime\n"
                        "help: say `containers: podman` under `agent` instead");
    if (rc != HELIO_OK && rc != HELIO_NOT_FOUND) {
        uint32_t line = line_of(text, "containers"); /* of the site's part */
        if (line)
            helio_buffer_printf(complaint, "%s:%u: error: %s\n", path, line, err.text);
        else
            helio_buffer_printf(complaint, "%s: error: %s\n", path, err.text);
        return rc;
    }
    bool here = helio_text_is(settings->site.backend, "local"); /* elsewhere the nodes have it, and not this machine */
    settings->site.containers =
        rc == HELIO_OK && (!here || helio_container_find(rules, settings->rules.path.data, program, NULL) == HELIO_OK);
    return HELIO_OK;
}

helio_rc helio_agent_settings_load(const char *path, helio_arena_t *arena, helio_agent_settings_t *ret_settings,
                                   helio_buffer_t *complaint)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    helio_error_t err = {0};
    helio_rc rc = read_file(path, HELIO_SPEC_SOURCE_MAX, &bytes, &err);
    if (rc != HELIO_OK) {
        helio_buffer_printf(complaint, "%s\n", err.text);
        return rc;
    }
    helio_agent_settings_t settings;
    helio_diagnostics_t wrong;
    helio_spec_source_t source = {.text = helio_arena_text(arena, helio_buffer_view(&bytes)), .name = path};
    rc = helio_spec_judge(&helio_agent_settings_table, source, HELIO_SPEC_SOURCE_MAX, arena, &settings, &wrong);
    if (rc != HELIO_OK) {
        helio_diagnostics_text(&wrong, isatty(STDERR_FILENO) == 1 && !getenv("NO_COLOR"), complaint);
        return rc;
    }
    rc = check_zone(path, source.text, settings.site.timezone, complaint);
    if (rc != HELIO_OK)
        return rc;
    resolve_paths(arena, path, &settings);
    if (!helio_text_is(settings.site.backend, "kubernetes"))
        settings.site.leases = true; /* the shim around each job enforces them */
    rc = helio_scale_settle(&settings.scale, &settings.site, &err);
    if (rc == HELIO_OK)
        rc = helio_shares_check(&settings.shares, &settings.site, &err);
    if (rc != HELIO_OK) {
        helio_buffer_printf(complaint, "%s: error: %s\n", path, err.text);
        return rc;
    }
    rc = settle_containers(path, source.text, arena, &settings, complaint);
    if (rc != HELIO_OK)
        return rc;
    for (uint32_t i = 0; i < settings.site.pools.count; i++)
        helio_shares_fill_power(&settings.shares, &settings.site.pools.items[i]);
    rc = helio_feeds_settings_complete(&settings.feeds, &settings.site, folder_of(arena, path), arena, &err);
    if (rc != HELIO_OK) {
        helio_buffer_printf(complaint, "%s: error: %s\n", path, err.text);
        return rc;
    }
    if (helio_text_is(settings.site.backend, "kubernetes"))
        helio_kubernetes_profile(&settings.kubernetes, arena, &settings.site);
    else
        helio_job_rules_tell(&settings.rules, arena, &settings.site);
    *ret_settings = settings;
    return HELIO_OK;
}

helio_rc helio_agent_broker_key(const helio_agent_settings_t *settings, char ret_key[41], helio_error_t *err)
{
    helio_text_t key = settings->broker_key;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    if (!helio_curve_key_is_valid(key)) {
        helio_error_t why = {0};
        helio_rc rc = read_file(key.data, KEY_FILE_MAX, &bytes, &why);
        if (rc != HELIO_OK)
            return helio_fail(err, rc, "broker_key is neither a key of 40 characters nor a readable file: %s",
                              why.text);
        while (bytes.size && (bytes.data[bytes.size - 1] == '\n' || bytes.data[bytes.size - 1] == '\r'))
            bytes.size--;
        size_t from = bytes.size;
        while (from && bytes.data[from - 1] != '\n')
            from--;
        key = (helio_text_t){bytes.data ? bytes.data + from : "", (uint32_t)(bytes.size - from)};
        if (!helio_curve_key_is_valid(key))
            return helio_fail(err, HELIO_INVALID,
                              "%.*s: its last line is not a public key; `helio-broker keygen` prints the right one",
                              HELIO_TEXT_ARGS(settings->broker_key));
    }
    (void)helio_text_copy(key, ret_key, 41);
    return HELIO_OK;
}

void helio_agent_reference(helio_buffer_t *out)
{
    helio_buffer_text(
        out,
        "# The agent's part of the site file\n\n"
        "<!-- Generated from site-agent/agent/settings.c, site-agent/agent/shares.c, site-agent/backends/rules.c, "
        "site-agent/backends/slurm/slurm_settings.c,\nsite-agent/backends/kubernetes/settings.c, site-agent/backends/exec/settings.c and site-agent/scale/settings.c; the test of the reference writes it. -->\n\n"
        "How the agent of a site runs: the keys under `agent` in the [site file](site.md). `feeds` and "
        "`tariff` stand there too:\n"
        "[their page](feeds.md). Relative paths begin at the site file's folder. Durations and sizes: "
        "[quantities](site.md#quantities).\n"
        "`helio-agent --config site.yaml --check` reports what is wrong with a file before an agent runs "
        "with it.\n\n"
        "## Under `agent`\n\n");
    helio_spec_reference(&own_table, out);
}
