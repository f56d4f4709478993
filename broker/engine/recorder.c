/*  recorder.c -- writes a recording: frames of options, events and hashes. The format is in recorder.h. */
#include "broker/engine/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "broker/engine/recording.h"
#include "federation/wire/codec.h"

HELIO_RECORD_DEFINE(helio_recorded_options, HELIO_RECORDED_OPTIONS_FIELDS)

struct helio_recorder {
    FILE *file;
    char *path;
    helio_buffer_t frame;
    helio_buffer_t scratch;
    uint64_t events;
    uint64_t hash;
};

int recording_next(FILE *file, uint8_t *ret_tag, uint32_t *ret_size)
{
    uint8_t head[RECORDING_HEAD_SIZE];
    size_t got = fread(head, 1, sizeof head, file);
    if (got == 0)
        return 0;
    if (got < sizeof head)
        return -1;
    uint32_t size = (uint32_t)recording_get(head, 4);
    struct stat info;
    off_t at = ftello(file);
    if (at < 0 || fstat(fileno(file), &info) != 0 || size > info.st_size - at)
        return -1;
    *ret_size = size;
    *ret_tag = head[4];
    return 1;
}

helio_rc helio_effects_hash(uint64_t hash, const helio_effects_t *effects, helio_buffer_t *scratch, uint64_t *ret_hash,
                            helio_error_t *err)
{
    for (uint32_t i = 0; i < effects->count; i++) {
        const helio_effect_t *effect = &effects->items[i];
        uint8_t head[12];
        recording_put(head, effect->kind, 4);
        recording_put(head + 4, effect->batch, 8);
        helio_buffer_reset(scratch);
        helio_rc rc = helio_wire_pack(helio_broker_effects[effect->kind].type, effect->payload, scratch, err);
        if (rc != HELIO_OK)
            return rc;
        hash = helio_hash(hash, head, sizeof head);
        hash = helio_hash(hash, scratch->data, scratch->size);
    }
    *ret_hash = hash;
    return HELIO_OK;
}

/*  Finds where to append: after the last whole frame. */
static helio_rc find_end(FILE *file, const char *path, off_t *ret_end, helio_error_t *err)
{
    uint8_t tag = 0;
    uint32_t size = 0;
    off_t end = 0;
    int next = recording_next(file, &tag, &size);
    char magic[sizeof RECORDING_MAGIC]; /* and the version */
    if (next != 0 && (next < 0 || tag != 'O' || fread(magic, 1, sizeof magic, file) != sizeof magic ||
                      memcmp(magic, RECORDING_MAGIC, sizeof magic - 1) != 0))
        return helio_fail(err, HELIO_INVALID, "%s is not a recording: name another file", path);
    if (next != 0 && magic[sizeof magic - 1] != HELIO_RECORDING_VERSION)
        return helio_fail(err, HELIO_VERSION,
                          "%s is a recording of version %d, this program records version %d: name another file", path,
                          magic[sizeof magic - 1], HELIO_RECORDING_VERSION);
    while (next > 0) {
        end += RECORDING_HEAD_SIZE + (off_t)size;
        if (fseeko(file, end, SEEK_SET) != 0)
            return helio_fail(err, HELIO_IO, "cannot read %s: %s", path, strerror(errno));
        next = recording_next(file, &tag, &size);
    }
    *ret_end = end;
    return HELIO_OK;
}

static helio_rc write_frame(helio_recorder_t *self, char tag, helio_error_t *err)
{
    uint8_t head[RECORDING_HEAD_SIZE];
    if (self->frame.overflow || self->frame.size > RECORDING_FRAME_MAX)
        return helio_fail(err, HELIO_TOO_BIG, "an event is too large to record in %s", self->path);
    recording_put(head, self->frame.size, 4);
    head[4] = (uint8_t)tag;
    if (fwrite(head, sizeof head, 1, self->file) != 1 ||
        (self->frame.size && fwrite(self->frame.data, self->frame.size, 1, self->file) != 1))
        return helio_fail(err, HELIO_IO, "cannot record in %s: %s", self->path, strerror(errno));
    return HELIO_OK;
}

