/*  depends.c -- collects the names in `depends`, and resolves them from one query. */
#include "broker/http/routes/depends.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/json.h"

static uint32_t words_of(const helio_job_spec_t *spec)
{
    return spec->after_ok.count + spec->after_any.count + spec->after_not_ok.count + spec->after_start.count +
           spec->after_task.count * spec->tasks.count;
}

static int by_word(const void *a_, const void *b_)
{
    helio_text_t a = (*(helio_dependency_t *const *)a_)->word, b = (*(helio_dependency_t *const *)b_)->word;
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static helio_dependency_t *list(helio_dependency_t *at, const helio_string_t *words, uint32_t count,
                                helio_after_t after)
{
    for (uint32_t i = 0; i < count; i++)
        *at++ = (helio_dependency_t){.word = words[i].text, .after = after};
    return at;
}

/*  Every task of the job depends on the one of its index. */
static void list_tasks(helio_dependency_t *at, const helio_job_spec_t *spec, helio_arena_t *arena)
{
    for (uint32_t i = 0; i < spec->after_task.count; i++)
        for (uint32_t k = 0; k < spec->tasks.count; k++)
            *at++ = (helio_dependency_t){
                .word = helio_arena_printf(arena, "%.*s.%u", (int)spec->after_task.items[i].text.size,
                                           spec->after_task.items[i].text.data, spec->tasks.items[k]),
                .after = HELIO_AFTER_TASK};
}

static bool is_new_word(const helio_depends_t *self, uint32_t i)
{
    return i == 0 || !helio_text_equal(self->sorted[i - 1]->word, self->sorted[i]->word);
}

/*  The word without a task. */
static helio_text_t id_of(helio_text_t word)
{
    const char *dot = memchr(word.data, '.', word.size);
    return (helio_text_t){word.data, dot ? (uint32_t)(dot - word.data) : word.size};
}

/*  A new part of an id, which is looked for among all open jobs. */
static bool is_new_part(const helio_depends_t *self, uint32_t i)
{
    helio_text_t id = id_of(self->sorted[i]->word);
    return id.size < HELIO_ID_CHARS && !(i && helio_text_equal(id_of(self->sorted[i - 1]->word), id));
}

helio_depends_t helio_depends_of(helio_ev_submit_t *event, helio_arena_t *arena)
{
    helio_depends_t self = {0};
    for (uint32_t i = 0; i < event->jobs.count; i++)
        self.count += words_of(&event->jobs.items[i].spec);
    if (!self.count)
        return self;
    self.sorted = helio_arena_alloc(arena, self.count, sizeof *self.sorted);
    uint32_t at = 0;
    for (uint32_t i = 0; i < event->jobs.count; i++) {
        helio_submission_t *job = &event->jobs.items[i];
        const helio_job_spec_t *spec = &job->spec;
        job->depends.count = words_of(spec);
        job->depends.items = helio_arena_alloc(arena, job->depends.count, sizeof *job->depends.items);
        helio_dependency_t *next = job->depends.items;
        next = list(next, spec->after_ok.items, spec->after_ok.count, HELIO_AFTER_OK);
        next = list(next, spec->after_any.items, spec->after_any.count, HELIO_AFTER_ANY);
        next = list(next, spec->after_not_ok.items, spec->after_not_ok.count, HELIO_AFTER_NOT_OK);
        next = list(next, spec->after_start.items, spec->after_start.count, HELIO_AFTER_START);
        list_tasks(next, spec, arena);
        for (uint32_t k = 0; k < job->depends.count; k++)
            self.sorted[at++] = &job->depends.items[k];
    }
    qsort(self.sorted, self.count, sizeof *self.sorted, by_word);
    for (uint32_t i = 0; i < self.count; i++) {
        self.words += is_new_word(&self, i);
        self.parts += is_new_part(&self, i);
    }
    return self;
}

const char *helio_depends_question(const helio_depends_t *self, helio_arena_t *arena)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_json_writer_t json = helio_json_into(&text);
    helio_json_begin_array(&json, NULL);
    for (uint32_t i = 0; i < self->count; i++)
        if (is_new_word(self, i))
            helio_json_put_text(&json, NULL, self->sorted[i]->word);
    helio_json_end(&json);
    return helio_arena_string(arena, helio_buffer_view(&text));
}

static bool read_entry(const json_t *entry, helio_dependency_t *ret_found)
{
    const json_t *number = json_object_get(entry, "found");
    json_int_t found = json_integer_value(number);
    const char *id = json_string_value(json_object_get(entry, "id"));
    if (!json_is_integer(number) || found < 0 || found >= HELIO_FOUND_COUNT)
        return false;
    ret_found->found = (uint32_t)found;
    if (found == HELIO_FOUND_UNKNOWN || found == HELIO_FOUND_AMBIGUOUS)
        return true;
    return id && helio_job_key_parse(helio_text_of(id), &ret_found->on) == HELIO_OK;
}

helio_rc helio_depends_resolve(const helio_depends_t *self, helio_text_t json, helio_error_t *err)
{
    json_t *entries = json_loadb(json.data, json.size, 0, NULL);
    bool good = json_array_size(entries) == self->words;
    helio_dependency_t found = {0};
    size_t word = 0;
    for (uint32_t i = 0; good && i < self->count; i++) {
        if (is_new_word(self, i)) {
            found = (helio_dependency_t){0};
            good = read_entry(json_array_get(entries, word++), &found);
        }
        self->sorted[i]->found = found.found;
        self->sorted[i]->on = found.on;
    }
    json_decref(entries);
    return good ? HELIO_OK : helio_fail(err, HELIO_PROTOCOL, "the database's answer on dependencies cannot be read");
}
