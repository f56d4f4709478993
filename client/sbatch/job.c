/*  job.c -- the keys of the job file, from options and #HELIO lines. */
#include <stdio.h>
#include <string.h>

#include "client/sbatch/internal.h"
#include "federation/base/char.h"
#include "federation/base/clock.h"
#include "federation/base/duration.h"
#include "federation/spec/value.h"

enum { ENTRIES_MAX = 512 };

/*  key: value, or key: {child: value}; the value is YAML already. */
typedef struct entry {
    const char *key;
    const char *child; /* NULL = none */
    const char *value;
} entry_t;

typedef struct entries {
    sbatch_t *work;
    entry_t *items;
    uint32_t count;
} entries_t;

static void add(entries_t *self, const char *key, const char *child, const char *yaml)
{
    if (self->count < ENTRIES_MAX)
        self->items[self->count++] = (entry_t){key, child, yaml};
}

static void add_text(entries_t *self, const char *key, const char *child, const char *text)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    sbatch_yaml_text(helio_text_of(text), false, &out);
    add(self, key, child, helio_arena_string(self->work->arena, helio_buffer_view(&out)));
}

static void add_number(entries_t *self, const char *key, const char *child, uint64_t number)
{
    add(self, key, child, helio_arena_printf(self->work->arena, "%llu", (unsigned long long)number).data);
}

/*  ---- name, resources, time ---- */

static const char *default_name(const sbatch_t *self)
{
    const char *path = self->input->path;
    if (sbatch_given(self, HELIO_SBATCH_WRAP))
        return "wrap";
    if (!path)
        return "sbatch";
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/*  Slurm accepts any text, a job file only letters, digits, '.', '_' and '-'. */
static void add_name(entries_t *self)
{
    const sbatch_value_t *value = sbatch_given(self->work, HELIO_SBATCH_JOB_NAME);
    const char *wanted = value && value->text[0] ? value->text : default_name(self->work);
    char name[HELIO_JOB_NAME_MAX + 1];
    size_t size = 0;
    for (const char *at = wanted; *at && size < HELIO_JOB_NAME_MAX; at++) {
        bool alnum = helio_is_letter_or_digit(*at);
        bool inner = strchr("._-", *at) != NULL;
        if (!alnum && size == 0)
            continue;
        if (alnum || inner || name[size - 1] != '-')
            name[size++] = alnum || inner ? *at : '-';
    }
    name[size] = '\0';
    if (size == 0)
        (void)snprintf(name, sizeof name, "sbatch");
    if (strcmp(name, wanted) != 0 && !sbatch_own_key(self->work, "name"))
        sbatch_note(self->work, "the job is named '%s': names have letters, digits, '.', '_' and '-'", name);
    add_text(self, "name", NULL, name);
}

static helio_rc add_shape(entries_t *self)
{
    const sbatch_shape_t *shape = &self->work->shape;
    const sbatch_value_t *time = sbatch_given(self->work, HELIO_SBATCH_TIME);
    char text[HELIO_VALUE_SIZE];
    uint64_t ms = 0;
    bool endless = true;
    if (shape->gpus)
        add_text(
            self, "gpu", NULL,
            helio_arena_printf(self->work->arena, "%s:%u", shape->gpu_model[0] ? shape->gpu_model : "any", shape->gpus)
                .data);
    if (shape->nodes > 1)
        add_number(self, "nodes", NULL, shape->nodes);
    if (shape->cpus)
        add_number(self, "cpus", NULL, shape->cpus);
    if (shape->memory_bytes) {
        uint64_t mib = shape->memory_bytes >> 20;
        (void)snprintf(text, sizeof text, "%llu%s", (unsigned long long)(mib % 1024 ? mib : mib / 1024),
                       mib % 1024 ? "MiB" : "GiB");
        add_text(self, "memory", NULL, text);
    }
    if (time && !sbatch_time(time->text, &ms, &endless))
        return sbatch_refuse(self->work, time, "minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s",
                             "--time: '%.64s' is not a time limit", time->text);
    if (time && endless)
        sbatch_note(self->work,
                    "--time=%s: Heliostat has no unlimited jobs; the job gets the time limit of its "
                    "queue",
                    time->text);
    else if (time && ms > UINT64_C(366) * 86400000)
        return sbatch_refuse(self->work, time, NULL, "--time: at most 366 days, found '%.64s'", time->text);
    else if (time) {
        helio_duration_text(ms, text);
        add_text(self, "time", NULL, text);
    }
    return HELIO_OK;
}

static void add_variable(void *arg, const char *name, const char *value)
{
    add_text(arg, "env", name, value);
}

/*  For srun, as sbatch leaves it to a script: the job gets its GPUs by node, and each task its own of them. */
static void add_task_gpus(entries_t *self)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%u", self->work->shape.gpus_per_task);
    if (self->work->shape.gpus_per_task)
        add_text(self, "env", "SLURM_GPUS_PER_TASK", text);
}

