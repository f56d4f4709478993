/*  answer.c -- reads what an adapter prints. */
#include "site-agent/backends/exec/answer.h"

#include <jansson.h>
#include <string.h>

#include "federation/reason/codes.h"

enum { TEXT_MOST = 4096, CPUS_MOST = 65536 };
static const int64_t memory_most = INT64_C(1) << 50;

typedef struct reading {
    helio_arena_t *arena;
    helio_exec_answer_t *answer;
    uint32_t line;
    bool over; /* `end` was read */
    helio_error_t *err;
} reading_t;

static helio_rc wrong(const reading_t *self, const char *key, const char *what)
{
    return helio_fail(self->err, HELIO_INVALID, "line %u: %s%s%s", self->line, key, key[0] ? ": " : "", what);
}

/* ---- members ------------------------------------------------------------------------------------------- */

/*  Absent and null leave "". Control characters are not part of an id or a sentence. */
static helio_rc take_text(const reading_t *self, const json_t *object, const char *key, helio_text_t *ret)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return HELIO_OK;
    if (!json_is_string(value))
        return wrong(self, key, "not a text");
    if (json_string_length(value) > TEXT_MOST)
        return wrong(self, key, "longer than 4096 bytes");
    *ret = helio_arena_text(self->arena, (helio_text_t){json_string_value(value), (uint32_t)json_string_length(value)});
    for (uint32_t i = 0; i < ret->size; i++)
        if ((unsigned char)ret->data[i] < 0x20 || ret->data[i] == 0x7f)
            ((char *)(uintptr_t)ret->data)[i] = ' ';
    return HELIO_OK;
}

static helio_rc take_number(const reading_t *self, const json_t *object, const char *key, int64_t most, int64_t *ret)
{
    const json_t *value = json_object_get(object, key);
    if (!value || json_is_null(value))
        return HELIO_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > most)
        return wrong(self, key, "not a whole number within bounds");
    *ret = json_integer_value(value);
    return HELIO_OK;
}

static helio_rc take_bool(const reading_t *self, const json_t *object, const char *key, bool *ret)
{
    const json_t *value = json_object_get(object, key);
    if (!value)
        return HELIO_OK;
    if (!json_is_boolean(value))
        return wrong(self, key, "neither true nor false");
    *ret = json_is_true(value);
    return HELIO_OK;
}

static helio_rc take_u32(const reading_t *self, const json_t *object, const char *key, int64_t most, uint32_t *ret)
{
    int64_t value = *ret;
    helio_rc rc = take_number(self, object, key, most, &value);
    *ret = (uint32_t)value;
    return rc;
}

