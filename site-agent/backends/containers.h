/*  containers.h -- by which command jobs with an image run: the template of the site's runtime (shim/container.h has its
 *  words). The keys `containers`, `container_…` of a site file's `agent:` part. Pure, but for the search in PATH. */
#ifndef HELIO_BACKENDS_CONTAINERS_H
#define HELIO_BACKENDS_CONTAINERS_H

#include "federation/spec/spec.h"

enum { HELIO_CONTAINER_WORDS_MAX = 64, HELIO_CONTAINER_MOUNTS_MAX = 32 };

typedef struct helio_container_words {
    helio_string_t *items;
    uint32_t count;
} helio_container_words_t;

typedef struct helio_container_rules {
    helio_text_t runtime;            /* "" = none, else podman, apptainer, enroot or command */
    helio_container_words_t command; /* of the runtime `command` */
    helio_container_words_t options; /* more options of a runtime that is known here */
    helio_container_words_t mounts;  /* absolute paths, which jobs find under the same name */
    helio_text_t probe;              /* an image for helio-agent check; "" = none */
} helio_container_rules_t;

extern const helio_spec_table_t helio_container_rules_table; /* to be included */

/*  The words of the command, in the arena. INVALID: the rules contradict themselves. NOT_FOUND: no runtime. */
HELIO_MUST_CHECK helio_rc helio_container_template(const helio_container_rules_t *rules, helio_arena_t *arena,
                                                   helio_container_words_t *ret_words, helio_error_t *err);
/*  The runtime's program, by `path`. NOT_FOUND with the remedy. */
HELIO_MUST_CHECK helio_rc helio_container_find(const helio_container_rules_t *rules, const char *path,
                                               char ret_program[4096], helio_error_t *err);
void helio_container_rules_copy(const helio_container_rules_t *from, helio_arena_t *arena,
                                helio_container_rules_t *ret);

#endif
