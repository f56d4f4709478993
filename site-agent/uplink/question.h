/*  question.h -- asks a broker whether it would accept this site, while an agent may run: a HELLO of a protocol version
 *  that does not exist. It opens no session; the broker checks the site's name first, and reports a key that belongs to
 *  another site. Pure. */
#ifndef HELIO_UPLINK_QUESTION_H
#define HELIO_UPLINK_QUESTION_H

#include "federation/model/site.h"

HELIO_MUST_CHECK helio_rc helio_question_frame(const helio_site_profile_t *site, helio_buffer_t *out,
                                               helio_error_t *err);

/*  False: the frame is not a reply to the question. *ret_rc: FORBIDDEN for a wrong name, VERSION for a correct one.
 *  *ret_fault: "" or why the two have no protocol version in common. Sizes > 0. */
bool helio_question_answer(helio_text_t frame, helio_rc *ret_rc, char *ret_text, size_t text_size, char *ret_fault,
                           size_t fault_size);

#endif
