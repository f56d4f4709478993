/*  golden.h -- compares what a test makes with a file of the source tree. HELIO_GOLDEN_WRITE=1 writes the file instead,
 *  so that a review shows the change. */
#ifndef HELIO_TESTS_GOLDEN_H
#define HELIO_TESTS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "federation/base/memory.h"

/*  Whether this run writes the files. */
static inline bool golden_writes(void)
{
    const char *value = getenv("HELIO_GOLDEN_WRITE");
    return value && strcmp(value, "1") == 0;
}

/*  Appends a whole file to the buffer; the test fails without it. */
static inline void golden_read(const char *path, helio_buffer_t *out)
{
    char part[4096];
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("%s cannot be read: HELIO_GOLDEN_WRITE=1 writes it", path);
    for (size_t size; (size = fread(part, 1, sizeof part, file)) > 0;)
        helio_buffer_append(out, part, size);
    (void)fclose(file);
}

static inline void golden_write(const char *path, helio_text_t text)
{
    FILE *file = fopen(path, "we");
    if (!file)
        fail_msg("%s cannot be written", path);
    assert_int_equal(fwrite(text.data, 1, text.size, file), text.size);
    assert_int_equal(fclose(file), 0);
}

/*  Compares (or writes). The path is below the source tree: "docs/reference/job.md". */
static inline void golden_check(const char *path, helio_text_t text)
{
    char full[1024];
    (void)snprintf(full, sizeof full, "%s/%s", HELIO_SOURCE_DIR, path);
    if (golden_writes()) {
        golden_write(full, text);
        return;
    }
    helio_buffer_t kept = {0};
    golden_read(full, &kept);
    bool same = helio_text_equal(helio_buffer_view(&kept), text);
    helio_buffer_clear(&kept);
    if (!same)
        fail_msg("%s differs: run with HELIO_GOLDEN_WRITE=1 and look at the change; what it would be:\n%.*s", path,
                 HELIO_TEXT_ARGS(text));
}

#endif
