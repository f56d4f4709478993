/*  job_values.c -- parses GPU requests and array indexes, and checks rules across fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/char.h"
#include "federation/spec/job_values.h"
#include "federation/spec/rules.h"
#include "federation/spec/value.h"

enum { GPU_ASKS_MAX = 8, GPU_MODEL_MAX = 32 };

static const char gpu_hint[] = "for example 'gpu: H100:8', '[H100:8, A100:8]', '\"80GB..:8\"' or 'H100/1g.10gb:1'";
static const char array_hint[] = "for example 'array: 0-99%10', '1,3,7' or '0-15:4'";

static helio_rc refuse_gpu(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_spec_problem_t problem,
                           const char *why)
{
    char found[HELIO_SPEC_FOUND_SIZE];
    return helio_spec_diagnose(reader, node, problem, gpu_hint, "%s: %s, found %s", reader->path, why,
                               helio_spec_found(node, found));
}

/*  The position of the first `c`; text.size if it does not occur. */
static uint32_t find_char(helio_text_t text, char c)
{
    const char *at = text.size ? memchr(text.data, c, text.size) : NULL;
    return at ? (uint32_t)(at - text.data) : text.size;
}

static helio_text_t head(helio_text_t text, uint32_t size)
{
    return (helio_text_t){text.data, size};
}

static helio_text_t tail(helio_text_t text, uint32_t from)
{
    return (helio_text_t){text.data + from, text.size - from};
}

static helio_rc read_count(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_text_t text,
                           helio_gpu_ask_t *ask)
{
    uint64_t count;
    helio_rc rc = helio_u64_parse(text, &count);
    if (rc == HELIO_INVALID)
        return refuse_gpu(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM, "expected a whole number of GPUs after ':'");
    if (rc != HELIO_OK || count < 1 || count > HELIO_JOB_GPUS_PER_NODE_MAX)
        return refuse_gpu(reader, node, HELIO_SPEC_OUT_OF_RANGE_PROBLEM, "expected 1 to 64 GPUs per node");
    ask->count = (uint32_t)count;
    return HELIO_OK;
}

/*  The request without the count: MODEL, MODEL/MIG, SIZE.., any. */
static helio_rc read_model(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_text_t text,
                           helio_gpu_ask_t *ask)
{
    uint64_t number;
    if (helio_text_is(text, "any"))
        return HELIO_OK;
    if (text.size > 2 && memcmp(text.data + text.size - 2, "..", 2) == 0) {
        if (helio_bytes_parse(head(text, text.size - 2), &ask->memory_bytes) != HELIO_OK || ask->memory_bytes == 0)
            return refuse_gpu(reader, node, HELIO_SPEC_WRONG_UNIT_PROBLEM, "expected a minimum memory such as 80GB..");
        return HELIO_OK;
    }
    uint32_t slash = find_char(text, '/');
    ask->model = head(text, slash);
    if (slash < text.size) {
        ask->mig = tail(text, slash + 1);
        if (!helio_spec_is_mig(ask->mig))
            return refuse_gpu(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM, "expected a MIG profile such as 1g.10gb");
    }
    if (helio_u64_parse(ask->model, &number) == HELIO_OK)
        return refuse_gpu(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM,
                          "expected a GPU model before the count ('any:8' matches every model)");
    if (ask->model.size > GPU_MODEL_MAX || !helio_spec_has_letter(ask->model) || !helio_spec_rule_name.good(ask->model))
        return refuse_gpu(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM, "expected a GPU model");
    return HELIO_OK;
}

/*  H100x8, H100*8, 8xH100: a count that is written as part of the model. GPU models that end so have no digit before the
 *  'x', or more than 64 after it (MI300X, RTX4090). */
static bool split_by_times(helio_text_t text, helio_text_t *ret_model, uint64_t *ret_count)
{
    for (uint32_t i = 1; i + 1 < text.size; i++) {
        if (!strchr("xX*", text.data[i]))
            continue;
        helio_text_t before = head(text, i), after = tail(text, i + 1);
        bool first = helio_u64_parse(before, ret_count) == HELIO_OK;
        if (!first && helio_u64_parse(after, ret_count) != HELIO_OK)
            continue;
        *ret_model = first ? after : before;
        if (*ret_count < 1 || *ret_count > HELIO_JOB_GPUS_PER_NODE_MAX || !helio_spec_has_letter(*ret_model) ||
            !helio_spec_rule_name.good(*ret_model))
            continue;
        for (uint32_t j = 0; j < ret_model->size; j++)
            if (helio_is_digit(ret_model->data[j]))
                return true;
    }
    return false;
}

