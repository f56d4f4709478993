/*  container.c -- fills in the template of a container's command. */
#include "site-agent/shim/container.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ARGS_MOST = 4096, PATH_SIZE = 4096, LINE_MOST = 60000 /* podman reads lines of 64 KiB */ };

typedef struct filling {
    const helio_container_job_t *job;
    helio_arena_t *arena;
    char **argv;
    uint32_t count;
    helio_text_t gpus, inside; /* as they are called here, and in the container */
    helio_text_t value;        /* of the variable that repeats the argument */
    bool overflow;
} filling_t;

/* ---- words --------------------------------------------------------------------------------------------- */

static void add(filling_t *self, helio_text_t text)
{
    if (self->count + 1 >= ARGS_MOST) {
        self->overflow = true;
        return;
    }
    char *copy = helio_arena_alloc(self->arena, text.size + 1, 1);
    memcpy(copy, text.data ? text.data : "", text.size);
    self->argv[self->count++] = copy;
}

static const char *find(helio_text_t text, const char *word)
{
    return text.size ? memmem(text.data, text.size, word, strlen(word)) : NULL;
}

/*  "2,5" is "0,1"; names that are no numbers (UUIDs) stay. */
static helio_text_t renumbered(filling_t *self)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    uint32_t count = helio_device_count(self->gpus);
    for (uint32_t i = 0; i < self->gpus.size; i++)
        if (!strchr("0123456789,", self->gpus.data[i]))
            return self->gpus;
    for (uint32_t i = 0; i < count; i++)
        helio_buffer_printf(&out, "%s%u", i ? "," : "", i);
    return helio_arena_text(self->arena, helio_buffer_view(&out));
}

/*  The value of the word that the text begins with; false: it begins with none. `value` is that of the word that repeats
 *  the argument. What comes out is not looked at again: nothing that a job says is taken for a word. */
static bool take_word(filling_t *self, helio_text_t text, const char *repeats, helio_text_t value,
                      helio_text_t *ret_value, uint32_t *ret_size)
{
    const helio_plan_t *plan = self->job->plan;
    const struct {
        const char *word;
        helio_text_t value;
    } words[] = {{"{image}", plan->image}, {"{workdir}", plan->workdir},
                 {"{gpus}", self->gpus},   {"{renumbered}", self->inside},
                 {"{any_gpu}", {0}},       {"{env_file}", helio_text_of(self->job->env_file)},
                 {"{value}", self->value}, {repeats ? repeats : "{any_gpu}", value}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        uint32_t size = (uint32_t)strlen(words[i].word);
        if (text.size < size || memcmp(text.data, words[i].word, size) != 0)
            continue;
        *ret_value = words[i].value;
        *ret_size = size;
        return true;
    }
    return false;
}

static void put(filling_t *self, helio_text_t text, const char *repeats, helio_text_t value)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t out = {0};
    while (text.size) {
        helio_text_t found = {text.data, 1};
        uint32_t size = 1;
        (void)take_word(self, text, repeats, value, &found, &size);
        helio_buffer_append(&out, found.data ? found.data : "", found.size);
        text = (helio_text_t){text.data + size, text.size - size};
    }
    add(self, helio_buffer_view(&out));
}

/* ---- what repeats an argument -------------------------------------------------------------------------- */

static void repeat(filling_t *self, helio_text_t text, const char *word, helio_text_t value)
{
    if (value.size)
        put(self, text, word, value);
}

static void each_gpu(filling_t *self, helio_text_t text)
{
    helio_text_t rest = self->gpus;
    while (rest.size) {
        const char *comma = memchr(rest.data, ',', rest.size);
        uint32_t size = comma ? (uint32_t)(comma - rest.data) : rest.size, used = size + (comma != NULL);
        repeat(self, text, "{gpu}", (helio_text_t){rest.data, size});
        rest = (helio_text_t){rest.data + used, rest.size - used};
    }
}

static bool names(const helio_plan_t *plan, const char *word)
{
    for (uint32_t i = 0; i < plan->container_count; i++)
        if (find(plan->container[i], word))
            return true;
    return false;
}

static helio_text_t name_of(const char *entry)
{
    return (helio_text_t){entry, (uint32_t)strcspn(entry, "=")};
}

static helio_text_t value_of(const char *entry)
{
    size_t size = strcspn(entry, "=");
    return helio_text_of(entry + size + (entry[size] == '='));
}

/*  PATH and HOME are the image's own; the devices have a word of their own where it says how they are called. */
static bool is_handed_over(const helio_plan_t *plan, helio_text_t name)
{
    return !helio_text_is(name, "PATH") && !helio_text_is(name, "HOME") &&
           !(helio_text_is(name, "CUDA_VISIBLE_DEVICES") && names(plan, "{renumbered}"));
}

static bool is_line(const char *entry)
{
    return !strpbrk(entry, "\r\n") && strlen(entry) <= LINE_MOST;
}

static void each_variable(filling_t *self, helio_text_t text)
{
    const helio_environment_t *env = self->job->env;
    bool file = names(self->job->plan, "{env_file}");
    for (uint32_t i = 0; i < env->count; i++) {
        self->value = value_of(env->items[i]);
        if (is_handed_over(self->job->plan, name_of(env->items[i])) && !(file && is_line(env->items[i])))
            repeat(self, text, "{env}", name_of(env->items[i]));
    }
    self->value = (helio_text_t){0};
}

