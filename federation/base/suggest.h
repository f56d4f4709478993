/*  suggest.h -- "did you mean": finds the known word nearest to a text. Pure. */
#ifndef HELIO_BASE_SUGGEST_H
#define HELIO_BASE_SUGGEST_H

#include "federation/base/memory.h"

/*  Zero-initialise with the written word, offer every known word, then read `best` (NULL = none is similar). */
typedef struct helio_suggestion {
    helio_text_t written;
    const char *best;
    uint32_t rank; /* of the best; the least is the nearest */
} helio_suggestion_t;

void helio_suggestion_offer(helio_suggestion_t *self, const char *word);

/*  The one of a list of words that is nearest; empty = none is similar. */
helio_text_t helio_suggestion_among(helio_text_t written, helio_text_t words, char separator);

/*  Edit distance without regard to case: insertions, deletions, substitutions and swaps of neighbours (the
 *  restricted Damerau-Levenshtein distance). UINT32_MAX if a word is longer than 64 bytes. */
uint32_t helio_edit_distance(helio_text_t a, helio_text_t b);

#endif
