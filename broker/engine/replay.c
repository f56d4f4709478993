/*  replay.c -- steps a fresh core over a recording, and finds where the two differ. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "broker/core/broker_core.h"
#include "broker/engine/recorder.h"
#include "broker/engine/recording.h"
#include "federation/wire/codec.h"

typedef struct replay {
    FILE *file;
    const char *path;
    char *body; /* of the current frame */
    size_t capacity;
    helio_arena_t *arena;
    helio_buffer_t scratch;
    helio_effects_t *effects;
    helio_broker_core_t *core; /* NULL before the first life */
    uint64_t life_events;
    uint64_t agreed_events; /* of this life, up to the last equal hash */
    helio_replay_t result;
} replay_t;

static helio_rc damaged(const replay_t *self, helio_error_t *err, const char *what)
{
    return helio_fail(err, HELIO_INVALID, "%s: %s after event %" PRIu64 " of life %" PRIu64, self->path, what,
                      self->life_events, self->result.lives);
}

static helio_rc begin_life(replay_t *self, uint32_t size, helio_error_t *err)
{
    size_t magic = sizeof RECORDING_MAGIC - 1;
    if (size < magic + 1 || memcmp(self->body, RECORDING_MAGIC, magic) != 0)
        return helio_fail(err, HELIO_INVALID, "%s is not a recording of helio-broker", self->path);
    if (self->body[magic] != HELIO_RECORDING_VERSION)
        return helio_fail(err, HELIO_VERSION, "%s has version %d, this program reads version %d", self->path,
                          self->body[magic], HELIO_RECORDING_VERSION);
    helio_recorded_options_t record;
    helio_text_t packed = {self->body + magic + 1, size - (uint32_t)magic - 1};
    helio_rc rc = helio_wire_unpack(&helio_recorded_options_type, packed, self->arena, &record, err);
    if (rc != HELIO_OK)
        return rc;
    helio_broker_options_t options = helio_broker_options_default();
    options.lease_ms = record.lease_ms;
    options.renew_ms = record.renew_ms;
    options.summary_ms = record.summary_ms;
    options.silent_after_ms = record.silent_after_ms;
    options.queued_max = record.queued_max;
    options.queued_per_tenant_max = record.queued_per_tenant_max;
    options.submissions_per_minute = record.submissions_per_minute;
    options.commands_per_minute = record.commands_per_minute;
    options.offers_unanswered_max = record.offers_unanswered_max;
    options.channels_max = record.channels_max;
    options.channels_per_tenant_max = record.channels_per_tenant_max;
    options.channel_limit_ms = record.channel_limit_ms;
    options.channel_idle_ms = record.channel_idle_ms;
    helio_broker_core_destroy(&self->core);
    self->core = helio_broker_core_new(options);
    self->life_events = 0;
    self->agreed_events = 0;
    self->result.lives++;
    self->result.hash = HELIO_HASH_SEED;
    return HELIO_OK;
}

static helio_rc step(replay_t *self, uint32_t size, helio_error_t *err)
{
    const uint8_t *head = (const uint8_t *)self->body;
    if (!self->core || size < RECORDING_EVENT_HEAD_SIZE)
        return damaged(self, err, "an event that cannot be read");
    uint32_t kind = (uint32_t)recording_get(head, 2);
    if (kind >= HELIO_BROKER_EVENT_COUNT)
        return damaged(self, err, "an event of an unknown kind");
    const helio_record_type_t *type = helio_broker_events[kind].type;
    void *payload = helio_arena_alloc(self->arena, 1, type->size);
    helio_text_t packed = {self->body + RECORDING_EVENT_HEAD_SIZE, size - RECORDING_EVENT_HEAD_SIZE};
    helio_rc rc = helio_wire_unpack(type, packed, self->arena, payload, err);
    if (rc != HELIO_OK)
        return rc;
    helio_event_t event = {kind, (int64_t)recording_get(head + 2, 8), (int64_t)recording_get(head + 10, 8), payload};
    helio_effects_reset(self->effects);
    helio_broker_core_step(self->core, &event, self->effects);
    self->life_events++;
    self->result.events++;
    self->result.effects += self->effects->count;
    return helio_effects_hash(self->result.hash, self->effects, &self->scratch, &self->result.hash, err);
}

static helio_rc check(replay_t *self, uint32_t size, helio_error_t *err)
{
    const uint8_t *body = (const uint8_t *)self->body;
    if (!self->core || size != 16 || recording_get(body, 8) != self->life_events)
        return damaged(self, err, "a count that does not fit");
    if (recording_get(body + 8, 8) != self->result.hash)
        return helio_fail(err, HELIO_CONFLICT,
                          "%s: in life %" PRIu64 " this program acts differently from the one that recorded, "
                          "first between events %" PRIu64 " and %" PRIu64,
                          self->path, self->result.lives, self->agreed_events + 1, self->life_events);
    self->agreed_events = self->life_events;
    self->result.checks++;
    return HELIO_OK;
}

static helio_rc read_frame(replay_t *self, uint8_t tag, uint32_t size, helio_error_t *err)
{
    if (size > RECORDING_FRAME_MAX)
        return damaged(self, err, "a frame that is too large");
    if (size > self->capacity) {
        self->body = helio_grow(self->body, size, 1);
        self->capacity = size;
    }
    if (size && fread(self->body, size, 1, self->file) != 1)
        return helio_fail(err, HELIO_IO, "cannot read %s: %s", self->path, strerror(errno));
    helio_arena_reset(self->arena);
    switch (tag) {
    case 'O':
        return begin_life(self, size, err);
    case 'E':
        return step(self, size, err);
    case 'H':
        return check(self, size, err);
    default:
        return damaged(self, err, "a frame of an unknown kind");
    }
}

static helio_rc read_all(replay_t *self, helio_error_t *err)
{
    uint8_t tag = 0;
    uint32_t size = 0;
    int next;
    while ((next = recording_next(self->file, &tag, &size)) > 0) {
        if (!self->core && tag != 'O')
            return helio_fail(err, HELIO_INVALID, "%s is not a recording of helio-broker", self->path);
        helio_rc rc = read_frame(self, tag, size, err);
        if (rc != HELIO_OK)
            return rc;
    }
    if (!self->core)
        return helio_fail(err, HELIO_INVALID, "%s is not a recording of helio-broker", self->path);
    self->result.unfinished = next < 0 || self->agreed_events != self->life_events;
    helio_broker_core_figures(self->core, &self->result.figures);
    return HELIO_OK;
}

helio_rc helio_replay_file(const char *path, helio_replay_t *ret_replay, helio_error_t *err)
{
    replay_t self = {.path = path, .scratch = {.max = RECORDING_FRAME_MAX}};
    self.file = fopen(path, "rbe");
    if (!self.file)
        return helio_fail(err, HELIO_IO, "cannot open %s: %s", path, strerror(errno));
    self.arena = helio_arena_new();
    self.effects = helio_effects_new();
    helio_rc rc = read_all(&self, err);
    if (rc == HELIO_OK)
        *ret_replay = self.result;
    helio_broker_core_destroy(&self.core);
    helio_effects_destroy(&self.effects);
    helio_arena_destroy(&self.arena);
    helio_buffer_clear(&self.scratch);
    free(self.body);
    (void)fclose(self.file);
    return rc;
}
