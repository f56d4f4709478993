/*  command.h -- the small JSON objects of commands, read strictly: an unknown key or a wrong type is a problem. */
#ifndef HELIO_BROKER_HTTP_ROUTES_COMMAND_H
#define HELIO_BROKER_HTTP_ROUTES_COMMAND_H

#include <jansson.h>

#include "broker/http/request/request_context.h"
#include "federation/model/attempt.h"

typedef enum helio_member_kind {
    HELIO_MEMBER_TEXT,
    HELIO_MEMBER_WORD, /* a TEXT, or null: none, and flag is true */
    HELIO_MEMBER_BOOL,
    HELIO_MEMBER_NUMBER,
    HELIO_MEMBER_LIMIT,    /* a NUMBER, or null: no limit, and flag is true */
    HELIO_MEMBER_MILLI,    /* a number with a fraction, in thousandths */
    HELIO_MEMBER_MICRO,    /* the same, in millionths */
    HELIO_MEMBER_WORDS,    /* a list of at most words_max texts */
    HELIO_MEMBER_ARGUMENTS /* the same, of any characters but NUL: of a command */
} helio_member_kind_t;

typedef struct helio_member {
    const char *name;
    helio_member_kind_t kind;
    uint32_t bytes_max; /* of TEXT, WORD, and each of WORDS and ARGUMENTS */
    uint32_t words_max;
    bool required;
    /*  Filled in. TEXT lives in the arena. Absent: given is false. */
    bool given;
    helio_text_t text;
    bool flag;
    uint64_t number; /* NUMBER, LIMIT: 0 to 2^53; MILLI: 0 to 10^12; MICRO: 0 to 10^15 */
    helio_string_t *words;
    helio_argument_t *arguments;
    uint32_t word_count;
} helio_member_t;

/*  The request's body (none = {}) as an object that the caller releases. NULL: a problem was answered. */
json_t *helio_command_object(helio_request_context_t *context);
/*  Reads the request's body (none = {}) into members. False: a problem was answered. */
bool helio_command_read(helio_request_context_t *context, helio_arena_t *arena, helio_member_t *members,
                        uint32_t count);

/*  Answers a problem: the word at that key is not one of `words`, which commas separate. */
void helio_command_refuse_word(helio_request_context_t *context, const char *key, helio_text_t word,
                               helio_text_t words);

/*  Whether labels is a list of KEY=VALUE, and with bare also of KEY, separated by commas. False: a problem was answered. */
bool helio_labels_check(helio_request_context_t *context, const char *labels, bool bare);

/*  Whether text is a name of a site, tenant or user: letters, digits, '.', '_', '-'; the first is a letter or digit. */
bool helio_command_name(helio_text_t text, uint32_t bytes_max);
/*  The same for the text at that key. False: a problem was answered. */
bool helio_command_check_name(helio_request_context_t *context, const char *key, helio_text_t name, uint32_t bytes_max);

#endif
