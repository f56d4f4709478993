/*  containers.c -- the templates of the runtimes that are known here, and the site's own. */
#include "site-agent/backends/containers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AT(member) .offset = offsetof(helio_container_rules_t, member)

static bool is_runtime(helio_text_t text)
{
    static const char *const words[] = {"podman", "apptainer", "enroot", "command"};
    uint32_t place;
    return helio_text_among(text, words, 4, &place) == HELIO_OK;
}
static const helio_spec_rule_t runtime_rule = {is_runtime, "one of podman, apptainer, enroot, command",
                                               "^(podman|apptainer|enroot|command)$"};

static bool is_word(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return false;
    return text.size > 0;
}
static const helio_spec_rule_t word_rule = {is_word, "a text without control characters",
                                            "^[^\\u0000-\\u001f\\u007f]+$"};

static bool is_path(helio_text_t text)
{
    return is_word(text) && text.data[0] == '/' && !memchr(text.data, ':', text.size);
}
static const helio_spec_rule_t path_rule = {is_path, "an absolute path without ':'", "^/[^:\\u0000-\\u001f\\u007f]*$"};

static const helio_spec_field_t fields[] = {
    {.key = "containers",
     .kind = HELIO_SPEC_TEXT,
     AT(runtime),
     .most = 16,
     .rule = &runtime_rule,
     .example = "podman",
     .doc =
         "How jobs with an `image` run: by `podman`, rootless, as the job's user; by `apptainer`; by `enroot`, whose images "
         "are files or containers of the site; or by `container_command`. Default: not at all, and the broker sends "
         "none."},
    {.key = "container_command",
     .kind = HELIO_SPEC_STRINGS,
     AT(command),
     .most = HELIO_CONTAINER_WORDS_MAX,
     .rule = &word_rule,
     .example = "[charliecloud-run, \"--bind={mount}\", \"{image}\", --, \"{program}\"]",
     .doc =
         "The command for `containers: command`, found by `path`, whatever PATH the job sets. Of the job's variables its "
         "environment has only those that Heliostat sets; `{env_file}` is the path of a file with the others too, a line "
         "NAME=VALUE for each, and a word with `{env}` and `{value}` is repeated for each. `{image}`, `{workdir}`, `{gpus}` (`2,5`) and "
         "`{renumbered}` (`0,1`) are replaced in a word. A word with `{mount}`, `{env}` or `{gpu}` is repeated for each path "
         "that the job needs under its own name, each variable's name (with `{env_file}`: of those alone that do not fit into a line), and each GPU. A word with `{any_gpu}` is left out "
         "without GPUs. `{program}` alone is the job's program."},
    {.key = "container_options",
     .kind = HELIO_SPEC_STRINGS,
     AT(options),
     .most = HELIO_CONTAINER_WORDS_MAX,
     .rule = &word_rule,
     .example = "[\"--shm-size=64g\"]",
     .doc = "More options of `podman run`, `apptainer exec` or `enroot start`, with the same words in braces."},
    {.key = "container_mounts",
     .kind = HELIO_SPEC_STRINGS,
     AT(mounts),
     .most = HELIO_CONTAINER_MOUNTS_MAX,
     .rule = &path_rule,
     .example = "[/data]",
     .doc = "Folders that every container finds under the same name, beside the job's own."},
    {.key = "container_probe",
     .kind = HELIO_SPEC_TEXT,
     AT(probe),
     .most = 512,
     .rule = &word_rule,
     .example = "docker.io/library/busybox",
     .doc =
         "An image with `/bin/sh`, which `helio-agent check` runs as each Unix user that jobs run as. Default: none is run."},
};
const helio_spec_table_t helio_container_rules_table =
    HELIO_SPEC_TABLE("containers", helio_container_rules_t, fields, NULL);

/*  Rootless, the user is root in the container and itself outside; nothing of the runtime outlives the job. */
static const char *const podman[] = {"podman",
                                     "run",
                                     "--rm",
                                     "--quiet",
                                     "--log-driver=none",
                                     "--network=host",
                                     "--shm-size=8g",
                                     "--user=0:0",
                                     "--security-opt=no-new-privileges",
                                     "--workdir={workdir}",
                                     "--volume={mount}:{mount}",
                                     "--env-file={env_file}",
                                     "--env={env}={value}",
                                     "--env=CUDA_VISIBLE_DEVICES={renumbered}",
                                     "--device=nvidia.com/gpu={gpu}",
                                     "{options}",
                                     "--entrypoint=",
                                     "{image}",
                                     "{program}",
                                     NULL};
