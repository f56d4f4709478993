/*  fuzz_spec.c -- jobs, sites and streams of jobs from arbitrary bytes. Whatever is accepted must keep the
 * bounds of its record; whatever is refused must have a printable reason; a part of a split must lie within
 * its source; what json.c takes libyaml takes too, and both make the same tree of it. */
#include <stdlib.h>
#include <string.h>

#include "federation/spec/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_diagnostic(const helio_diagnostic_t *diagnostic)
{
    helio_buffer_t out = {0};
    helio_diagnostic_text(diagnostic, false, &out);
    require(diagnostic->problem != HELIO_SPEC_NONE_PROBLEM && diagnostic->message[0] && diagnostic->span > 0);
    for (size_t i = 0; i < out.size; i++)
        require((unsigned char)out.data[i] >= 0x20 || out.data[i] == '\n');
    helio_buffer_clear(&out);
}

static void check_job(const helio_job_spec_t *job)
{
    require(job->run.size > 0 && job->run.size <= HELIO_JOB_RUN_MAX && job->name.size <= HELIO_JOB_NAME_MAX);
    require(job->nodes >= 1 && job->nodes <= HELIO_JOB_NODES_MAX && job->gpus.count <= 8);
    require(job->env.count <= HELIO_JOB_LIST_MAX && job->tasks.count <= HELIO_JOB_ARRAY_MAX);
    for (uint32_t i = 0; i < job->gpus.count; i++)
        require(job->gpus.items[i].count >= 1 && job->gpus.items[i].count <= HELIO_JOB_GPUS_PER_NODE_MAX);
    for (uint32_t i = 1; i < job->tasks.count; i++)
        require(job->tasks.items[i - 1] < job->tasks.items[i]);
}

static void check_same_tree(const helio_spec_node_t *a, const helio_spec_node_t *b)
{
    require(a->type == b->type && a->plain == b->plain && a->count == b->count);
    require(a->offset == b->offset && a->end == b->end && helio_text_equal(a->text, b->text));
    const helio_spec_node_t *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        check_same_tree(x, y);
    require(!x && !y);
}

static void check_both_ways(helio_spec_source_t source, helio_arena_t *arena)
{
    helio_spec_reader_t reader = {.source = source, .arena = arena};
    helio_spec_node_t *json, *yaml;
    if (!helio_spec_json_tree(&reader, HELIO_JOB_SOURCE_MAX, &json))
        return;
    require(helio_spec_yaml_tree(&reader, HELIO_JOB_SOURCE_MAX, &yaml) == HELIO_OK);
    check_same_tree(json, yaml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    helio_arena_t *arena = helio_arena_new();
    helio_spec_source_t source = {{(const char *)data, (uint32_t)size}, "fuzz.yaml", 0};
    helio_diagnostic_t diagnostic = {0};
    helio_job_spec_t job;
    helio_site_profile_t site;
    helio_spec_parts_t parts;
    check_both_ways(source, arena);
    if (helio_spec_parse_job(source, arena, &job, &diagnostic) == HELIO_OK)
        check_job(&job);
    else
        check_diagnostic(&diagnostic);
    if (helio_spec_parse_site(source, arena, &site, &diagnostic) != HELIO_OK)
        check_diagnostic(&diagnostic);
    if (helio_spec_split(source, arena, &parts, &diagnostic) == HELIO_OK)
        for (uint32_t i = 0; i < parts.count; i++) {
            const char *from = parts.items[i].text.data;
            require(from >= source.text.data && from + parts.items[i].text.size <= source.text.data + size);
            require(parts.items[i].text.size > 0 && parts.items[i].line > 0);
        }
    else
        check_diagnostic(&diagnostic);
    helio_arena_destroy(&arena);
    return 0;
}