static void each_mount(filling_t *self, helio_text_t text)
{
    static const helio_variable_t folders[] = {HELIO_VARIABLE_OUTPUT_DIR, HELIO_VARIABLE_CHECKPOINT_DIR,
                                               HELIO_VARIABLE_REPORT};
    const helio_plan_t *plan = self->job->plan;
    const char *output = helio_environment_get(self->job->env, HELIO_VARIABLE_OUTPUT_DIR);
    repeat(self, text, "{mount}", helio_arena_printf(self->arena, "%s/run", self->job->folder));
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        repeat(self, text, "{mount}", helio_text_of(helio_environment_get(self->job->env, folders[i])));
    if (!output || !helio_text_is(plan->workdir, output))
        repeat(self, text, "{mount}", plan->workdir);
    for (uint32_t i = 0; i < plan->mount_count; i++)
        repeat(self, text, "{mount}", plan->mounts[i]);
}

static void fill(filling_t *self, helio_text_t text)
{
    if (helio_text_is(text, "{program}")) {
        if (!self->job->own) /* an image need not have bash */
            add(self, HELIO_TEXT("/bin/sh"));
        add(self, helio_arena_printf(self->arena, "%s/run", self->job->folder));
    } else if (find(text, "{mount}"))
        each_mount(self, text);
    else if (find(text, "{env}"))
        each_variable(self, text);
    else if (find(text, "{gpu}"))
        each_gpu(self, text);
    else if ((!find(text, "{any_gpu}") || helio_device_count(self->gpus)) &&
             (!find(text, "{env_file}") || self->job->env_file))
        put(self, text, NULL, (helio_text_t){0});
}

/* ---- the environment ----------------------------------------------------------------------------------- */

helio_environment_t helio_container_environment(const helio_container_job_t *job)
{
    const helio_plan_t *plan = job->plan;
    helio_environment_t env = {.arena = job->env->arena};
    helio_environment_set(&env, HELIO_VARIABLE_PATH, plan->runtime_path);
    if (plan->runtime_home.size)
        helio_environment_set(&env, HELIO_VARIABLE_HOME, plan->runtime_home);
    if (plan->user.size)
        helio_environment_set(&env, HELIO_VARIABLE_USER, plan->user);
    helio_environment_add(&env, "LC_ALL", HELIO_TEXT("C.UTF-8"));
    for (uint32_t i = 0; i < job->env->count; i++) {
        helio_text_t name = name_of(job->env->items[i]), value = value_of(job->env->items[i]);
        if (helio_variable_is_ours(name))
            helio_environment_add(&env, helio_arena_string(env.arena, name), value);
        if (plan->runtime_prefix.size && is_handed_over(plan, name))
            helio_environment_add(
                &env,
                helio_arena_printf(env.arena, "%.*s%.*s", HELIO_TEXT_ARGS(plan->runtime_prefix), HELIO_TEXT_ARGS(name))
                    .data,
                value);
    }
    return env;
}

void helio_container_variables(const helio_container_job_t *job, helio_buffer_t *out)
{
    for (uint32_t i = 0; names(job->plan, "{env_file}") && i < job->env->count; i++)
        if (is_handed_over(job->plan, name_of(job->env->items[i])) && is_line(job->env->items[i]))
            helio_buffer_printf(out, "%s\n", job->env->items[i]);
}

/* ---- the program --------------------------------------------------------------------------------------- */

static bool find_program(filling_t *self, const char *path)
{
    if (self->argv[0][0] == '/')
        return true;
    char place[PATH_SIZE];
    while (path && *path) {
        size_t size = strcspn(path, ":");
        int length = snprintf(place, sizeof place, "%.*s/%s", (int)size, path, self->argv[0]);
        if (length > 0 && (size_t)length < sizeof place && place[0] == '/' && access(place, X_OK) == 0) {
            self->argv[0] = helio_arena_alloc(self->arena, (size_t)length + 1, 1);
            memcpy(self->argv[0], place, (size_t)length);
            return true;
        }
        path += size + (path[size] == ':');
    }
    return false;
}

helio_rc helio_container_argv(const helio_container_job_t *job, const char *path, helio_arena_t *arena,
                              char ***ret_argv, helio_error_t *err)
{
    filling_t self = {.job = job, .arena = arena, .argv = helio_arena_alloc(arena, ARGS_MOST, sizeof(char *))};
    const char *gpus = helio_environment_get(job->env, HELIO_VARIABLE_CUDA_DEVICES);
    self.gpus = helio_text_of(gpus);
    self.inside = renumbered(&self);
    for (uint32_t i = 0; i < job->plan->container_count; i++)
        fill(&self, job->plan->container[i]);
    if (self.overflow || !self.count)
        return helio_fail(err, HELIO_TOO_BIG, "the container's command has too many arguments");
    if (!find_program(&self, path))
        return helio_fail(err, HELIO_NOT_FOUND, "there is no program '%.100s' in %.300s", self.argv[0],
                          path ? path : "PATH");
    *ret_argv = self.argv;
    return HELIO_OK;
}