/*  ---- when ---- */

static helio_rc add_moment(entries_t *self, uint32_t id, const char *child, bool past)
{
    const sbatch_value_t *value = sbatch_given(self->work, id);
    int64_t wall_ms;
    char text[HELIO_RFC3339_SIZE];
    if (!value)
        return HELIO_OK;
    if (!sbatch_begin(self->work->input, value->text, &wall_ms) || wall_ms < 0)
        return sbatch_refuse(self->work, value, "such as 2026-11-22T07:00, 16:00, tomorrow or now+1hour",
                             "--%s: '%.64s' is not a time", helio_sbatch_option(id)->name, value->text);
    if (!past && wall_ms <= self->work->input->wall_ms)
        return HELIO_OK; /* at once */
    helio_rfc3339(wall_ms, text);
    if (strcmp(text + 19, ".000Z") == 0)
        (void)snprintf(text + 19, sizeof text - 19, "Z");
    add_text(self, "placement", child, text);
    return HELIO_OK;
}

static helio_rc add_signal(entries_t *self)
{
    const sbatch_value_t *value = sbatch_given(self->work, HELIO_SBATCH_SIGNAL);
    const char *name;
    uint32_t seconds;
    char grace[HELIO_VALUE_SIZE];
    if (!value)
        return HELIO_OK;
    if (!sbatch_signal(value->text, &name, &seconds))
        return sbatch_refuse(self->work, value, "such as USR1@120 or B:TERM@60; USR1, USR2, TERM, INT, HUP, CONT, QUIT",
                             "--signal: '%.64s' is not a signal", value->text);
    if (seconds > HELIO_JOB_GRACE_MAX_MS / 1000) {
        seconds = HELIO_JOB_GRACE_MAX_MS / 1000;
        sbatch_note(self->work, "--signal: the time to save is cut to one hour, the most that a job can have");
    }
    helio_duration_text((uint64_t)seconds * 1000, grace);
    add_text(self, "checkpoint", "signal", name);
    add_text(self, "checkpoint", "grace", grace);
    return HELIO_OK;
}

static helio_rc add_lists(entries_t *self)
{
    static const char *const keys[SBATCH_AFTERS] = {"after_ok", "after_any", "after_not_ok", "after_start",
                                                    "after_task"};
    const char *array = NULL, *lists[SBATCH_AFTERS] = {NULL};
    helio_rc rc = sbatch_array(self->work, &array);
    if (rc == HELIO_OK)
        rc = sbatch_dependencies(self->work, lists);
    if (rc == HELIO_OK && array)
        add_text(self, "array", NULL, array);
    for (size_t i = 0; i < SBATCH_AFTERS && rc == HELIO_OK; i++)
        if (lists[i])
            add(self, "depends", keys[i], lists[i]);
    return rc;
}

