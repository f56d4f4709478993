/*  reply.h -- members of the broker's replies, and what the files of this room share. Pure. */
#ifndef HELIO_CLIENT_NOTIFY_REPLY_H
#define HELIO_CLIENT_NOTIFY_REPLY_H

#include "client/notify/core/happening.h"

const char *helio_reply_text(const json_t *object, const char *key); /* "" if absent or no text */
HELIO_MUST_CHECK helio_rc helio_reply_time(const json_t *object, const char *key, int64_t *ret_wall_ms);

/*  happening.c */
void helio_happening_say(helio_happening_t *self, const helio_buffer_t *sentence);
json_t *helio_happening_copy_job(const json_t *job);

#endif
