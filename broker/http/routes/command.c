/*  command.c -- reads the JSON object of a command into a table of members. */
#include "broker/http/routes/command.h"
#include "federation/base/char.h"

#include <jansson.h>
#include <string.h>

#include "federation/base/suggest.h"

static const char *expected(const helio_member_t *member)
{
    switch (member->kind) {
    case HELIO_MEMBER_TEXT:
        return "a text";
    case HELIO_MEMBER_WORD:
        return "a text, not too long, or null for none";
    case HELIO_MEMBER_BOOL:
        return "true or false";
    case HELIO_MEMBER_LIMIT:
        return "a whole number, not negative, or null for no limit";
    case HELIO_MEMBER_MILLI:
    case HELIO_MEMBER_MICRO:
        return "a number, not negative";
    case HELIO_MEMBER_WORDS:
    case HELIO_MEMBER_ARGUMENTS:
        return "a list of texts, not too long and not too many";
    case HELIO_MEMBER_NUMBER:
    default:
        return "a whole number, not negative";
    }
}

static bool fill_number(helio_member_t *member, const json_t *value)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > (INT64_C(1) << 53))
        return false;
    member->number = (uint64_t)json_integer_value(value);
    return true;
}

static bool fill_text(const helio_member_t *member, const json_t *value, helio_arena_t *arena, helio_text_t *ret_text)
{
    if (!json_is_string(value) || json_string_length(value) > member->bytes_max)
        return false;
    helio_text_t text =
        helio_arena_text(arena, (helio_text_t){json_string_value(value), (uint32_t)json_string_length(value)});
    for (uint32_t i = 0; i < text.size; i++)
        if ((unsigned char)text.data[i] < 0x20 || text.data[i] == 0x7f)
            return false;
    *ret_text = text;
    return true;
}

static bool fill_words(helio_member_t *member, const json_t *value, helio_arena_t *arena)
{
    if (!json_is_array(value) || json_array_size(value) > member->words_max)
        return false;
    member->word_count = (uint32_t)json_array_size(value);
    member->words = helio_arena_alloc(arena, member->word_count, sizeof *member->words);
    for (uint32_t i = 0; i < member->word_count; i++)
        if (!fill_text(member, json_array_get(value, i), arena, &member->words[i].text))
            return false;
    return true;
}

static bool fill_arguments(helio_member_t *member, const json_t *value, helio_arena_t *arena)
{
    if (!json_is_array(value) || json_array_size(value) > member->words_max)
        return false;
    member->word_count = (uint32_t)json_array_size(value);
    member->arguments = helio_arena_alloc(arena, member->word_count, sizeof *member->arguments);
    for (uint32_t i = 0; i < member->word_count; i++) {
        const json_t *word = json_array_get(value, i);
        if (!json_is_string(word) || json_string_length(word) > member->bytes_max)
            return false;
        member->arguments[i].text =
            helio_arena_text(arena, (helio_text_t){json_string_value(word), (uint32_t)json_string_length(word)});
    }
    return true;
}

static bool fill_fraction(helio_member_t *member, const json_t *value, double parts)
{
    if (!json_is_number(value) || !(json_number_value(value) >= 0 && json_number_value(value) <= 1e9))
        return false;
    member->number = (uint64_t)(json_number_value(value) * parts + 0.5);
    return true;
}

static bool fill(helio_member_t *member, const json_t *value, helio_arena_t *arena)
{
    member->given = true;
    switch (member->kind) {
    case HELIO_MEMBER_TEXT:
        return fill_text(member, value, arena, &member->text);
    case HELIO_MEMBER_WORD:
        member->flag = json_is_null(value);
        return member->flag || fill_text(member, value, arena, &member->text);
    case HELIO_MEMBER_ARGUMENTS:
        return fill_arguments(member, value, arena);
    case HELIO_MEMBER_WORDS:
        return fill_words(member, value, arena);
    case HELIO_MEMBER_BOOL:
        member->flag = json_is_true(value);
        return json_is_boolean(value);
    case HELIO_MEMBER_MILLI:
        return fill_fraction(member, value, 1e3);
    case HELIO_MEMBER_MICRO:
        return fill_fraction(member, value, 1e6);
    case HELIO_MEMBER_LIMIT:
        member->flag = json_is_null(value);
        return member->flag || fill_number(member, value);
    case HELIO_MEMBER_NUMBER:
    default:
        return fill_number(member, value);
    }
}

