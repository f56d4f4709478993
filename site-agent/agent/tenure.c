/*  tenure.c -- the lock file: who holds the state directory, where that file was then, and what is proved of those
 *  before. */
#include "site-agent/agent/tenure.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "site-agent/agent/host.h"
#include "site-agent/shim/process.h"
#include "site-agent/shim/status_files.h"

enum { PLACE_SIZE = HELIO_BOOT_ID_SIZE + 48, TEXT_MAX = 512, SUM_SIZE = 17 };

/*  What the file says. While its holder lives, no other file has its device and inode in this boot of the machine. */
typedef struct holder {
    helio_uuid_t process, former;
    char place[PLACE_SIZE]; /* "" = unknown: as no other */
    bool in_session, ended;
} holder_t;

static void find_place(int fd, char ret_place[PLACE_SIZE])
{
    char boot[HELIO_BOOT_ID_SIZE];
    struct stat status;
    ret_place[0] = '\0';
    helio_process_boot_id(boot);
    if (boot[0] && fstat(fd, &status) == 0)
        (void)snprintf(ret_place, PLACE_SIZE, "%s/%llu/%llu", boot, (unsigned long long)status.st_dev,
                       (unsigned long long)status.st_ino);
}

static const char *sum_of(const char *bytes, size_t size, char ret_sum[SUM_SIZE])
{
    (void)snprintf(ret_sum, SUM_SIZE, "%016llx", (unsigned long long)helio_hash(HELIO_HASH_SEED, bytes, size));
    return ret_sum;
}

/*  False: no process has written it, or not all of it is there. */
static bool read_holder(int fd, holder_t *ret_holder)
{
    char bytes[TEXT_MAX], sum[SUM_SIZE];
    ssize_t size = pread(fd, bytes, sizeof bytes, 0);
    helio_text_t rest = {bytes, size > 0 ? (uint32_t)size : 0}, key, value;
    bool whole = false, sound = true;
    *ret_holder = (holder_t){0};
    while (sound && !whole && helio_status_file_line(&rest, &key, &value)) {
        whole = helio_text_is(key, "sum") && helio_text_is(value, sum_of(bytes, (size_t)(key.data - bytes), sum));
        if (helio_text_is(key, "process"))
            sound = helio_uuid_parse(value, &ret_holder->process) == HELIO_OK;
        else if (helio_text_is(key, "former"))
            sound = !value.size || helio_uuid_parse(value, &ret_holder->former) == HELIO_OK;
        else if (helio_text_is(key, "place"))
            sound = helio_text_copy(value, ret_holder->place, sizeof ret_holder->place);
        else if (helio_text_is(key, "in_session"))
            ret_holder->in_session = helio_text_is(value, "1");
        else if (helio_text_is(key, "ended"))
            ret_holder->ended = helio_text_is(value, "1");
    }
    return sound && whole;
}

/*  A file that cannot be written keeps what it said, of a process that has ended: its successor proves the end of a
 *  process that no broker asks about. */
static void write_holder(const helio_tenure_t *self, bool ended)
{
    char bytes[TEXT_MAX], place[PLACE_SIZE], process[HELIO_ID_SIZE], former[HELIO_ID_SIZE] = "", sum[SUM_SIZE];
    find_place(self->fd, place);
    helio_uuid_text(self->process, process);
    if (!helio_uuid_is_nil(self->former))
        helio_uuid_text(self->former, former);
    int size = snprintf(bytes, sizeof bytes, "process=%s\nformer=%s\nplace=%s\nin_session=%d\nended=%d\n", process,
                        former, place, self->in_session, ended);
    size += snprintf(bytes + size, sizeof bytes - (size_t)size, "sum=%s\n", sum_of(bytes, (size_t)size, sum));
    if (lseek(self->fd, 0, SEEK_SET) == 0 && helio_write_all(self->fd, bytes, (size_t)size) &&
        ftruncate(self->fd, size) == 0)
        (void)fdatasync(self->fd);
}

/*  This process has the lock. So the holder that the file names is gone, if it had the lock of this very file, or if
 *  it says so. It may never have been in session: then what it had proved is still what a broker asks about. */
static helio_uuid_t proved_former(int fd)
{
    holder_t holder;
    char place[PLACE_SIZE];
    find_place(fd, place);
    if (!read_holder(fd, &holder) || (!holder.ended && (!place[0] || strcmp(place, holder.place) != 0)))
        return (helio_uuid_t){0};
    return holder.in_session ? holder.process : holder.former;
}

helio_rc helio_tenure_begin(const char *state_dir, int64_t wall_ms, helio_tenure_t *ret_tenure, helio_error_t *err)
{
    uint8_t random[10];
    helio_tenure_t self = {.fd = -1};
    helio_rc rc = helio_state_dir_lock(state_dir, &self.fd, err);
    if (rc != HELIO_OK)
        return rc;
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
        helio_close(&self.fd);
        return helio_fail(err, HELIO_IO, "the system provided no random bytes");
    }
    self.process = helio_uuid_v7(wall_ms, random);
    self.former = proved_former(self.fd);
    write_holder(&self, false);
    *ret_tenure = self;
    return HELIO_OK;
}

void helio_tenure_admitted(helio_tenure_t *self)
{
    if (self->in_session)
        return;
    self->in_session = true;
    write_holder(self, false);
}

void helio_tenure_end(helio_tenure_t *self)
{
    write_holder(self, true);
    helio_close(&self->fd);
}
