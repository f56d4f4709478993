/*  codes.c -- names of reasons, rejections and causes, and the texts of older peers. */
#include "federation/reason/codes.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *word;
    helio_reason_t group;
} rejections[] = {
#define X(name, word, group) {word, HELIO_REASON_##group},
    HELIO_REJECTION_TABLE(X)
#undef X
};

static const char *const reasons[] = {
#define X(name, word) word,
    HELIO_REASON_TABLE(X)
#undef X
};

static const struct {
    const char *word;
    helio_blame_t blame;
} causes[] = {
#define X(name, word, blame) {word, HELIO_BLAME_##blame},
    HELIO_CAUSE_TABLE(X)
#undef X
};

const char *helio_rejection_name(helio_rejection_t rejection)
{
    return rejection < HELIO_REJECTION_COUNT ? rejections[rejection].word : "unknown";
}

helio_reason_t helio_rejection_group(helio_rejection_t rejection)
{
    return rejection < HELIO_REJECTION_COUNT ? rejections[rejection].group : HELIO_REASON_INVALID;
}

const char *helio_reason_name(helio_reason_t reason)
{
    return reason < HELIO_REASON_COUNT ? reasons[reason] : "unknown";
}

const char *helio_cause_name(uint32_t cause)
{
    return cause < HELIO_CAUSE_COUNT ? causes[cause].word : "unknown";
}

helio_blame_t helio_cause_blame(uint32_t cause)
{
    return cause < HELIO_CAUSE_COUNT ? causes[cause].blame : HELIO_BLAME_POOL;
}

helio_cause_t helio_cause_of_text(helio_text_t text, helio_text_t *ret_rest)
{
    *ret_rest = text;
    for (uint32_t i = HELIO_CAUSE_NONE + 1; i < HELIO_CAUSE_COUNT; i++) {
        uint32_t size = (uint32_t)strlen(causes[i].word);
        if (text.size < size || memcmp(text.data, causes[i].word, size) != 0)
            continue;
        if (text.size == size)
            *ret_rest = (helio_text_t){0};
        else if (text.size >= size + 2 && text.data[size] == ':' && text.data[size + 1] == ' ')
            *ret_rest = (helio_text_t){text.data + size + 2, text.size - size - 2};
        else
            continue;
        return (helio_cause_t)i;
    }
    return HELIO_CAUSE_NONE;
}

void helio_cause_derive(helio_text_t text, uint32_t *cause, helio_text_t *explanation)
{
    if (*cause == HELIO_CAUSE_NONE && !explanation->size)
        *cause = helio_cause_of_text(text, explanation);
}

helio_text_t helio_cause_text(uint32_t cause, helio_text_t explanation, char *into, size_t capacity)
{
    bool bare =
        cause == HELIO_CAUSE_NONE || cause >= HELIO_CAUSE_COUNT || (cause == HELIO_CAUSE_STOPPED && explanation.size);
    (void)snprintf(into, capacity, "%s%s%.*s", bare ? "" : causes[cause].word, !bare && explanation.size ? ": " : "",
                   HELIO_TEXT_ARGS(explanation));
    return helio_text_of(into);
}