static helio_rc refuse_times(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_text_t model,
                             uint64_t count)
{
    char found[HELIO_SPEC_FOUND_SIZE], hint[128];
    (void)snprintf(hint, sizeof hint, "write '%.*s:%u'", HELIO_TEXT_ARGS(model), (unsigned)count);
    return helio_spec_diagnose(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM, hint, "%s: expected MODEL:COUNT, found %s",
                               reader->path, helio_spec_found(node, found));
}

static helio_rc read_ask(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_gpu_ask_t *ask)
{
    if (node->type != HELIO_SPEC_SCALAR || node->text.size == 0)
        return refuse_gpu(reader, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, "expected MODEL:COUNT");
    uint32_t colon = find_char(node->text, ':');
    helio_text_t model;
    uint64_t count;
    if (!reader->stored && colon == node->text.size && split_by_times(node->text, &model, &count))
        return refuse_times(reader, node, model, count);
    ask->count = 1;
    helio_rc rc = read_model(reader, node, head(node->text, colon), ask);
    if (rc == HELIO_OK && colon < node->text.size)
        rc = read_count(reader, node, tail(node->text, colon + 1), ask);
    return rc;
}

/*  One entry of a mapping: `A:8` without a value, or `A: 8`, which YAML reads as a key and a value. */
static helio_rc read_entry(helio_spec_reader_t *reader, const helio_spec_node_t *key, helio_gpu_ask_t *ask)
{
    const helio_spec_node_t *value = key->next;
    helio_rc rc = read_ask(reader, key, ask);
    if (rc != HELIO_OK || value->type == HELIO_SPEC_NULL)
        return rc;
    if (value->type != HELIO_SPEC_SCALAR || find_char(key->text, ':') < key->text.size)
        return refuse_gpu(reader, value, HELIO_SPEC_WRONG_TYPE_PROBLEM, "expected a count");
    return read_count(reader, value, value->text, ask);
}

static helio_rc read_asks(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_gpu_ask_t *asks)
{
    bool any = node->type == HELIO_SPEC_MAPPING;
    helio_rc rc = HELIO_OK;
    uint32_t i = 0;
    for (const helio_spec_node_t *item = node->first; item && rc == HELIO_OK; i++) {
        size_t before = any ? reader->path_size : helio_spec_path_index(reader, i);
        bool pair = item->type == HELIO_SPEC_MAPPING && item->count == 1;
        if (any || pair)
            rc = read_entry(reader, any ? item : item->first, &asks[i]);
        else
            rc = read_ask(reader, item, &asks[i]);
        helio_spec_path_cut(reader, before);
        item = any ? item->next->next : item->next;
    }
    return rc;
}

helio_rc helio_spec_read_gpu(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_job)
{
    helio_job_spec_t *job = ret_job;
    bool many = node->type == HELIO_SPEC_MAPPING || node->type == HELIO_SPEC_SEQUENCE;
    uint32_t count = many ? node->count : 1;
    if (count == 0)
        return refuse_gpu(reader, node, HELIO_SPEC_WRONG_TYPE_PROBLEM,
                          "expected at least one GPU; omit the key for a CPU job");
    if (count > GPU_ASKS_MAX)
        return refuse_gpu(reader, node, HELIO_SPEC_TOO_BIG_PROBLEM, "expected at most 8 alternatives");
    helio_gpu_ask_t *asks = helio_arena_alloc(reader->arena, count, sizeof *asks);
    helio_rc rc = many ? read_asks(reader, node, asks) : read_ask(reader, node, asks);
    if (rc != HELIO_OK)
        return rc;
    job->gpus.items = asks;
    job->gpus.count = count;
    job->gpus_any = node->type == HELIO_SPEC_MAPPING;
    return HELIO_OK;
}

static helio_rc refuse_array(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_spec_problem_t problem,
                             const char *why)
{
    char found[HELIO_SPEC_FOUND_SIZE];
    return helio_spec_diagnose(reader, node, problem, array_hint, "%s: %s, found %s", reader->path, why,
                               helio_spec_found(node, found));
}

