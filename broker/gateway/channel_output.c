/*  channel_output.c -- output that waits for the client: its bytes, and which stream each run of them is of. */
#include <string.h>

#include "broker/gateway/channel_table.h"

enum { STREAM_SHIFT = 30, SIZE_MASK = (1 << STREAM_SHIFT) - 1 };
_Static_assert(HELIO_CHANNEL_WINDOW <= (int)SIZE_MASK && HELIO_CHANNEL_STREAM_COUNT <= 4, "a run fits 32 bits");

void helio_channel_append(helio_gate_channel_t *self, uint32_t stream, helio_text_t data)
{
    uint32_t *last = self->piece_count ? &self->pieces[self->piece_count - 1] : NULL;
    helio_buffer_append(&self->output, data.data, data.size);
    if (last && *last >> STREAM_SHIFT == stream) {
        *last += data.size;
        return;
    }
    if (self->piece_count == self->piece_capacity) {
        self->piece_capacity = self->piece_capacity ? self->piece_capacity * 2 : 8;
        self->pieces = helio_grow(self->pieces, self->piece_capacity, sizeof *self->pieces);
    }
    self->pieces[self->piece_count++] = stream << STREAM_SHIFT | data.size;
}

void helio_channel_acknowledge(helio_gate_channel_t *self, uint64_t offset)
{
    size_t size = (size_t)(offset - self->output_from), left = size;
    uint32_t gone = 0;
    for (; left && left >= (self->pieces[gone] & SIZE_MASK); gone++)
        left -= self->pieces[gone] & SIZE_MASK;
    if (left)
        self->pieces[gone] -= (uint32_t)left;
    memmove(self->pieces, self->pieces + gone, (self->piece_count - gone) * sizeof *self->pieces);
    self->piece_count -= gone;
    memmove(self->output.data, self->output.data + size, self->output.size - size);
    self->output.size -= size;
    self->output_from = offset;
}

static void put_frame(helio_buffer_t *out, uint32_t stream, const char *bytes, uint32_t size)
{
    const uint8_t head[5] = {(uint8_t)stream, (uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8),
                             (uint8_t)size};
    helio_buffer_append(out, head, sizeof head);
    helio_buffer_append(out, bytes, size);
}

helio_text_t helio_channel_frames(helio_channels_t *channels, const helio_gate_channel_t *self, uint64_t offset)
{
    helio_buffer_t *out = &channels->frames;
    size_t at = 0, from = (size_t)(offset - self->output_from);
    helio_buffer_reset(out);
    for (uint32_t i = 0; i < self->piece_count; i++) {
        uint32_t size = self->pieces[i] & SIZE_MASK;
        size_t skipped = from > at ? from - at : 0;
        if (skipped < size)
            put_frame(out, self->pieces[i] >> STREAM_SHIFT, self->output.data + at + skipped, size - (uint32_t)skipped);
        at += size;
    }
    return helio_buffer_view(out);
}
