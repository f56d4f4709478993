/*  outbox.c -- a bounded queue of frames. */
#include "federation/net/outbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct helio_outbox_frame {
    helio_outbox_frame_t *next;
    uint32_t size;
    char bytes[];
};

helio_rc helio_outbox_add(helio_outbox_t *self, helio_text_t frame, uint32_t messages_max, size_t bytes_max)
{
    if (self->messages >= messages_max || self->bytes + frame.size > bytes_max)
        return HELIO_BUSY;
    helio_outbox_frame_t *added = helio_grow(NULL, 1, sizeof *added + frame.size);
    added->next = NULL;
    added->size = frame.size;
    memcpy(added->bytes, frame.data, frame.size);
    if (self->last)
        self->last->next = added;
    else
        self->first = added;
    self->last = added;
    self->messages++;
    self->bytes += frame.size;
    return HELIO_OK;
}

helio_text_t helio_outbox_first(const helio_outbox_t *self)
{
    return self->first ? (helio_text_t){self->first->bytes, self->first->size} : (helio_text_t){NULL, 0};
}

void helio_outbox_remove_first(helio_outbox_t *self)
{
    helio_outbox_frame_t *first = self->first;
    assert(first);
    self->first = first->next;
    if (!self->first)
        self->last = NULL;
    self->messages--;
    self->bytes -= first->size;
    free(first);
}

void helio_outbox_clear(helio_outbox_t *self)
{
    while (self->first)
        helio_outbox_remove_first(self);
}