static helio_rc take_u64(const reading_t *self, const json_t *object, const char *key, uint64_t *ret)
{
    int64_t value = (int64_t)*ret;
    helio_rc rc = take_number(self, object, key, memory_most, &value);
    *ret = (uint64_t)value;
    return rc;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static helio_rc take_node(reading_t *self, const json_t *object)
{
    helio_exec_node_t node = {.up = true};
    helio_rc rc = take_text(self, object, "name", &node.name);
    if (!rc)
        rc = take_text(self, object, "pool", &node.pool);
    if (!rc)
        rc = take_bool(self, object, "up", &node.up);
    if (!rc)
        rc = take_u32(self, object, "gpus", HELIO_JOB_GPUS_PER_NODE_MAX, &node.gpus);
    if (!rc)
        rc = take_u32(self, object, "gpus_used", HELIO_JOB_GPUS_PER_NODE_MAX, &node.gpus_used);
    if (!rc)
        rc = take_u32(self, object, "cpus", CPUS_MOST, &node.cpus);
    if (!rc)
        rc = take_u32(self, object, "cpus_used", CPUS_MOST, &node.cpus_used);
    if (!rc)
        rc = take_u64(self, object, "memory_bytes", &node.memory_bytes);
    if (!rc)
        rc = take_u64(self, object, "memory_used_bytes", &node.memory_used_bytes);
    if (!rc && !node.name.size)
        rc = wrong(self, "node", "has no name");
    if (rc)
        return rc;
    self->answer->nodes[self->answer->node_count++] = node;
    return HELIO_OK;
}

static helio_rc take_state(const reading_t *self, const json_t *object, helio_exec_seen_t *seen)
{
    static const char *const words[HELIO_EXEC_STATES] = {"waiting", "running", "suspended", "ended"};
    helio_text_t word = {0};
    uint32_t place = 0;
    helio_rc rc = take_text(self, object, "state", &word);
    if (!rc && helio_text_among(word, words, HELIO_EXEC_STATES, &place))
        rc = wrong(self, "state", "none of waiting, running, suspended, ended");
    seen->state = (helio_exec_state_t)place;
    return rc;
}

/*  Words of a later version count as none. */
static helio_rc take_cause(const reading_t *self, const json_t *object, helio_exec_seen_t *seen)
{
    static const char *const words[] = {"cancelled", "preempted", "node", "memory"};
    static const uint32_t causes[] = {HELIO_CAUSE_SITE_CANCELLED, HELIO_CAUSE_PREEMPTED, HELIO_CAUSE_NODE_FAILED,
                                      HELIO_CAUSE_OUT_OF_MEMORY};
    helio_text_t word = {0};
    uint32_t place = 0;
    helio_rc rc = take_text(self, object, "cause", &word);
    if (!rc && word.size && helio_text_among(word, words, 4, &place) == HELIO_OK)
        seen->cause = causes[place];
    return rc;
}

static helio_rc take_attempt(reading_t *self, const json_t *object)
{
    helio_exec_seen_t seen = {.cause = HELIO_CAUSE_NONE};
    helio_text_t name = {0};
    helio_rc rc = take_text(self, object, "name", &name);
    if (!rc && helio_attempt_name_parse(name, &seen.key, &seen.epoch))
        rc = wrong(self, "name", "not an attempt's name as it was submitted");
    if (!rc)
        rc = take_text(self, object, "id", &seen.id);
    if (!rc && seen.id.size >= HELIO_EXEC_ID_SIZE)
        rc = wrong(self, "id", "longer than 63 bytes");
    if (!rc)
        rc = take_state(self, object, &seen);
    if (!rc)
        rc = take_text(self, object, "node", &seen.node);
    if (!rc)
        rc = take_text(self, object, "reason", &seen.reason);
    if (!rc)
        rc = take_cause(self, object, &seen);
    if (!rc)
        rc = take_number(self, object, "begun_ms", INT64_MAX / 4, &seen.begun_ms);
    if (!rc)
        rc = take_number(self, object, "ended_ms", INT64_MAX / 4, &seen.ended_ms);
    if (rc)
        return rc;
    self->answer->attempts[self->answer->attempt_count++] = seen;
    return HELIO_OK;
}

static helio_rc take_counts(const reading_t *self, const json_t *object, helio_exec_end_t *end)
{
    int64_t nodes = -1, attempts = -1;
    helio_rc rc = take_number(self, object, "nodes", HELIO_EXEC_LINES_MAX, &nodes);
    if (!rc)
        rc = take_number(self, object, "attempts", HELIO_EXEC_LINES_MAX, &attempts);
    if (rc)
        return rc;
    if ((nodes >= 0 && nodes != self->answer->node_count) || (attempts >= 0 && attempts != self->answer->attempt_count))
        return wrong(self, "end", "counts other lines than came");
    end->counted = nodes >= 0 && attempts >= 0;
    return HELIO_OK;
}

/*  "queue": {"h100": 1200} */
static helio_rc take_queues(const reading_t *self, const json_t *object, helio_exec_end_t *end)
{
    const json_t *queues = json_object_get(object, "queue");
    if (!queues || json_is_null(queues))
        return HELIO_OK;
    if (!json_is_object(queues) || json_object_size(queues) > HELIO_SITE_POOLS_MAX)
        return wrong(self, "queue", "no object with at most 64 pools");
    const char *pool;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)queues, pool, value)
    {
        if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= UINT32_MAX)
            return wrong(self, "queue", "a pool without its seconds");
        end->queues[end->queue_count++] = (helio_exec_queue_t){helio_arena_text(self->arena, helio_text_of(pool)),
                                                               (uint32_t)json_integer_value(value)};
    }
    return HELIO_OK;
}