/*  One part between commas, FIRST[-LAST[:STEP]]; the indices are appended to `tasks`. */
static helio_rc read_range(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_text_t part,
                           helio_u32s_t *tasks)
{
    uint64_t first, last, step = 1;
    uint32_t dash = find_char(part, '-');
    helio_text_t rest = dash < part.size ? tail(part, dash + 1) : part;
    uint32_t colon = dash < part.size ? find_char(rest, ':') : rest.size;
    if (helio_u64_parse(head(part, dash), &first) != HELIO_OK ||
        helio_u64_parse(head(rest, colon), &last) != HELIO_OK ||
        (colon < rest.size && helio_u64_parse(tail(rest, colon + 1), &step) != HELIO_OK) || step == 0)
        return refuse_array(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM,
                            "expected an index, FIRST-LAST or FIRST-LAST:STEP between commas");
    if (last < first)
        return refuse_array(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM,
                            "a range must go from the smaller to the larger index");
    if (last > HELIO_SPEC_ARRAY_INDEX_MAX)
        return refuse_array(reader, node, HELIO_SPEC_OUT_OF_RANGE_PROBLEM, "expected indices up to 9999999");
    if ((last - first) / step + 1 > HELIO_JOB_ARRAY_MAX - tasks->count)
        return refuse_array(reader, node, HELIO_SPEC_OUT_OF_RANGE_PROBLEM, "expected at most 10000 tasks");
    for (uint64_t i = first; i <= last; i += step) {
        tasks->items[tasks->count++] = (uint32_t)i;
        if (step > last)
            break; /* the next sum might wrap */
    }
    return HELIO_OK;
}

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static helio_rc sort_tasks(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_u32s_t *tasks)
{
    qsort(tasks->items, tasks->count, sizeof tasks->items[0], compare_u32);
    for (uint32_t i = 1; i < tasks->count; i++)
        if (tasks->items[i] == tasks->items[i - 1])
            return helio_spec_diagnose(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM, "list each index once",
                                       "%s: index %u is given twice", reader->path, tasks->items[i]);
    return HELIO_OK;
}

static helio_rc read_ranges(helio_spec_reader_t *reader, const helio_spec_node_t *node, helio_text_t list,
                            helio_u32s_t *tasks)
{
    for (;;) {
        uint32_t comma = find_char(list, ',');
        helio_rc rc = read_range(reader, node, head(list, comma), tasks);
        if (rc != HELIO_OK)
            return rc;
        if (comma == list.size)
            return sort_tasks(reader, node, tasks);
        list = tail(list, comma + 1);
    }
}

helio_rc helio_spec_read_array(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_job)
{
    helio_job_spec_t *job = ret_job;
    uint64_t at_once = 0;
    if (node->type != HELIO_SPEC_SCALAR || node->text.size == 0)
        return refuse_array(reader, node, HELIO_SPEC_WRONG_TYPE_PROBLEM, "expected indices");
    uint32_t percent = find_char(node->text, '%');
    helio_text_t list = head(node->text, percent);
    if (percent < node->text.size && (helio_u64_parse(tail(node->text, percent + 1), &at_once) != HELIO_OK ||
                                      at_once == 0 || at_once > HELIO_JOB_ARRAY_MAX))
        return refuse_array(reader, node, HELIO_SPEC_BAD_VALUE_PROBLEM, "expected 1 to 10000 tasks at once after '%'");
    /* The arena keeps no more than there are: a stream of ten thousand small arrays is a small one. */
    helio_u32s_t tasks = {helio_new(HELIO_JOB_ARRAY_MAX, sizeof(uint32_t)), 0};
    helio_rc rc = read_ranges(reader, node, list, &tasks);
    if (rc == HELIO_OK) {
        job->tasks = (helio_u32s_t){helio_arena_alloc(reader->arena, tasks.count, sizeof(uint32_t)), tasks.count};
        memcpy(job->tasks.items, tasks.items, tasks.count * sizeof(uint32_t));
        job->tasks_at_once = (uint32_t)at_once;
    }
    free(tasks.items);
    return rc;
}

helio_rc helio_spec_check_placement(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_job)
{
    const helio_spec_node_t *goal = helio_spec_find(node, "goal");
    (void)ret_job;
    if (goal && helio_spec_find(node, "prices"))
        return helio_spec_diagnose(reader, goal, HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   "a goal is a set of prices: remove one of the two",
                                   "%s: 'goal' and 'prices' contradict each other", reader->path);
    return HELIO_OK;
}

helio_rc helio_spec_check_job(helio_spec_reader_t *reader, const helio_spec_node_t *node, void *ret_job)
{
    const helio_job_spec_t *job = ret_job;
    if (job->gpus.count == 0 && job->interconnect == HELIO_INTERCONNECT_NVLINK)
        return helio_spec_diagnose(reader, helio_spec_find(node, "interconnect"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   "add 'gpu: H100:8', or remove interconnect",
                                   "interconnect: nvlink needs GPUs, but the job requests none");
    if (job->gpus.count == 0 && job->sharing == HELIO_SHARING_MIG)
        return helio_spec_diagnose(reader, helio_spec_find(node, "sharing"), HELIO_SPEC_CONTRADICTION_PROBLEM,
                                   "add 'gpu: H100/1g.10gb:1', or remove sharing",
                                   "sharing: mig needs GPUs, but the job requests none");
    if (job->after_task.count && !job->tasks.count)
        return helio_spec_diagnose(reader, helio_spec_find(helio_spec_find(node, "depends"), "after_task"),
                                   HELIO_SPEC_CONTRADICTION_PROBLEM, "add 'array: 0-9', or use after_ok",
                                   "depends.after_task is for tasks of an array, but the job is none");
    return HELIO_OK;
}
