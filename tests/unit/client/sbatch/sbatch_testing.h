/*  sbatch_testing.h -- one conversion in a test's hands. */
#ifndef HELIO_TESTS_SBATCH_TESTING_H
#define HELIO_TESTS_SBATCH_TESTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/sbatch/sbatch.h"
#include "federation/base/clock.h"
#include "federation/spec/spec.h"
#include "tests/support/arena_fixture.h"

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/*  Saturday, 2026-11-21T07:30:15Z, in a zone that is UTC. */
static inline int64_t test_now_ms(void)
{
    int64_t wall_ms = 0;
    assert_int_equal(helio_rfc3339_parse(HELIO_TEXT("2026-11-21T07:30:15Z"), &wall_ms), HELIO_OK);
    return wall_ms;
}

static inline bool test_to_local(int64_t wall_ms, struct tm *ret_local)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    return gmtime_r(&seconds, ret_local) != NULL;
}

static inline bool test_from_local(const struct tm *local, int64_t *ret_wall_ms)
{
    struct tm copy = *local;
    *ret_wall_ms = (int64_t)timegm(&copy) * 1000;
    return true;
}

typedef struct conversion {
    helio_rc rc;
    helio_sbatch_job_t job;
    helio_diagnostic_t diagnostic;
    helio_job_spec_t spec; /* of the YAML */
    const char *head;      /* the YAML up to `run:` */
} conversion_t;

/*  words: options, then perhaps a script's name and arguments. */
static inline conversion_t convert_text(helio_text_t script, const char *const *words, const char *const *environment,
                                        helio_arena_t *arena)
{
    conversion_t c = {.rc = HELIO_INVALID, .head = ""};
    helio_sbatch_words_t line;
    uint32_t count = 0;
    while (words && words[count])
        count++;
    c.rc = helio_sbatch_words(words, count, arena, &line, &c.diagnostic);
    if (c.rc != HELIO_OK)
        return c;
    const char *const *rest = words + line.taken;
    helio_sbatch_input_t input = {.script = script,
                                  .name = "train.sh",
                                  .path = line.taken < count ? rest[0] : "/home/ana/train.sh",
                                  .words = &line,
                                  .environment = (char *const *)(uintptr_t)environment,
                                  .directory = "/home/ana",
                                  .wall_ms = test_now_ms(),
                                  .to_local = test_to_local,
                                  .from_local = test_from_local};
    if (line.taken < count) {
        input.arguments = rest + 1;
        input.argument_count = count - line.taken - 1;
    }
    c.rc = helio_sbatch_convert(&input, arena, &c.job, &c.diagnostic);
    if (c.rc != HELIO_OK)
        return c;
    const char *run = strstr(c.job.yaml.data, "\nrun: ");
    assert_non_null(run);
    c.head = helio_arena_string(arena, (helio_text_t){c.job.yaml.data, (uint32_t)(run - c.job.yaml.data) + 1});
    helio_diagnostic_t wrong;
    if (helio_spec_parse_job((helio_spec_source_t){.text = c.job.yaml}, arena, &c.spec, &wrong) != HELIO_OK)
        fail_msg("%s\n%s", wrong.message, c.job.yaml.data);
    return c;
}

static inline conversion_t convert_with(const char *script, const char *const *words, const char *const *environment,
                                        helio_arena_t *arena)
{
    return convert_text(helio_arena_text(arena, helio_text_of(script)), words, environment, arena);
}

/*  "#!/bin/sh", the lines, and a command. */
static inline conversion_t convert_lines(const char *lines, helio_arena_t *arena)
{
    helio_text_t script = helio_arena_printf(arena, "#!/bin/sh\n%s\ntrue\n", lines);
    return convert_with(script.data, NULL, NULL, arena);
}

static inline bool has_note(const conversion_t *c, const char *part)
{
    for (uint32_t i = 0; i < c->job.note_count; i++)
        if (strstr(c->job.notes[i], part))
            return true;
    return false;
}

#endif
