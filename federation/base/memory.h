/*  memory.h -- allocation that aborts on failure, views, growable buffers and arenas.
 *
 *  Not thread-safe: one owner. A helio_text_t is a borrowed view (not NUL-terminated); the function that returns it
 *  defines how long it lives. An arena frees everything at once; what it returns lives until reset or clear.
 */
#ifndef HELIO_BASE_MEMORY_H
#define HELIO_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "federation/base/error.h"

/*  Zeroed memory; aborts on failure. */
void *helio_new(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
/*  As realloc for arrays; the new tail is not cleared; aborts on failure or if the product overflows. */
void *helio_grow(void *memory, size_t count, size_t size) __attribute__((returns_nonnull));
char *helio_strdup(const char *text) __attribute__((malloc, returns_nonnull));

/*  A borrowed run of bytes. {NULL, 0} is the empty text. */
typedef struct helio_text {
    const char *data;
    uint32_t size;
} helio_text_t;

#define HELIO_TEXT(literal) ((helio_text_t){(literal), (uint32_t)(sizeof(literal) - 1)})
/*  For printf's "%.*s". */
#define HELIO_TEXT_ARGS(text) (int)(text).size, (text).data ? (text).data : ""

helio_text_t helio_text_of(const char *string); /* NULL gives the empty text */
bool helio_text_equal(helio_text_t a, helio_text_t b);
bool helio_text_is(helio_text_t a, const char *string);
/*  The index of the word, among `count` words, that equals the text. */
HELIO_MUST_CHECK helio_rc helio_text_among(helio_text_t text, const char *const *words, uint32_t count,
                                           uint32_t *ret_place);
/*  Copies at most capacity-1 bytes and terminates them; false if the text was truncated. */
bool helio_text_copy(helio_text_t text, char *ret_string, size_t capacity);

/*  A growable run of bytes with a maximum: appending past it sets `overflow` and appends nothing, so that a chain
 *  of appends needs one check at its end. Zero-initialised is valid and has the default maximum of 64 MiB. The
 *  bytes are always followed by a NUL that does not count. */
typedef struct helio_buffer {
    char *data;
    size_t size;
    size_t capacity;
    size_t max;
    bool overflow;
} helio_buffer_t;

void helio_buffer_append(helio_buffer_t *self, const void *bytes, size_t size);
void helio_buffer_text(helio_buffer_t *self, const char *string);
void helio_buffer_printf(helio_buffer_t *self, const char *format, ...) HELIO_PRINTF(2, 3);
void helio_buffer_reset(helio_buffer_t *self); /* empties, keeps the memory */
void helio_buffer_clear(helio_buffer_t *self); /* frees */
helio_text_t helio_buffer_view(const helio_buffer_t *self);

typedef struct helio_arena helio_arena_t;

helio_arena_t *helio_arena_new(void);
/*  for long-lived arenas: the first block is no larger than requested */
helio_arena_t *helio_arena_new_sized(size_t bytes);
void helio_arena_destroy(helio_arena_t **self_p);
void helio_arena_reset(helio_arena_t *self); /* frees everything that was allocated; the first block is kept */
void *helio_arena_alloc(helio_arena_t *self, size_t count, size_t size) __attribute__((returns_nonnull)); /* zeroed */
size_t helio_arena_bytes(const helio_arena_t *self);                                                      /* in use */
helio_text_t helio_arena_text(helio_arena_t *self, helio_text_t text);  /* a copy, followed by a NUL beyond its size */
const char *helio_arena_string(helio_arena_t *self, helio_text_t text); /* the same as a C string */
helio_text_t helio_arena_printf(helio_arena_t *self, const char *format, ...) HELIO_PRINTF(2, 3);

#endif
