/*  fuzz_sbatch.c -- batch scripts from arbitrary bytes. What is accepted is a job file whose `run` is the
 * script byte for byte; what is refused is refused at a place of the script, never at one of the job file
 * that was made of it. */
#include <stdlib.h>
#include <string.h>

#include "client/sbatch/sbatch.h"
#include "federation/spec/spec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool truth)
{
    if (!truth)
        abort();
}

static bool to_local(int64_t wall_ms, struct tm *ret_local)
{
    time_t seconds = (time_t)(wall_ms / 1000);
    return gmtime_r(&seconds, ret_local) != NULL;
}

static bool from_local(const struct tm *local, int64_t *ret_wall_ms)
{
    struct tm copy = *local;
    *ret_wall_ms = (int64_t)timegm(&copy) * 1000;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char variable[] = "LR=1e-4";
    char *environment[] = {variable, NULL};
    helio_arena_t *arena = helio_arena_new();
    helio_sbatch_words_t words = {0};
    helio_diagnostic_t diagnostic = {0};
    helio_sbatch_job_t job;
    helio_sbatch_input_t input = {.script = {(const char *)data, (uint32_t)size},
                                  .name = "fuzz.sh",
                                  .words = &words,
                                  .environment = environment,
                                  .directory = "/home/ana",
                                  .wall_ms = INT64_C(1795246215000),
                                  .to_local = to_local,
                                  .from_local = from_local};
    if (helio_sbatch_convert(&input, arena, &job, &diagnostic) == HELIO_OK) {
        helio_job_spec_t spec;
        require(helio_spec_parse_job((helio_spec_source_t){.text = job.yaml}, arena, &spec, NULL) == HELIO_OK);
        require(helio_text_equal(spec.run, input.script));
    } else {
        helio_buffer_t out = {0};
        helio_diagnostic_text(&diagnostic, false, &out);
        require(diagnostic.message[0] && diagnostic.span > 0 && strcmp(diagnostic.source_name, "fuzz.sh") == 0);
        for (size_t i = 0; i < out.size; i++)
            require((unsigned char)out.data[i] >= 0x20 || out.data[i] == '\n');
        helio_buffer_clear(&out);
    }
    helio_arena_destroy(&arena);
    return 0;
}
