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

/*  The reference page. */
void helio_reasons_page(helio_buffer_t *out);

#endif
