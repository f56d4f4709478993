/*  outbox.h -- the ordered queue of frames to one peer, bounded in number and bytes. Used by server.c only. */
#ifndef HELIO_NET_OUTBOX_H
#define HELIO_NET_OUTBOX_H

#include "federation/base/memory.h"

typedef struct helio_outbox_frame helio_outbox_frame_t;

/*  Zero-initialised is empty. */
typedef struct helio_outbox {
    helio_outbox_frame_t *first, *last;
    uint32_t messages;
    size_t bytes;
} helio_outbox_t;

/*  Copies the frame. HELIO_BUSY if a bound would be exceeded; then nothing is added. */
HELIO_MUST_CHECK helio_rc helio_outbox_add(helio_outbox_t *self, helio_text_t frame, uint32_t messages_max,
                                           size_t bytes_max);
helio_text_t helio_outbox_first(const helio_outbox_t *self); /* {NULL, 0} when empty */
void helio_outbox_remove_first(helio_outbox_t *self);
void helio_outbox_clear(helio_outbox_t *self);

#endif
