/*  dependencies.c -- the jobs that --dependency names. */
#include <string.h>
#include <strings.h>

#include "client/sbatch/internal.h"
#include "federation/base/char.h"

static helio_rc add_id(sbatch_t *self, const sbatch_value_t *value, helio_text_t id, helio_buffer_t *list)
{
    char text[64];
    if (id.size == 0 || id.size >= sizeof text)
        return sbatch_refuse(self, value, "such as afterok:01k9x2m4q8r7", "--dependency: a job id is missing");
    (void)helio_text_copy(id, text, sizeof text);
    if (strchr(text, '+'))
        return sbatch_refuse(self, value, "use --begin for a time",
                             "--dependency: minutes after a start ('%s') are not supported", text);
    char *task = strchr(text, '_');
    if (task)
        *task = '.'; /* Slurm's way to write a task of an array */
    bool good = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-") == id.size;
    if (!good || id.size < 6)
        return sbatch_refuse(self, value, "use the ids that `helio sbatch` prints",
                             "--dependency: '%s' is not a job id of Heliostat", text);
    helio_buffer_printf(list, "%s%s", list->size ? ", " : "", text);
    return HELIO_OK;
}

enum { AFTER_TASK = 4 /* in the order of the lists */ };

static helio_rc add_dependency(sbatch_t *self, const sbatch_value_t *value, helio_text_t part,
                               helio_buffer_t lists[SBATCH_AFTERS])
{
    static const char *const kinds[SBATCH_AFTERS] = {"afterok", "afterany", "afternotok", "after", "aftercorr"};
    const char *colon = memchr(part.data, ':', part.size);
    helio_text_t kind = {part.data, (uint32_t)(colon ? colon - part.data : (ptrdiff_t)part.size)};
    uint32_t list = 0;
    while (list < SBATCH_AFTERS &&
           !(kind.size == strlen(kinds[list]) && strncasecmp(kind.data, kinds[list], kind.size) == 0))
        list++;
    bool bare = kind.size && helio_is_digit(kind.data[0]); /* ids alone: afterany */
    if (list == SBATCH_AFTERS && !bare)
        return sbatch_refuse(self, value, "use after, afterok, afterany, afternotok, aftercorr or singleton",
                             "--dependency: '%.32s' is not supported", helio_arena_string(self->arena, kind));
    if (list == AFTER_TASK && !sbatch_given(self, HELIO_SBATCH_ARRAY))
        return sbatch_refuse(self, value, "use afterok, or make the job an array too",
                             "--dependency: aftercorr is for the tasks of an array");
    helio_rc rc = HELIO_OK;
    const char *end = part.data + part.size, *at = bare ? part.data : part.data + kind.size;
    if (bare)
        list = 1;
    else if (at == end)
        return sbatch_refuse(self, value, "such as afterok:01k9x2m4q8r7", "--dependency: a job id is missing");
    else
        at++;
    for (; rc == HELIO_OK; at++) {
        const char *stop = memchr(at, ':', (size_t)(end - at));
        stop = stop ? stop : end;
        rc = add_id(self, value, (helio_text_t){at, (uint32_t)(stop - at)}, &lists[list]);
        at = stop;
        if (at == end)
            break;
    }
    return rc;
}

/*  Slurm waits for the jobs of that name and user that were submitted before: those that the caller has found. */
static void add_earlier(sbatch_t *self, helio_buffer_t *list)
{
    const char *earlier = self->input->earlier;
    self->singleton = true;
    if (!earlier)
        sbatch_note(self, "--dependency=singleton: `helio sbatch` adds your jobs of that name that are not over");
    else if (earlier[0])
        helio_buffer_printf(list, "%s%s", list->size ? ", " : "", earlier);
}

static bool is_singleton(const char *text, size_t size)
{
    static const char word[] = "singleton";
    return size == sizeof word - 1 && strncasecmp(text, word, size) == 0;
}

helio_rc sbatch_dependencies(sbatch_t *self, const char *ret_lists[SBATCH_AFTERS])
{
    const sbatch_value_t *value = sbatch_given(self, HELIO_SBATCH_DEPENDENCY);
    helio_buffer_t lists[SBATCH_AFTERS] = {{0}, {0}, {0}, {0}, {0}};
    helio_rc rc = HELIO_OK;
    if (!value || !value->text[0])
        return HELIO_OK;
    if (strchr(value->text, '?'))
        return sbatch_refuse(self, value, "join dependencies with ',': all must be met",
                             "--dependency: alternatives with '?' are not supported");
    for (const char *at = value->text; rc == HELIO_OK; at++) {
        size_t size = strcspn(at, ",");
        if (is_singleton(at, size))
            add_earlier(self, &lists[1]);
        else
            rc = add_dependency(self, value, (helio_text_t){at, (uint32_t)size}, lists);
        at += size;
        if (!*at)
            break;
    }
    for (size_t i = 0; i < SBATCH_AFTERS; i++) {
        if (rc == HELIO_OK && lists[i].size)
            ret_lists[i] = helio_arena_printf(self->arena, "[%s]", lists[i].data).data;
        helio_buffer_clear(&lists[i]);
    }
    return rc;
}
