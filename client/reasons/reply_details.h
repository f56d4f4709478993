/*  reply_details.h -- the details of a broker's reply: the codes and parameters behind a sentence.
 *
 *  A reply, a candidate or a hint has "detail", a sentence for people, and "details", the same as data:
 *  [{"code": "QuotaInUse", "params": {"tenant": "acme", ...}}]. The client decides by codes and parameters only.
 *  Brokers of release 0.1 send sentences alone: such a reply has no details, and the sentence is printed as it came.
 */
#ifndef HELIO_CLIENT_REPLY_DETAILS_H
#define HELIO_CLIENT_REPLY_DETAILS_H

#include <jansson.h>

#include "federation/base/memory.h"
#include "federation/reason/detail.h"

/*  True when one of the object's details has that code. */
bool helio_reply_has_detail(const json_t *object, helio_detail_code_t code);

/*  In a list of details: the parameter of that name in the first detail that has one; NULL = none. Borrowed. */
const json_t *helio_reply_param(const json_t *details, const char *name);

/*  Appends the sentences of a list of details; nothing for NULL, and for codes that this program does not know. */
void helio_reply_sentences(const json_t *list, helio_buffer_t *out);

/*  True when both have details, and the same ones. */
bool helio_reply_details_equal(const json_t *a, const json_t *b);

/*  Appends the sentence of the object's details, without any `until` that is not after now_ms, and returns true.
 *  Returns false, without appending, if no `until` has passed or this program does not know all of the codes: then
 *  "detail" is the best text. */
bool helio_reply_sentence_without_past(const json_t *object, int64_t now_ms, helio_buffer_t *out);

#endif
