/*  detail.h -- the facts behind a reason, as data: a code of a closed list and its typed values.
 *
 *  A core emits HELIO_DETAIL_QUOTA_IN_USE with a tenant and three numbers; it composes no sentence. Rows, SQL, HTTP and
 *  the wire carry the code and the values. The sentence is made at the edge (sentence.h) from the catalogue,
 *  details.def, and travels beside the code for people. Programs read codes and never parse a sentence.
 *
 *  One reason can have several details: the first is the dominant one. Pure; one owner; texts are borrowed.
 */
#ifndef HELIO_REASON_DETAIL_H
#define HELIO_REASON_DETAIL_H

#include "federation/base/record.h"

enum {
    HELIO_DETAIL_VALUES_MAX = 8,
    HELIO_DETAIL_TEXT_MAX = 512,  /* bytes of one value's text */
    HELIO_DETAILS_MAX = 16,       /* of one reason */
    HELIO_DETAILS_TEXT_MAX = 8192 /* bytes of all texts of one reason: what a row, a reply and a page can carry */
};

/*  How a value is stored, shown in a sentence, and written in JSON.
 *      NAME      unit of helio_value_t.number       sentence             JSON */
#define HELIO_VALUE_KIND_TABLE(X)                                                                          \
    X(TEXT, "text")            /* .text            as it is              string                       */   \
    X(NAMES, "names")          /* .text "a,b,c"; .number = how many there are, named or not:             \
                                    *                  "a, b, c and 2 more"  array, and NAME_total        */ \
    X(COUNT, "integer")        /* a number         "12"                  integer                      */   \
    X(FLAG, "boolean")         /* 0 or 1           only in [ … ]         boolean                      */ \
    X(USD, "USD")              /* micro-USD        "$12.30"              number                       */   \
    X(MINUTE, "RFC 3339 time") /* Unix ms          "2026-03-01T14:00Z"   string; absent when 0        */   \
    X(SECOND, "RFC 3339 time") /* Unix ms          "2026-03-01T14:00:05Z", rounded up; the same       */   \
    X(SPAN, "seconds")         /* ms, rounded up   "45s" "2m05s" "4h30m" number                       */   \
    X(CARBON, "g/kWh")         /* mg/kWh           "412"                 number                       */   \
    X(MASS, "g of CO2e")       /* mg               "1.9 kg"              number                       */   \
    X(ENERGY, "kWh")           /* J                "71 kWh"              number                       */   \
    X(BYTES, "bytes")          /* bytes            "80 GB" "1.5 TB"      integer                      */   \
    X(MILLI, "number")         /* thousandths      "4,980" "1.25"        number                       */   \
    X(PERCENT, "percent")      /* percent          "12 %"                integer                      */
#define HELIO_VALUE_KIND_ENUMERATOR_(name, json) HELIO_VALUE_##name,
typedef enum helio_value_kind {
    HELIO_VALUE_KIND_TABLE(HELIO_VALUE_KIND_ENUMERATOR_) HELIO_VALUE_KIND_COUNT
} helio_value_kind_t;

#define HELIO_VALUE_FIELDS(F, R) \
    F(R, I64, number, 0, _)      \
    F(R, TEXT, text, HELIO_DETAIL_TEXT_MAX, _)
HELIO_RECORD_DECLARE(helio_value, HELIO_VALUE_FIELDS)

/*  code: helio_detail_code_t. A code that only a newer peer knows is kept and has no sentence. */
#define HELIO_DETAIL_FIELDS(F, R) \
    F(R, U32, code, 0, _)         \
    F(R, LIST, values, HELIO_DETAIL_VALUES_MAX, helio_value)
HELIO_RECORD_DECLARE(helio_detail, HELIO_DETAIL_FIELDS)

#define HELIO_DETAILS_FIELDS(F, R) F(R, LIST, items, HELIO_DETAILS_MAX, helio_detail)
HELIO_RECORD_DECLARE(helio_details, HELIO_DETAILS_FIELDS)

/*  The codes, from the catalogue. The order is the stored and transmitted value: append only. */
typedef enum helio_detail_code {
    HELIO_DETAIL_NONE,
#define DETAIL(name, word, sentence, ...) HELIO_DETAIL_##name,
#define DETAIL0(name, word, sentence) HELIO_DETAIL_##name,
#include "federation/reason/details.def"
    HELIO_DETAIL_CODE_COUNT
} helio_detail_code_t;

typedef struct helio_param {
    helio_value_kind_t kind;
    const char *name; /* in JSON and in the sentence: with its unit, as cost_usd, wait_s */
} helio_param_t;

typedef struct helio_detail_entry {
    const char *word;     /* in JSON: "QuotaInUse" */
    const char *sentence; /* a template (sentence.h) */
    helio_param_t params[HELIO_DETAIL_VALUES_MAX];
    uint32_t param_count;
} helio_detail_entry_t;

/*  NULL: this program does not know the code. */
const helio_detail_entry_t *helio_detail_entry(uint32_t code);
/*  HELIO_DETAIL_NONE: no code has that name. */
helio_detail_code_t helio_detail_code_of(helio_text_t word);

/*  Values, in the order of the entry's parameters. */
static inline helio_value_t helio_value_text(helio_text_t text)
{
    return (helio_value_t){.text = text};
}
static inline helio_value_t helio_value_string(const char *text)
{
    return (helio_value_t){.text = helio_text_of(text)};
}
static inline helio_value_t helio_value_number(int64_t number)
{
    return (helio_value_t){.number = number};
}

/*  A detail with copies of the values in the arena; texts longer than HELIO_DETAIL_TEXT_MAX are truncated at a
 *  character. Asserts that the number of values is that of the entry's parameters. */
helio_detail_t helio_detail_make(helio_arena_t *arena, helio_detail_code_t code, const helio_value_t *values,
                                 uint32_t count);
#define HELIO_DETAIL(arena, code, ...)                                   \
    helio_detail_make(arena, code, (const helio_value_t[]){__VA_ARGS__}, \
                      (uint32_t)(sizeof((const helio_value_t[]){__VA_ARGS__}) / sizeof(helio_value_t)))
/*  A detail whose entry has no parameters. */
#define HELIO_DETAIL0(code) helio_detail_make(NULL, code, NULL, 0)

/*  Appends. Details that would exceed HELIO_DETAILS_MAX or HELIO_DETAILS_TEXT_MAX are left out, so append the important
 *  ones first. The list grows in the arena. NONE appends nothing. */
void helio_details_add(helio_details_t *self, helio_arena_t *arena, helio_detail_t detail);
/*  Appends the details of another list; the values are shared. */
void helio_details_join(helio_details_t *self, helio_arena_t *arena, const helio_details_t *more);
/*  Bytes of all texts. Never more than HELIO_DETAILS_TEXT_MAX in a list that was built here. */
uint32_t helio_details_text_size(const helio_details_t *self);
/*  The first detail of that code; NULL = none. */
const helio_detail_t *helio_details_find(const helio_details_t *self, helio_detail_code_t code);
/*  The value of a parameter by its index; zero and "" if an older peer sent fewer. */
helio_value_t helio_detail_value(const helio_detail_t *self, uint32_t position);

#endif
