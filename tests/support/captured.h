/*  captured.h -- what a stream of this process prints between two calls; for code that prints with printf. */
#ifndef HELIO_TESTS_CAPTURED_H
#define HELIO_TESTS_CAPTURED_H

#include <stdio.h>
#include <unistd.h>

typedef struct captured {
    FILE *file;
    int kept; /* the former target of the stream */
} captured_t;

static inline captured_t capture_begin(FILE *stream)
{
    (void)fflush(stream);
    captured_t self = {tmpfile(), dup(fileno(stream))};
    assert_true(self.file && self.kept >= 0);
    assert_true(dup2(fileno(self.file), fileno(stream)) >= 0);
    return self;
}

/*  The text, truncated to its buffer. */
static inline void capture_end(captured_t self, FILE *stream, char *ret_text, size_t size)
{
    (void)fflush(stream);
    assert_true(dup2(self.kept, fileno(stream)) >= 0);
    (void)close(self.kept);
    rewind(self.file);
    ret_text[fread(ret_text, 1, size - 1, self.file)] = '\0';
    (void)fclose(self.file);
}

#endif
