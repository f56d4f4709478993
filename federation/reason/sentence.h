/*  sentence.h -- the sentence of a detail, for people: the only place where reasons become text.
 *
 *  A template of details.def is plain text with
 *      {name}              the value, in the notation of its kind (detail.h)
 *      {name|job|jobs}     the first word if the value is 1, else the second
 *      [ … ]               left out if a value named inside is 0 or ""; brackets do not nest
 *  Times are UTC. Pure.
 */
#ifndef HELIO_REASON_SENTENCE_H
#define HELIO_REASON_SENTENCE_H

#include "federation/reason/detail.h"

/*  Appends the sentence of one detail; nothing for a code that this program does not know. */
void helio_sentence(const helio_detail_t *detail, helio_buffer_t *out);
/*  Appends the sentences of all details, joined by "; ". */
void helio_sentences(const helio_details_t *details, helio_buffer_t *out);
/*  The same as a text in the arena. */
helio_text_t helio_sentences_text(const helio_details_t *details, helio_arena_t *arena);

/*  One value in the notation of sentences. */
void helio_value_show(helio_value_kind_t kind, const helio_value_t *value, helio_buffer_t *out);

#endif
