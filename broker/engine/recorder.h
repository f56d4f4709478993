/*  recorder.h -- a file of everything that the core saw (helio-broker run --record FILE), and its replay.
 *
 *  The file is a sequence of frames: length (u32), tag (u8), body. All numbers are little-endian.
 *
 *      'O'  "HELIOREC", version (u8), the core's options: a new life of the core begins. One at every start of
 *           the broker.
 *      'E'  kind (u16), now_ms, wall_ms (i64), the event's record in canonical encoding (wire/codec.h).
 *      'H'  number of events and hash of all effects of this life so far (u64 each): after every 1,000 events, and at
 *           the end.
 *
 *  A replay steps a fresh core over the events and compares the hashes, so it reports between which events the two
 *  differ. The file holds job documents and hashes of tokens, so it is created with mode 0600. One thread. */
#ifndef HELIO_BROKER_RECORDER_H
#define HELIO_BROKER_RECORDER_H

#include "broker/model/effects.h"
#include "broker/model/events.h"
#include "broker/model/figures.h"
#include "broker/model/options.h"

enum { HELIO_RECORDING_VERSION = 29, HELIO_RECORDING_CHECK_EVERY = 1000 };

typedef struct helio_recorder helio_recorder_t;

/*  Creates the file, or cuts off a frame that a crash left unfinished and appends a new life. HELIO_INVALID: the file
 *  is not a recording. HELIO_VERSION: it is of another version. HELIO_IO. */
HELIO_MUST_CHECK helio_rc helio_recorder_open(const char *path, const helio_broker_options_t *options,
                                              helio_recorder_t **ret_recorder, helio_error_t *err);
/*  Record an event before its step, and the effects after it. */
HELIO_MUST_CHECK helio_rc helio_recorder_event(helio_recorder_t *self, const helio_event_t *event, helio_error_t *err);
HELIO_MUST_CHECK helio_rc helio_recorder_effects(helio_recorder_t *self, const helio_effects_t *effects,
                                                 helio_error_t *err);
/*  Writes what is buffered to the operating system, which is not yet the disk. */
HELIO_MUST_CHECK helio_rc helio_recorder_flush(helio_recorder_t *self, helio_error_t *err);
/*  Writes a last hash and closes the file. NULL-safe. Ignores errors, because no caller could act on them. */
void helio_recorder_close(helio_recorder_t **self_p);

typedef struct helio_replay {
    uint64_t lives;
    uint64_t events;                /* of all lives */
    uint64_t effects;               /* of all lives */
    uint64_t checks;                /* hashes compared */
    uint64_t hash;                  /* of the effects of the last life */
    bool unfinished;                /* the last frame is incomplete: the broker did not end by itself */
    helio_broker_figures_t figures; /* of the last life's core */
} helio_replay_t;

/*  HELIO_CONFLICT: this program's core behaved differently; the text says between which events. HELIO_INVALID: not a
 *  recording, or damaged. HELIO_VERSION. HELIO_IO. */
HELIO_MUST_CHECK helio_rc helio_replay_file(const char *path, helio_replay_t *ret_replay, helio_error_t *err);

/*  Adds the canonical bytes of all effects of one step to a hash. */
HELIO_MUST_CHECK helio_rc helio_effects_hash(uint64_t hash, const helio_effects_t *effects, helio_buffer_t *scratch,
                                             uint64_t *ret_hash, helio_error_t *err);

#endif
