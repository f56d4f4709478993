/*  store.c -- writes the tracks of all feeds to one file, and reads them back after a restart. */
#include "site-agent/feeds/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/id.h"

/*  A header, then a record and its hours for each feed, in this machine's number format; a checksum over all of it at
 *  the end. Records of the first form end before `foretold`. */
enum { PATH_SIZE = 4096, MAGIC_SIZE = 8 };
static const char magic[MAGIC_SIZE + 1] = "HELIOFD2", first_magic[MAGIC_SIZE + 1] = "HELIOFD1";

typedef struct record {
    uint64_t key;
    int64_t first_hour, newest_ms, success_wall_ms;
    double values[HELIO_TRACK_HOURS];
    uint16_t counts[HELIO_TRACK_HOURS];
    uint8_t estimated[HELIO_TRACK_HOURS];
    helio_foretold_t foretold;
} record_t;
static const size_t first_size = offsetof(record_t, foretold);

static uint64_t hash_text(uint64_t hash, helio_text_t text)
{
    hash = helio_hash(hash, &text.size, sizeof text.size);
    return helio_hash(hash, text.data, text.size);
}

/*  Kinds never mix: whatever changes the meaning of a figure changes the key. */
static uint64_t key_of(const helio_feed_t *feed)
{
    const helio_text_t texts[] = {feed->pool, feed->kind, feed->factor, feed->unit, feed->name, feed->region};
    uint64_t hash = helio_hash(HELIO_HASH_SEED, &feed->signal, sizeof feed->signal);
    hash = helio_hash(hash, &feed->source, sizeof feed->source);
    hash = helio_hash(hash, &feed->usd_per_eur, sizeof feed->usd_per_eur);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        hash = hash_text(hash, texts[i]);
    if (feed->divisor != 1) /* as without this key: histories of an earlier release stay */
        hash = helio_hash(hash, &feed->divisor, sizeof feed->divisor);
    for (uint32_t i = 0; i < feed->where.count; i++) {
        hash = hash_text(hash, feed->where.items[i].name);
        hash = hash_text(hash, feed->where.items[i].value);
    }
    return feed->where.count ? hash_text(hash, feed->value_column) : hash;
}

static void path_of(const char *directory, const char *name, char ret_path[PATH_SIZE])
{
    (void)snprintf(ret_path, PATH_SIZE, "%s/%s", directory, name);
}

/*  Copies hours of the file into a new track, as far as the track has room for them. */
static void restore(const record_t *record, bool has_foretold, helio_track_t *track)
{
    if (has_foretold)
        track->foretold = record->foretold;
    for (uint32_t i = 0; i < HELIO_TRACK_HOURS; i++) {
        int64_t to = record->first_hour + (int64_t)i - track->first_hour;
        if (to < 0 || to >= HELIO_TRACK_HOURS)
            continue;
        track->values[to] = record->values[i];
        track->counts[to] = record->counts[i];
        track->estimated[to] = record->estimated[i] != 0;
    }
    track->newest_ms = record->newest_ms;
    track->success_wall_ms = record->success_wall_ms;
}

static helio_rc read_whole(const char *path, helio_buffer_t *out, helio_error_t *err)
{
    FILE *file = fopen(path, "re");
    char bytes[65536];
    size_t size;
    if (!file)
        return helio_fail(err, errno == ENOENT ? HELIO_NOT_FOUND : HELIO_IO, "%s: %s", path, strerror(errno));
    out->max = MAGIC_SIZE + sizeof(uint64_t) * 2 + HELIO_FEEDS_MAX * sizeof(record_t);
    while ((size = fread(bytes, 1, sizeof bytes, file)) > 0 && !out->overflow)
        helio_buffer_append(out, bytes, size);
    bool failed = ferror(file) != 0;
    (void)fclose(file);
    return failed ? helio_fail(err, HELIO_IO, "%s: cannot be read", path) : HELIO_OK;
}

