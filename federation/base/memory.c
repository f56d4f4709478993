/*  memory.c -- allocation that aborts on failure, texts, buffers and arenas. */
#include "federation/base/memory.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_DEFAULT_MAX = 64 << 20, ARENA_BLOCK = 16 << 10, ARENA_ALIGN = 16 };

void *helio_new(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size ? size : 1);
    if (!memory)
        abort();
    return memory;
}

void *helio_grow(void *memory, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total))
        abort();
    void *grown = realloc(memory, total ? total : 1);
    if (!grown)
        abort();
    return grown;
}

char *helio_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = helio_new(size, 1);
    memcpy(copy, text, size);
    return copy;
}

helio_text_t helio_text_of(const char *string)
{
    return (helio_text_t){string, string ? (uint32_t)strlen(string) : 0};
}

bool helio_text_equal(helio_text_t a, helio_text_t b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

bool helio_text_is(helio_text_t a, const char *string)
{
    return helio_text_equal(a, helio_text_of(string));
}

helio_rc helio_text_among(helio_text_t text, const char *const *words, uint32_t count, uint32_t *ret_place)
{
    for (uint32_t i = 0; i < count; i++)
        if (helio_text_is(text, words[i])) {
            *ret_place = i;
            return HELIO_OK;
        }
    return HELIO_NOT_FOUND;
}

bool helio_text_copy(helio_text_t text, char *ret_string, size_t capacity)
{
    assert(capacity > 0);
    size_t size = text.size < capacity ? text.size : capacity - 1;
    if (size)
        memcpy(ret_string, text.data, size);
    ret_string[size] = '\0';
    return size == text.size;
}

static bool buffer_reserve(helio_buffer_t *self, size_t more)
{
    size_t max = self->max ? self->max : BUFFER_DEFAULT_MAX;
    if (self->overflow || more > max - self->size) {
        self->overflow = true;
        return false;
    }
    size_t need = self->size + more + 1;
    if (need > self->capacity) {
        size_t capacity = self->capacity ? self->capacity * 2 : 256;
        while (capacity < need)
            capacity *= 2;
        self->data = helio_grow(self->data, capacity, 1);
        self->capacity = capacity;
    }
    return true;
}

void helio_buffer_append(helio_buffer_t *self, const void *bytes, size_t size)
{
    if (!buffer_reserve(self, size))
        return;
    if (size)
        memcpy(self->data + self->size, bytes, size);
    self->size += size;
    self->data[self->size] = '\0';
}

void helio_buffer_text(helio_buffer_t *self, const char *string)
{
    helio_buffer_append(self, string, strlen(string));
}

void helio_buffer_printf(helio_buffer_t *self, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(size >= 0);
    if (!buffer_reserve(self, (size_t)size))
        return;
    va_start(args, format);
    (void)vsnprintf(self->data + self->size, (size_t)size + 1, format, args);
    va_end(args);
    self->size += (size_t)size;
}

void helio_buffer_reset(helio_buffer_t *self)
{
    self->size = 0;
    self->overflow = false;
    if (self->data)
        self->data[0] = '\0';
}

void helio_buffer_clear(helio_buffer_t *self)
{
    free(self->data);
    *self = (helio_buffer_t){.max = self->max};
}

helio_text_t helio_buffer_view(const helio_buffer_t *self)
{
    return (helio_text_t){self->data, (uint32_t)self->size};
}

/*  Blocks in a list, newest first; a request larger than a block gets a block of its own. */
typedef struct arena_block {
    struct arena_block *next;
    size_t used;
    size_t capacity;
    _Alignas(ARENA_ALIGN) unsigned char bytes[];
} arena_block_t;

struct helio_arena {
    arena_block_t *blocks;
    size_t bytes; /* allocated since the last reset */
};

static arena_block_t *arena_block_new(size_t capacity)
{
    arena_block_t *block = helio_grow(NULL, 1, sizeof *block + capacity);
    block->next = NULL;
    block->used = 0;
    block->capacity = capacity;
    return block;
}

helio_arena_t *helio_arena_new_sized(size_t bytes)
{
    helio_arena_t *self = helio_new(1, sizeof *self);
    self->blocks = arena_block_new(bytes ? bytes : ARENA_ALIGN);
    return self;
}

helio_arena_t *helio_arena_new(void)
{
    return helio_arena_new_sized(ARENA_BLOCK);
}

void helio_arena_reset(helio_arena_t *self)
{
    while (self->blocks->next) {
        arena_block_t *block = self->blocks;
        self->blocks = block->next;
        free(block);
    }
    self->blocks->used = 0;
    self->bytes = 0;
}

void helio_arena_destroy(helio_arena_t **self_p)
{
    if (!*self_p)
        return;
    helio_arena_reset(*self_p);
    free((*self_p)->blocks);
    free(*self_p);
    *self_p = NULL;
}

void *helio_arena_alloc(helio_arena_t *self, size_t count, size_t size)
{
    size_t total;
    if (__builtin_mul_overflow(count, size, &total) || total > SIZE_MAX / 2)
        abort();
    total = (total + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    arena_block_t *block = self->blocks;
    if (total > block->capacity - block->used) {
        block = arena_block_new(total > ARENA_BLOCK ? total : ARENA_BLOCK);
        block->next = self->blocks;
        self->blocks = block;
    }
    void *memory = block->bytes + block->used;
    block->used += total;
    self->bytes += total;
    memset(memory, 0, total);
    return memory;
}

size_t helio_arena_bytes(const helio_arena_t *self)
{
    return self->bytes;
}

helio_text_t helio_arena_text(helio_arena_t *self, helio_text_t text)
{
    char *copy = helio_arena_alloc(self, (size_t)text.size + 1, 1);
    if (text.size)
        memcpy(copy, text.data, text.size);
    return (helio_text_t){copy, text.size};
}

const char *helio_arena_string(helio_arena_t *self, helio_text_t text)
{
    return helio_arena_text(self, text).data;
}

helio_text_t helio_arena_printf(helio_arena_t *self, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(size >= 0);
    char *string = helio_arena_alloc(self, (size_t)size + 1, 1);
    va_start(args, format);
    (void)vsnprintf(string, (size_t)size + 1, format, args);
    va_end(args);
    return (helio_text_t){string, (uint32_t)size};
}
