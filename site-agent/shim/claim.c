/*  claim.c -- the shim's hold on its folder: that the folder is its own, and that it is still the one that others
 *  see. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "site-agent/shim/batch.h"
#include "site-agent/shim/internal.h"
#include "site-agent/shim/slurm.h"

static helio_rc claim_of_mine(const helio_shim_t *self, helio_buffer_t *out, helio_error_t *err)
{
    helio_process_info_t me;
    if (helio_process_inspect(getpid(), &me))
        return helio_fail(err, HELIO_UNAVAILABLE, "/proc does not show this process");
    helio_claim_t mine = {.shim = me.process};
    memcpy(mine.boot_id, self->lease.boot_id, sizeof mine.boot_id);
    (void)gethostname(mine.host, sizeof mine.host - 1);
    const char *id = "";
    if (self->call->mode == HELIO_SHIM_BATCH)
        id = helio_batch_job_id(self->call->environ_list);
    else if (self->call->mode != HELIO_SHIM_LOCAL)
        id = helio_slurm_job_id(self->call->environ_list);
    (void)helio_text_copy(helio_text_of(id), mine.scheduler_id, sizeof mine.scheduler_id);
    helio_claim_text(&mine, out);
    return HELIO_OK;
}

helio_rc helio_shim_claim(helio_shim_t *self, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t text = {0};
    helio_rc rc = claim_of_mine(self, &text, err);
    return rc ? rc : helio_status_file_claim(self->status_files, "claim", helio_buffer_view(&text), err);
}

bool helio_shim_folder_was_removed(const helio_shim_t *self)
{
    struct stat status;
    return fstat(self->status_files, &status) == 0 && status.st_nlink == 0;
}

helio_rc helio_shim_take_copy(helio_shim_t *self, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t mine = {0};
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t found = {0};
    if (self->call->mode == HELIO_SHIM_RANK)
        return helio_fail(err, HELIO_NOT_FOUND, "the folder was removed");
    HELIO_AUTO(helio_close) int copy = open(self->call->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0 || claim_of_mine(self, &mine, err) ||
        helio_status_file_read(copy, "claim", HELIO_STATUS_FILE_MAX, &found, NULL) ||
        !helio_text_equal(helio_buffer_view(&mine), helio_buffer_view(&found)))
        return helio_fail(err, HELIO_NOT_FOUND, "the folder was removed");
    if (dup3(copy, self->folder, O_CLOEXEC) < 0)
        return helio_fail(err, HELIO_IO, "dup3: %s", strerror(errno));
    return HELIO_OK;
}