static bool is_whole(const helio_buffer_t *bytes, size_t *ret_record_size, size_t *ret_records)
{
    uint64_t sum;
    if (bytes->overflow || bytes->size < MAGIC_SIZE + sizeof sum)
        return false;
    bool first = memcmp(bytes->data, first_magic, MAGIC_SIZE) == 0;
    if (!first && memcmp(bytes->data, magic, MAGIC_SIZE) != 0)
        return false;
    size_t body = bytes->size - sizeof sum, size = first ? first_size : sizeof(record_t);
    memcpy(&sum, bytes->data + body, sizeof sum);
    *ret_record_size = size;
    *ret_records = (body - MAGIC_SIZE) / size;
    return (body - MAGIC_SIZE) % size == 0 && sum == helio_hash(HELIO_HASH_SEED, bytes->data, body);
}

helio_rc helio_tracks_load(const char *directory, const helio_feeds_settings_t *settings, helio_track_t *tracks,
                           helio_error_t *err)
{
    char path[PATH_SIZE];
    size_t count = 0, size = 0;
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    path_of(directory, "feeds.history", path);
    helio_rc rc = read_whole(path, &bytes, err);
    if (rc != HELIO_OK)
        return rc;
    if (!is_whole(&bytes, &size, &count))
        return helio_fail(err, HELIO_INVALID, "%.400s: damaged; the forecaster starts again without it", path);
    record_t *record = helio_new(1, sizeof *record);
    for (size_t n = 0; n < count; n++) {
        memcpy(record, bytes.data + MAGIC_SIZE + n * size, size);
        for (uint32_t i = 0; i < settings->feeds.count; i++)
            if (key_of(&settings->feeds.items[i]) == record->key)
                restore(record, size == sizeof *record, &tracks[i]);
    }
    free(record);
    return HELIO_OK;
}

static void put(helio_buffer_t *out, const helio_feed_t *feed, const helio_track_t *track, record_t *record)
{
    memset(record, 0, sizeof *record); /* padding too: the checksum covers it */
    record->key = key_of(feed);
    record->first_hour = track->first_hour;
    record->newest_ms = track->newest_ms;
    record->success_wall_ms = track->success_wall_ms;
    memcpy(record->values, track->values, sizeof record->values);
    memcpy(record->counts, track->counts, sizeof record->counts);
    record->foretold = track->foretold;
    for (uint32_t i = 0; i < HELIO_TRACK_HOURS; i++)
        record->estimated[i] = track->estimated[i];
    helio_buffer_append(out, record, sizeof *record);
}

/*  Not synced: after a loss of power the checksum shows it, and the forecaster starts anew. */
static helio_rc write_whole(const char *path, const char *fresh, const helio_buffer_t *bytes, helio_error_t *err)
{
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    size_t done = 0;
    while (fd >= 0 && done < bytes->size) {
        ssize_t size = write(fd, bytes->data + done, bytes->size - done);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            break;
        done += (size_t)size;
    }
    int fault = errno;
    bool good = fd >= 0 && done == bytes->size;
    if (fd >= 0 && close(fd) != 0)
        good = false;
    if (!good || rename(fresh, path) != 0)
        return helio_fail(err, HELIO_IO, "%.400s: %s", fresh, strerror(good ? errno : fault));
    return HELIO_OK;
}

helio_rc helio_tracks_save(const char *directory, const helio_feeds_settings_t *settings, const helio_track_t *tracks,
                           helio_error_t *err)
{
    char path[PATH_SIZE], fresh[PATH_SIZE];
    path_of(directory, "feeds.history", path);
    path_of(directory, "feeds.history.new", fresh);
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
    record_t *record = helio_new(1, sizeof *record);
    helio_buffer_append(&bytes, magic, MAGIC_SIZE);
    for (uint32_t i = 0; i < settings->feeds.count; i++)
        if (settings->feeds.items[i].source != HELIO_SOURCE_STATIC)
            put(&bytes, &settings->feeds.items[i], &tracks[i], record);
    free(record);
    uint64_t sum = helio_hash(HELIO_HASH_SEED, bytes.data, bytes.size);
    helio_buffer_append(&bytes, &sum, sizeof sum);
    return write_whole(path, fresh, &bytes, err);
}
