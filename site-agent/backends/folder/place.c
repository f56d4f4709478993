/*  place.c -- puts programs into the shared folder. */
#include "site-agent/backends/folder/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "federation/base/id.h"
#include "site-agent/shim/status_files.h"

enum { SHIM_MAX = 256 << 20 };

typedef struct placing {
    const char *root;
    helio_text_t site;
    helio_arena_t *arena;
} placing_t;

static helio_rc read_all(const char *path, helio_buffer_t *out, helio_error_t *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return helio_fail(err, HELIO_NOT_FOUND, "helio-shim cannot be read at '%s': %s", path, strerror(errno));
    static const size_t piece_size = 1 << 16;
    char piece[1 << 16];
    ssize_t size;
    out->max = SHIM_MAX;
    while ((size = read(fd, piece, piece_size)) > 0 && !out->overflow)
        helio_buffer_append(out, piece, (size_t)size);
    (void)close(fd);
    if (size < 0 || out->overflow || !out->size)
        return helio_fail(err, HELIO_IO, "helio-shim cannot be read at '%s'", path);
    return HELIO_OK;
}

/*  The name holds a hash of the bytes, so a file of that name with the right size and mode is the right one. */
static bool is_there(int folder, const char *name, helio_text_t bytes)
{
    struct stat status;
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(status.st_mode) &&
           (status.st_mode & 0777) == 0755 && status.st_size == (off_t)bytes.size && status.st_uid == geteuid();
}

static helio_rc put(int folder, const char *name, helio_text_t bytes, helio_error_t *err)
{
    if (is_there(folder, name, bytes))
        return HELIO_OK;
    char temporary[200];
    (void)snprintf(temporary, sizeof temporary, ".%.150s-%ld", name, (long)getpid());
    (void)unlinkat(folder, temporary, 0);
    int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700);
    bool good = fd >= 0 && helio_write_all(fd, bytes.data, bytes.size) && fchmod(fd, 0755) == 0 && fsync(fd) == 0;
    int why = errno;
    if (fd >= 0)
        (void)close(fd);
    if (good && renameat(folder, temporary, folder, name) == 0 && fsync(folder) == 0)
        return HELIO_OK;
    why = good ? errno : why;
    (void)unlinkat(folder, temporary, 0);
    return helio_fail(err, HELIO_IO, "cannot put '%s' into the shared folder: %s", name, strerror(why));
}

static helio_rc put_hashed(const placing_t *self, int folder, const char *what, const char *suffix, helio_text_t bytes,
                           const char **ret_path, helio_error_t *err)
{
    unsigned long long hash = helio_hash(HELIO_HASH_SEED, bytes.data, bytes.size);
    const char *name =
        helio_arena_printf(self->arena, "%s-%s-%016llx%s", what, HELIO_PROGRAM_VERSION, hash, suffix).data;
    *ret_path = helio_arena_printf(self->arena, "%s/bin/%s", self->root, name).data;
    return put(folder, name, bytes, err);
}

static helio_rc open_bin(const char *shared, int *ret_folder, helio_error_t *err)
{
    int root = open(shared, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return helio_fail(err, HELIO_IO, "cannot open the shared folder '%s': %s", shared, strerror(errno));
    if (mkdirat(root, "bin", 0755) && errno != EEXIST) {
        helio_rc rc = helio_fail(err, HELIO_IO, "cannot make '%s/bin': %s", shared, strerror(errno));
        (void)close(root);
        return rc;
    }
    int folder = openat(root, "bin", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    (void)close(root);
    /* Anyone who can write here can run programs as every user of the federation. */
    struct stat status;
    if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid != geteuid()) {
        (void)close(folder);
        return helio_fail(err, HELIO_FORBIDDEN, "'%s/bin' belongs to user %u, who could replace helio-shim", shared,
                          (unsigned)status.st_uid);
    }
    if (folder < 0 || fchmod(folder, 0755)) {
        helio_rc rc = helio_fail(err, HELIO_IO, "'%s/bin': %s", shared, strerror(errno));
        if (folder >= 0)
            (void)close(folder);
        return rc;
    }
    *ret_folder = folder;
    return HELIO_OK;
}

/*  Two sites in one folder would renew each other's leases, and take each other's attempts for their own. */
static helio_rc check_site(const placing_t *self, helio_error_t *err)
{
    HELIO_AUTO(helio_buffer_clear) helio_buffer_t name = {0};
    int root = open(self->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return helio_fail(err, HELIO_IO, "cannot open the shared folder '%s': %s", self->root, strerror(errno));
    helio_rc rc = helio_status_file_read(root, "site", 64, &name, err);
    if (rc == HELIO_NOT_FOUND)
        rc = helio_status_file_claim(root, "site", self->site, err);
    else if (rc == HELIO_OK && !helio_text_equal(helio_buffer_view(&name), self->site))
        rc = helio_fail(err, HELIO_CONFLICT,
                        "the shared folder '%s' is that of the site '%.*s': each site needs its own", self->root,
                        HELIO_TEXT_ARGS(helio_buffer_view(&name)));
    (void)close(root);
    return rc;
}

helio_rc helio_folder_place(const char *root, helio_text_t site, const helio_folder_programs_t *programs,
                            helio_arena_t *arena, const char **ret_shim, const char **ret_script, helio_error_t *err)
{
    const placing_t self = {.root = root, .site = site, .arena = arena};
    int folder = -1;
    helio_rc rc = check_site(&self, err);
    if (!rc)
        rc = open_bin(root, &folder, err);
    if (rc)
        return rc;
    if (programs->script)
        rc = put_hashed(&self, folder, programs->script, ".sh", programs->text, ret_script, err);
    if (!rc && programs->shim) {
        HELIO_AUTO(helio_buffer_clear) helio_buffer_t bytes = {0};
        rc = read_all(programs->shim, &bytes, err);
        if (!rc)
            rc = put_hashed(&self, folder, "helio-shim", "", helio_buffer_view(&bytes), ret_shim, err);
    }
    (void)close(folder);
    return rc;
}
