/*  channels.h -- what clients ask of open channels, and the answers: between the HTTP server and the gateway. The core
 *  sees that a channel opens and ends (events.h), never its bytes. */
#ifndef HELIO_BROKER_MODEL_CHANNELS_H
#define HELIO_BROKER_MODEL_CHANNELS_H

#include "federation/base/error.h"
#include "federation/base/memory.h"
#include "federation/model/attempt.h"

enum {
    HELIO_CHANNEL_ID_SIZE = 33,       /* 128 bits in hex, and a NUL */
    HELIO_CHANNEL_WORDS_MAX = 256,    /* of a command, as in federation/wire/messages.h */
    HELIO_CHANNEL_WAIT_MAX_MS = 10000 /* an answer that waits for bytes comes so late at the latest */
};

/*  What a client asks for when it opens one. Borrowed for the call. */
typedef struct helio_channel_opening {
    char id[HELIO_CHANNEL_ID_SIZE]; /* the secret by which clients name it */
    helio_text_t principal;         /* who alone may use it */
    helio_text_t tenant;            /* of the principal */
    /*  The credential with which it is opened; it lives as long as the gateway. NULL: it is always in force. */
    const void *credential;
    bool (*is_in_force)(const void *credential);
    uint32_t kind; /* helio_channel_kind_t */
    uint32_t node;
    const helio_argument_t *command;
    uint32_t command_count;
    uint32_t port;
    bool terminal;
    uint32_t rows, columns;
    helio_text_t term;
} helio_channel_opening_t;

/*  READ: output from `offset` on, which acknowledges all below it. WRITE: input at `offset`. SIZE: of its terminal. */
typedef enum helio_channel_verb {
    HELIO_CHANNEL_READ,
    HELIO_CHANNEL_WRITE,
    HELIO_CHANNEL_RESIZE,
    HELIO_CHANNEL_SHUT
} helio_channel_verb_t;

typedef struct helio_channel_answer {
    /*  OK; NOT_FOUND: no such channel of this principal; CONFLICT: the offset leaves a gap, or is of what was
     *  acknowledged; UNAVAILABLE: the broker stops */
    helio_rc rc;
    helio_text_t frames; /* READ: [stream, 1 byte][size, 4 bytes, big-endian][bytes]… */
    uint64_t offset;     /* READ: after these bytes; WRITE: what was taken; of a CONFLICT: the next one */
    uint64_t least;      /* of a CONFLICT: the first one that can be served */
    bool opened;         /* its agent has said so */
    bool ended;          /* and there is no more output than this */
    helio_rc end_rc;     /* OK: it ran and ended */
    uint32_t exit_code;
    const char *why; /* "" = it ended by itself */
} helio_channel_answer_t;

typedef struct helio_channel_ask {
    helio_channel_verb_t verb;
    const char *id;
    helio_text_t principal;
    uint64_t offset;
    helio_text_t data;
    bool end; /* WRITE: no more follows */
    uint32_t rows, columns;
    uint32_t wait_ms; /* READ: until there is output; WRITE: until some of it is taken */
    /*  Called exactly once; the answer is borrowed for the call. */
    void (*done)(void *arg, const helio_channel_answer_t *answer);
    void *arg;
} helio_channel_ask_t;

#endif
