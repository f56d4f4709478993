/*  settings.h -- which broker to use, with which token, and how to print.
 *
 *  Precedence: options, HELIO_* variables, ./.helio.yaml, $XDG_CONFIG_HOME/helio/config.yaml, the system's file. A
 *  context is a named group of broker and credentials. A context selected by option or variable comes before all files;
 *  one selected by a file comes just before that file.
 *
 *  A token is secret. It is never printed, and only the owner of its file may read that file. A broker named by
 *  ./.helio.yaml never gets a token that another file holds for another broker, because that file may come with a
 *  cloned repository.
 */
#ifndef HELIO_CLIENT_SETTINGS_H
#define HELIO_CLIENT_SETTINGS_H

#include "client/invocation/client.h"

enum { HELIO_SETTINGS_FILES = 3 };

struct helio_settings {
    const char *broker; /* "https://broker.example", or several separated by ", " (brokers.h); "" = not set */
    const char *token;  /* "" = none */
    const char *ca_file;
    const char *output; /* a format's name */
    const char *color;  /* auto, always, never */
    const char *context;
    uint64_t timeout_ms; /* of one request */
    /* its source: "--broker", "HELIO_TOKEN", a file's path; "" if absent */
    const char *broker_from;
    const char *token_from;
    const char *files[HELIO_SETTINGS_FILES]; /* the files that were read, then NULL */
    const char *withheld_from;               /* a token that was found but is not for this broker; "" = none */
    const char *token_missing;               /* the token file that token_from names and that is not there; "" = none */
};

#define HELIO_SETTINGS_TOKEN_REMEDY \
    "correct the path, or put a token there with mode 600; an administrator makes one with `helio token add`"

/*  HELIO_INVALID with the whole message in `complaint`, with a caret if a file is wrong. Everything lives in the arena.
 *  An absent broker, token or token file is not an error here: some commands need
 *  neither. */
HELIO_MUST_CHECK helio_rc helio_settings_load(const helio_client_io_t *io, const helio_command_line_t *arguments,
                                              helio_arena_t *arena, helio_settings_t *ret_settings,
                                              helio_buffer_t *complaint);

#endif