static helio_member_t *member_of(helio_member_t *members, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(members[i].name, name) == 0)
            return &members[i];
    return NULL;
}

void helio_command_refuse_word(helio_request_context_t *self, const char *key, helio_text_t word, helio_text_t words)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < words.size; i++)
        count += words.data[i] == ',';
    HELIO_PROBLEM(self, 400, MEMBER_WORD, helio_value_string(key), helio_value_text(word),
                  ((helio_value_t){.text = words, .number = count}),
                  helio_value_text(helio_suggestion_among(word, words, ',')));
}

static void reply_unknown(helio_request_context_t *self, const char *name, const helio_member_t *members,
                          uint32_t count)
{
    helio_suggestion_t suggestion = {.written = helio_text_of(name)};
    for (uint32_t i = 0; i < count; i++)
        helio_suggestion_offer(&suggestion, members[i].name);
    HELIO_PROBLEM(self, 400, MEMBER_UNKNOWN, helio_value_string(name),
                  helio_value_string(suggestion.best ? suggestion.best : ""));
}

static bool read_object(helio_request_context_t *self, json_t *object, helio_arena_t *arena, helio_member_t *members,
                        uint32_t count)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        helio_member_t *member = member_of(members, count, name);
        if (!member) {
            reply_unknown(self, name, members, count);
            return false;
        }
        if (!fill(member, value, arena)) {
            if (member->kind == HELIO_MEMBER_TEXT)
                HELIO_PROBLEM(self, 400, MEMBER_TEXT, helio_value_string(name), helio_value_number(member->bytes_max));
            else
                HELIO_PROBLEM(self, 400, MEMBER_TYPE, helio_value_string(name), helio_value_string(expected(member)));
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (members[i].required && !members[i].given) {
            HELIO_PROBLEM(self, 400, MEMBER_MISSING, helio_value_string(members[i].name));
            return false;
        }
    }
    return true;
}

json_t *helio_command_object(helio_request_context_t *self)
{
    json_error_t error;
    json_t *object =
        self->body.size ? json_loadb(self->body.data, self->body.size, JSON_REJECT_DUPLICATES, &error) : json_object();
    if (json_is_object(object))
        return object;
    if (object)
        HELIO_PROBLEM0(self, 400, BODY_NOT_OBJECT);
    else
        HELIO_PROBLEM(self, 400, BODY_NOT_JSON, helio_value_number(error.line), helio_value_number(error.column),
                      helio_value_string(error.text));
    json_decref(object);
    return NULL;
}

bool helio_command_read(helio_request_context_t *self, helio_arena_t *arena, helio_member_t *members, uint32_t count)
{
    json_t *object = helio_command_object(self);
    if (!object)
        return false;
    bool good = read_object(self, object, arena, members, count);
    json_decref(object);
    return good;
}

bool helio_labels_check(helio_request_context_t *self, const char *labels, bool bare)
{
    uint32_t count = 0;
    for (const char *word = labels; word; word = *word == ',' ? word + 1 : NULL) {
        size_t size = strcspn(word, ",");
        helio_text_t label = {word, (uint32_t)size}, key, value;
        if (!helio_label_split(label, bare, &key, &value) || count++ == HELIO_LABELS_MAX) {
            HELIO_PROBLEM(self, 400, QUERY_LABEL, helio_value_text(label));
            return false;
        }
        word += size;
    }
    return true;
}

bool helio_command_name(helio_text_t text, uint32_t bytes_max)
{
    return helio_is_name(text, bytes_max);
}

bool helio_command_check_name(helio_request_context_t *self, const char *key, helio_text_t name, uint32_t bytes_max)
{
    if (helio_command_name(name, bytes_max))
        return true;
    HELIO_PROBLEM(self, 400, NAME_INVALID, helio_value_string(key), helio_value_text(name),
                  helio_value_number(bytes_max));
    return false;
}
