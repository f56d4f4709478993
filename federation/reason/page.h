/*  page.h -- the meaning and the remedy of each name in codes.h; docs/reference/reasons.md is made from it. */
#ifndef HELIO_REASON_PAGE_H
#define HELIO_REASON_PAGE_H

#include "federation/base/memory.h"
#include "federation/reason/codes.h"

typedef struct helio_reason_doc {
    const char *meaning; /* a sentence; NULL = missing, which a test detects */
    const char *remedy;
} helio_reason_doc_t;

helio_reason_doc_t helio_reason_doc(helio_reason_t reason);
helio_reason_doc_t helio_rejection_doc(helio_rejection_t rejection);
helio_reason_doc_t helio_cause_doc(helio_cause_t cause);

/*  Appends what the rejection of that name means, in the form of a detail's sentence: the first sentence of its meaning, without
 *  capital and full stop. For candidates that have no detail of their own. A name that this program does not know is
 *  appended as it is. */
void helio_rejection_sentence(helio_text_t name, helio_buffer_t *out);

/*  The reference page. */
void helio_reasons_page(helio_buffer_t *out);

#endif