static helio_rc write_options(helio_recorder_t *self, const helio_broker_options_t *options, helio_error_t *err)
{
    helio_recorded_options_t record = {.lease_ms = options->lease_ms,
                                       .renew_ms = options->renew_ms,
                                       .summary_ms = options->summary_ms,
                                       .silent_after_ms = options->silent_after_ms,
                                       .queued_max = options->queued_max,
                                       .queued_per_tenant_max = options->queued_per_tenant_max,
                                       .submissions_per_minute = options->submissions_per_minute,
                                       .commands_per_minute = options->commands_per_minute,
                                       .offers_unanswered_max = options->offers_unanswered_max,
                                       .channels_max = options->channels_max,
                                       .channels_per_tenant_max = options->channels_per_tenant_max,
                                       .channel_limit_ms = options->channel_limit_ms,
                                       .channel_idle_ms = options->channel_idle_ms};
    uint8_t version = HELIO_RECORDING_VERSION;
    helio_buffer_reset(&self->frame);
    helio_buffer_text(&self->frame, RECORDING_MAGIC);
    helio_buffer_append(&self->frame, &version, 1);
    helio_rc rc = helio_wire_pack(&helio_recorded_options_type, &record, &self->frame, err);
    return rc == HELIO_OK ? write_frame(self, 'O', err) : rc;
}

helio_rc helio_recorder_open(const char *path, const helio_broker_options_t *options, helio_recorder_t **ret_recorder,
                             helio_error_t *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "cannot open %s for recording: %s", path, strerror(errno));
    FILE *file = fdopen(fd, "r+");
    if (!file) {
        (void)close(fd);
        return helio_fail(err, HELIO_IO, "cannot open %s for recording: %s", path, strerror(errno));
    }
    helio_recorder_t *self = helio_new(1, sizeof *self);
    self->file = file;
    self->path = helio_strdup(path);
    self->frame.max = (size_t)RECORDING_FRAME_MAX + 1;
    self->scratch.max = RECORDING_FRAME_MAX;
    self->hash = HELIO_HASH_SEED;
    off_t end = 0;
    helio_rc rc = find_end(file, path, &end, err);
    if (rc == HELIO_OK && (ftruncate(fd, end) != 0 || fseeko(file, end, SEEK_SET) != 0))
        rc = helio_fail(err, HELIO_IO, "cannot append to %s: %s", path, strerror(errno));
    if (rc == HELIO_OK)
        rc = write_options(self, options, err);
    if (rc == HELIO_OK) {
        *ret_recorder = self;
        return HELIO_OK;
    }
    (void)fclose(self->file);
    self->file = NULL;
    helio_recorder_close(&self);
    return rc;
}

helio_rc helio_recorder_event(helio_recorder_t *self, const helio_event_t *event, helio_error_t *err)
{
    uint8_t head[RECORDING_EVENT_HEAD_SIZE];
    recording_put(head, event->kind, 2);
    recording_put(head + 2, (uint64_t)event->now_ms, 8);
    recording_put(head + 10, (uint64_t)event->wall_ms, 8);
    helio_buffer_reset(&self->frame);
    helio_buffer_append(&self->frame, head, sizeof head);
    helio_rc rc = helio_wire_pack(helio_broker_events[event->kind].type, event->payload, &self->frame, err);
    if (rc != HELIO_OK)
        return rc;
    self->events++;
    return write_frame(self, 'E', err);
}

static helio_rc write_check(helio_recorder_t *self, helio_error_t *err)
{
    uint8_t body[16];
    recording_put(body, self->events, 8);
    recording_put(body + 8, self->hash, 8);
    helio_buffer_reset(&self->frame);
    helio_buffer_append(&self->frame, body, sizeof body);
    return write_frame(self, 'H', err);
}

helio_rc helio_recorder_effects(helio_recorder_t *self, const helio_effects_t *effects, helio_error_t *err)
{
    helio_rc rc = helio_effects_hash(self->hash, effects, &self->scratch, &self->hash, err);
    if (rc == HELIO_OK && self->events % HELIO_RECORDING_CHECK_EVERY == 0)
        rc = write_check(self, err);
    return rc;
}

helio_rc helio_recorder_flush(helio_recorder_t *self, helio_error_t *err)
{
    if (fflush(self->file) != 0)
        return helio_fail(err, HELIO_IO, "cannot record in %s: %s", self->path, strerror(errno));
    return HELIO_OK;
}

void helio_recorder_close(helio_recorder_t **self_p)
{
    helio_recorder_t *self = *self_p;
    if (!self)
        return;
    if (self->file) {
        helio_rc rc = write_check(self, NULL);
        (void)rc;
        (void)fclose(self->file);
    }
    helio_buffer_clear(&self->frame);
    helio_buffer_clear(&self->scratch);
    free(self->path);
    free(self);
    *self_p = NULL;
}