static helio_rc take_end(reading_t *self, const json_t *object)
{
    helio_exec_end_t *end = &self->answer->end;
    self->over = true;
    helio_rc rc = take_counts(self, object, end);
    if (!rc)
        rc = take_text(self, object, "submitted", &end->submitted);
    if (!rc && end->submitted.size >= HELIO_EXEC_ID_SIZE)
        rc = wrong(self, "submitted", "longer than 63 bytes");
    if (!rc)
        rc = take_text(self, object, "refused", &end->refused);
    if (!rc)
        rc = take_text(self, object, "later", &end->later);
    if (!rc && (end->submitted.size > 0) + (end->refused.size > 0) + (end->later.size > 0) > 1)
        rc = wrong(self, "end", "has more than one of submitted, refused, later");
    end->has_fenced = json_object_get(object, "fenced") != NULL;
    if (!rc)
        rc = take_bool(self, object, "fenced", &end->fenced);
    if (!rc)
        rc = take_u32(self, object, "helio", UINT32_MAX, &end->protocol);
    if (!rc)
        rc = take_text(self, object, "engine", &end->engine);
    if (!rc)
        rc = take_bool(self, object, "carries", &end->carries);
    if (!rc)
        rc = take_bool(self, object, "gangs", &end->gangs);
    if (!rc)
        rc = take_queues(self, object, end);
    return rc;
}

static helio_rc take_object(reading_t *self, const json_t *line)
{
    const json_t *node = json_object_get(line, "node"), *attempt = json_object_get(line, "attempt"),
                 *end = json_object_get(line, "end");
    const json_t *one = node ? node : attempt ? attempt : end;
    if (json_object_size(line) != 1 || !json_is_object(one))
        return wrong(self, "", "not an object with one of node, attempt, end, each an object");
    if (self->over)
        return wrong(self, "", "after the end");
    return node ? take_node(self, one) : attempt ? take_attempt(self, one) : take_end(self, one);
}

static helio_rc take_line(reading_t *self, helio_text_t text)
{
    if (text.size > HELIO_EXEC_LINE_MAX)
        return wrong(self, "", "longer than 64 KiB");
    json_error_t why;
    json_t *line = json_loadb(text.data, text.size, JSON_REJECT_DUPLICATES, &why);
    if (!line)
        return wrong(self, "not JSON", why.text);
    helio_rc rc = take_object(self, line);
    json_decref(line);
    return rc;
}

static bool is_blank(helio_text_t text)
{
    for (uint32_t i = 0; i < text.size; i++)
        if (!memchr(" \t\r", text.data[i], 3))
            return false;
    return true;
}

/*  The rest begins after it. */
static helio_text_t cut_line(helio_text_t *rest)
{
    const char *end = rest->size ? memchr(rest->data, '\n', rest->size) : NULL;
    helio_text_t line = {rest->data, end ? (uint32_t)(end - rest->data) : rest->size};
    uint32_t used = line.size + (end != NULL);
    *rest = (helio_text_t){rest->data + used, rest->size - used};
    return line;
}

static uint32_t lines_of(helio_text_t text)
{
    uint32_t lines = 1;
    for (uint32_t i = 0; i < text.size; i++)
        lines += text.data[i] == '\n';
    return lines;
}

helio_rc helio_exec_answer_read(helio_text_t text, helio_arena_t *arena, helio_exec_answer_t *ret_answer,
                                helio_error_t *err)
{
    helio_exec_answer_t answer = {0};
    reading_t self = {.arena = arena, .answer = &answer, .err = err};
    uint32_t lines = lines_of(text);
    if (lines > HELIO_EXEC_LINES_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "more than %d lines", HELIO_EXEC_LINES_MAX);
    answer.nodes = helio_arena_alloc(arena, lines, sizeof *answer.nodes);
    answer.attempts = helio_arena_alloc(arena, lines, sizeof *answer.attempts);
    helio_rc rc = HELIO_OK;
    while (text.size && !rc) {
        helio_text_t line = cut_line(&text);
        self.line++;
        if (!is_blank(line))
            rc = take_line(&self, line);
    }
    if (!rc && !self.over)
        rc = helio_fail(err, HELIO_INVALID, "no line with `end`: the answer is cut");
    if (!rc)
        *ret_answer = answer;
    return rc;
}