static const char *const apptainer[] = {
    "apptainer",     "exec",      "--no-home", "--pwd={workdir}", "--bind={mount}:{mount}",
    "{any_gpu}--nv", "{options}", "{image}",   "{program}",       NULL};
static const char *const enroot[] = {"enroot",
                                     "start",
                                     "--mount={mount}:{mount}",
                                     "--env={env}={value}",
                                     "--env=CUDA_VISIBLE_DEVICES={renumbered}",
                                     "--env=NVIDIA_VISIBLE_DEVICES={gpus}",
                                     "{options}",
                                     "{image}",
                                     "{program}",
                                     NULL};

static void fill(const char *const *words, const helio_container_rules_t *rules, helio_container_words_t *into)
{
    for (; *words; words++) {
        if (strcmp(*words, "{options}") != 0)
            into->items[into->count++].text = helio_text_of(*words);
        for (uint32_t i = 0; strcmp(*words, "{options}") == 0 && i < rules->options.count; i++)
            into->items[into->count++].text = rules->options.items[i].text;
    }
}

static bool has_word(const helio_container_words_t *words, const char *word)
{
    for (uint32_t i = 0; i < words->count; i++)
        if (words->items[i].text.size &&
            memmem(words->items[i].text.data, words->items[i].text.size, word, strlen(word)))
            return true;
    return false;
}

helio_rc helio_container_template(const helio_container_rules_t *rules, helio_arena_t *arena,
                                  helio_container_words_t *ret_words, helio_error_t *err)
{
    helio_container_words_t words = {0};
    bool own = helio_text_is(rules->runtime, "command");
    if (!rules->runtime.size)
        return helio_fail(err, HELIO_NOT_FOUND, "this site runs no container images");
    if (own != (rules->command.count > 0))
        return helio_fail(err, HELIO_INVALID, "`container_command` and `containers: command` go together");
    if (own && rules->options.count)
        return helio_fail(err, HELIO_INVALID,
                          "`container_options` are those of a known runtime: put them into "
                          "`container_command`");
    if (own && (!has_word(&rules->command, "{program}") || !has_word(&rules->command, "{image}")))
        return helio_fail(err, HELIO_INVALID, "`container_command` needs the words {image} and {program}");
    words.items = helio_arena_alloc(arena, 2 * (size_t)HELIO_CONTAINER_WORDS_MAX, sizeof *words.items);
    if (helio_text_is(rules->runtime, "podman"))
        fill(podman, rules, &words);
    else if (helio_text_is(rules->runtime, "apptainer"))
        fill(apptainer, rules, &words);
    else if (helio_text_is(rules->runtime, "enroot"))
        fill(enroot, rules, &words);
    for (uint32_t i = 0; i < rules->command.count; i++)
        words.items[words.count++] = rules->command.items[i];
    *ret_words = words;
    return HELIO_OK;
}

helio_rc helio_container_find(const helio_container_rules_t *rules, const char *path, char ret_program[4096],
                              helio_error_t *err)
{
    bool own = helio_text_is(rules->runtime, "command");
    helio_text_t name = own && rules->command.count ? rules->command.items[0].text : rules->runtime;
    if (name.size && name.data[0] == '/' && helio_text_copy(name, ret_program, 4096) && access(ret_program, X_OK) == 0)
        return HELIO_OK;
    for (const char *at = path; name.size && name.data[0] != '/' && *at;) {
        size_t size = strcspn(at, ":");
        int length = snprintf(ret_program, 4096, "%.*s/%.*s", (int)size, at, HELIO_TEXT_ARGS(name));
        if (length > 0 && length < 4096 && access(ret_program, X_OK) == 0)
            return HELIO_OK;
        at += size + (at[size] == ':');
    }
    return helio_fail(err, HELIO_NOT_FOUND,
                      "there is no program '%.*s' in `path` (%.200s): install it, or take "
                      "`containers` out of the site file",
                      HELIO_TEXT_ARGS(name), path);
}

static void copy_words(const helio_container_words_t *from, helio_arena_t *arena, helio_container_words_t *ret)
{
    ret->items = helio_arena_alloc(arena, from->count + 1, sizeof *from->items);
    ret->count = from->count;
    for (uint32_t i = 0; i < from->count; i++)
        ret->items[i].text = helio_arena_text(arena, from->items[i].text);
}

void helio_container_rules_copy(const helio_container_rules_t *from, helio_arena_t *arena, helio_container_rules_t *ret)
{
    *ret = (helio_container_rules_t){.runtime = helio_arena_text(arena, from->runtime),
                                     .probe = helio_arena_text(arena, from->probe)};
    copy_words(&from->command, arena, &ret->command);
    copy_words(&from->options, arena, &ret->options);
    copy_words(&from->mounts, arena, &ret->mounts);
}