/*  ---- options for Slurm sites ---- */

static bool is_clean(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static helio_rc add_pair(entries_t *self, const sbatch_value_t *value, const char *name, const char *text)
{
    if (!is_clean(text) || text[0] == '-') /* sites refuse such values */
        return sbatch_refuse(
            self->work, value, NULL, "--%s: %s", name,
            text[0] == '-' ? "values that begin with '-' are refused" : "values with control characters are refused");
    add_text(self, "slurm", name, text);
    return HELIO_OK;
}

static helio_rc add_option(entries_t *self, uint32_t id, const char *text)
{
    return add_pair(self, sbatch_given(self->work, id), helio_sbatch_option(id)->name, text);
}

static helio_rc add_extras(entries_t *self)
{
    helio_rc rc = HELIO_OK;
    for (uint32_t i = 0; i < self->work->extra_count && rc == HELIO_OK; i++) {
        const sbatch_extra_t *extra = &self->work->extras[i];
        if (!self->work->pinned_by_own)
            return sbatch_refuse(self->work, &extra->value, extra->hint, "%s", extra->message);
        rc = add_pair(self, &extra->value, extra->name, extra->value.text);
    }
    return rc;
}

/*  The site creates the working directory, so a folder below it does not exist yet: the file goes directly into it. */
static helio_rc add_output(entries_t *self, uint32_t id, bool has_directory)
{
    const sbatch_value_t *value = sbatch_given(self->work, id);
    if (!value)
        return HELIO_OK;
    const char *text = value->text, *slash = strrchr(text, '/');
    if (!has_directory && text[0] != '/' && slash && slash[1]) {
        sbatch_note(
            self->work,
            "--%s: written to '%.64s' in the job's own folder, because the job does not start in this directory",
            helio_sbatch_option(id)->name, slash + 1);
        text = slash + 1;
    }
    return add_option(self, id, text);
}

static helio_rc add_files(entries_t *self)
{
    const sbatch_value_t *chdir = sbatch_given(self->work, HELIO_SBATCH_CHDIR);
    const sbatch_value_t *input = sbatch_given(self->work, HELIO_SBATCH_INPUT);
    const sbatch_value_t *mode = sbatch_given(self->work, HELIO_SBATCH_OPEN_MODE);
    const char *directory = self->work->input->directory;
    if (input && strcmp(input->text, "/dev/null") != 0)
        return sbatch_refuse(self->work, input, "read the file in the script itself: exec <FILE",
                             "--input is not supported: the standard input of a job is /dev/null");
    helio_rc rc = HELIO_OK;
    if (chdir && chdir->text[0] == '/')
        rc = add_option(self, HELIO_SBATCH_CHDIR, chdir->text);
    else if (chdir)
        rc = add_option(self, HELIO_SBATCH_CHDIR,
                        helio_arena_printf(self->work->arena, "%s/%s", directory, chdir->text).data);
    else if (self->work->pinned)
        rc = add_option(self, HELIO_SBATCH_CHDIR, directory);
    bool has_directory = chdir || self->work->pinned;
    if (!has_directory && rc == HELIO_OK)
        sbatch_note(
            self->work,
            "the job starts in a new folder at the site, not in this directory, which may not exist there; --chdir "
            "selects a directory at the site");
    if (rc == HELIO_OK)
        rc = add_output(self, HELIO_SBATCH_OUTPUT, has_directory);
    if (rc == HELIO_OK)
        rc = add_output(self, HELIO_SBATCH_ERROR, has_directory);
    if (rc != HELIO_OK || !mode)
        return rc;
    bool append = mode->text[0] == 'a' || mode->text[0] == 'A';
    if (!append && mode->text[0] != 't' && mode->text[0] != 'T')
        return sbatch_refuse(self->work, mode, NULL, "--open-mode: must be append or truncate, found '%.64s'",
                             mode->text);
    return add_option(self, HELIO_SBATCH_OPEN_MODE, append ? "append" : "truncate");
}

static helio_rc add_tasks(entries_t *self)
{
    static const uint32_t ids[] = {HELIO_SBATCH_NTASKS, HELIO_SBATCH_NTASKS_PER_NODE, HELIO_SBATCH_CPUS_PER_TASK};
    helio_rc rc = HELIO_OK;
    bool any = false;
    for (size_t i = 0; i < 3 && rc == HELIO_OK; i++) {
        const sbatch_value_t *value = sbatch_given(self->work, ids[i]);
        if (value)
            rc = add_option(self, ids[i], value->text);
        else if (any && i == 2) /* otherwise a site would give all CPUs of the node to each task */
            add_text(self, "slurm", "cpus-per-task", "1");
        any = any || value;
    }
    return rc;
}

/*  Options by policy; PINNED ones need a pinned job. */
static helio_rc add_passed(entries_t *self)
{
    sbatch_t *work = self->work;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t passed = {0}, idle = {0};
    helio_rc rc = HELIO_OK;
    for (uint32_t id = 0; id < HELIO_SBATCH_COUNT && rc == HELIO_OK; id++) {
        const sbatch_value_t *value = sbatch_given(work, id);
        const helio_sbatch_option_t *option = helio_sbatch_option(id);
        if (!value)
            continue;
        if (option->policy == HELIO_SBATCH_IDLE)
            helio_buffer_printf(&idle, "%s--%s", idle.size ? ", " : "", option->name);
        if (option->policy == HELIO_SBATCH_PINNED && !work->pinned)
            return sbatch_refuse(work, value,
                                 "`#HELIO placement: {backends: [slurm]}` in the script pins the job to Slurm sites",
                                 "--%s applies only at Slurm sites", option->name);
        bool travels = option->policy == HELIO_SBATCH_PASSED || option->policy == HELIO_SBATCH_NEEDED ||
                       option->policy == HELIO_SBATCH_PINNED;
        if (!travels)
            continue;
        if (option->policy == HELIO_SBATCH_PASSED && !work->pinned)
            helio_buffer_printf(&passed, "%s--%s", passed.size ? ", " : "", option->name);
        rc = add_option(self, id, value->text);
    }
    if (passed.size)
        sbatch_note(work, "%s: applied by Slurm sites only; other sites ignore it", passed.data);
    if (idle.size)
        sbatch_note(work, "%s: no effect", idle.data);
    if (sbatch_given(work, HELIO_SBATCH_NO_REQUEUE))
        sbatch_note(work, "--no-requeue has no effect: a job whose site or node is lost is started again");
    return rc;
}

static helio_rc add_sites(entries_t *self)
{
    const sbatch_value_t *value = sbatch_given(self->work, HELIO_SBATCH_CLUSTERS);
    if (!value || strcasecmp(value->text, "all") == 0)
        return HELIO_OK;
    if (!value->text[0] || strspn(value->text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-,") !=
                               strlen(value->text))
        return sbatch_refuse(self->work, value, "`helio sites` lists them",
                             "--clusters: '%.64s' is not the name of a site", value->text);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t list = {0};
    for (const char *at = value->text; *at; at += *at == ',') {
        size_t size = strcspn(at, ",");
        if (size)
            helio_buffer_printf(&list, "%s\"%.*s\"", list.size ? ", " : "", (int)size, at);
        at += size;
    }
    add(self, "placement", "sites", helio_arena_printf(self->work->arena, "[%s]", list.size ? list.data : "").data);
    return HELIO_OK;
}

static helio_rc gather(entries_t *self)
{
    helio_rc rc;
    add_name(self);
    if ((rc = add_shape(self)) != HELIO_OK || (rc = sbatch_export(self->work, add_variable, self)) != HELIO_OK ||
        (rc = add_signal(self)) != HELIO_OK)
        return rc;
    add_task_gpus(self);
    if (self->work->pinned)
        add(self, "placement", "backends", "[slurm]");
    if ((rc = add_sites(self)) != HELIO_OK ||
        (rc = add_moment(self, HELIO_SBATCH_BEGIN, "not_before", false)) != HELIO_OK ||
        (rc = add_moment(self, HELIO_SBATCH_DEADLINE, "deadline", true)) != HELIO_OK ||
        (rc = add_lists(self)) != HELIO_OK)
        return rc;
    add(self, "slurm", "launch", "batch");
    if ((rc = add_files(self)) != HELIO_OK || (rc = add_tasks(self)) != HELIO_OK)
        return rc;
    if ((rc = add_passed(self)) != HELIO_OK)
        return rc;
    return add_extras(self);
}

/*  ---- writing ---- */

static const char *const key_order[] = {"name",      "queue",   "kind",         "home",       "gpu",          "nodes",
                                        "cpus",      "memory",  "interconnect", "time",       "sharing",      "image",
                                        "env",       "secrets", "data",         "checkpoint", "on_site_loss", "retries",
                                        "placement", "array",   "depends",      "slurm",      "kubernetes"};

static void write_child(const char *child, const char *value, helio_buffer_t *out)
{
    helio_buffer_text(out, "  ");
    sbatch_yaml_text(helio_text_of(child), true, out);
    helio_buffer_printf(out, ": %s\n", value);
}

/*  The script's #HELIO lines take precedence; in mappings, entry by entry. */
static void write_mapping(const entries_t *self, const char *key, const helio_spec_node_t *own, helio_buffer_t *out)
{
    helio_buffer_printf(out, "%s:\n", key);
    for (uint32_t i = 0; i < self->count; i++)
        if (self->items[i].child && strcmp(self->items[i].key, key) == 0 &&
            !(own && helio_spec_find(own, self->items[i].child)))
            write_child(self->items[i].child, self->items[i].value, out);
    for (const helio_spec_node_t *name = own ? own->first : NULL; name; name = name->next->next) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t value = {0};
        sbatch_yaml_node(name->next, false, &value);
        helio_buffer_text(out, "  ");
        sbatch_yaml_text(name->text, true, out);
        helio_buffer_printf(out, ": %s\n", value.data);
    }
}

static void write_key(const entries_t *self, const char *key, helio_buffer_t *out)
{
    const helio_spec_node_t *own = sbatch_own_key(self->work, key);
    const entry_t *first = NULL;
    for (uint32_t i = 0; i < self->count && !first; i++)
        if (strcmp(self->items[i].key, key) == 0)
            first = &self->items[i];
    bool own_mapping = own && own->type == HELIO_SPEC_MAPPING && strcmp(key, "gpu") != 0;
    if (first && first->child && (!own || own_mapping)) {
        write_mapping(self, key, own, out);
    } else if (own_mapping && own->count) {
        write_mapping(self, key, own, out);
    } else if (own) {
        helio_buffer_printf(out, "%s: ", key);
        sbatch_yaml_node(own, false, out);
        helio_buffer_text(out, "\n");
    } else if (first) {
        helio_buffer_printf(out, "%s: %s\n", key, first->value);
    }
}

helio_rc sbatch_write_job(sbatch_t *self, helio_buffer_t *out)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t run = {0};
    entries_t entries = {self, helio_arena_alloc(self->arena, ENTRIES_MAX, sizeof(entry_t)), 0};
    helio_rc rc = gather(&entries);
    if (rc == HELIO_OK)
        rc = sbatch_compose_run(self, &run);
    if (rc != HELIO_OK)
        return rc;
    for (size_t i = 0; i < sizeof key_order / sizeof key_order[0]; i++)
        write_key(&entries, key_order[i], out);
    helio_buffer_text(out, "run: ");
    sbatch_yaml_script(helio_buffer_view(&run), out);
    return HELIO_OK;
}
