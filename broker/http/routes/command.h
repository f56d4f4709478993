/*  command.h -- the small JSON objects that commands carry, read strictly: an unknown key or a wrong type is
 * a problem. */
#ifndef HELIO_BROKER_HTTP_ROUTES_COMMAND_H
#define HELIO_BROKER_HTTP_ROUTES_COMMAND_H

#include "broker/http/request/request_context.h"
#include "federation/model/job.h"

typedef enum helio_member_kind {
    HELIO_MEMBER_TEXT,
    HELIO_MEMBER_WORD, /* a TEXT, or null: none, and flag is true */
    HELIO_MEMBER_BOOL,
    HELIO_MEMBER_NUMBER,
    HELIO_MEMBER_LIMIT, /* a NUMBER, or null: no limit, and flag is true */
    HELIO_MEMBER_MILLI, /* a number with a fraction, in thousandths */
    HELIO_MEMBER_MICRO, /* the same in millionths */
    HELIO_MEMBER_WORDS  /* a list of at most words_max texts */
} helio_member_kind_t;

typedef struct helio_member {
    const char *name;
    helio_member_kind_t kind;
    uint32_t bytes_max; /* TEXT, WORD, each of WORDS */
    uint32_t words_max;
    bool required;
    /*  filled; TEXT lives in the arena. Absent: given is false. */
    bool given;
    helio_text_t text;
    bool flag;
    uint64_t number; /* NUMBER, LIMIT: 0 to 2^53; MILLI: 0 to 10^12; MICRO: 0 to 10^15 */
    helio_string_t *words;
    uint32_t word_count;
} helio_member_t;

/*  Reads the exchange's body (none = {}) into members. false: a problem was answered. */
bool helio_command_read(helio_request_context_t *context, helio_arena_t *arena, helio_member_t *members,
                        uint32_t count);

/*  Letters, digits, '.', '_', '-', beginning with a letter or digit: names of sites, tenants, users. */
bool helio_command_name(helio_text_t text, uint32_t bytes_max);

#endif
