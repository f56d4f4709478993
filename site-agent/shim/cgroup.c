/*  cgroup.c -- reads and writes the files of control groups. */
#include "site-agent/shim/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"

enum { PATH_SIZE = 4096 };
#define KEEPER "keeper"

/* ---- files --------------------------------------------------------------------------------------------- */

static int open_file(const char *group, const char *name, int flags)
{
    char path[PATH_SIZE];
    int size = snprintf(path, sizeof path, "%s/%s", group, name);
    if (size < 0 || (size_t)size >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return open(path, flags | O_CLOEXEC | O_NOFOLLOW);
}

static bool write_file(const char *group, const char *name, const char *text)
{
    HELIO_AUTO(helio_close) int fd = open_file(group, name, O_WRONLY);
    return fd >= 0 && helio_write_all(fd, text, strlen(text));
}

/*  At most capacity - 1 bytes, and a NUL. */
static bool read_file(const char *group, const char *name, char *ret_text, size_t capacity)
{
    HELIO_AUTO(helio_close) int fd = open_file(group, name, O_RDONLY);
    ssize_t size = fd < 0 ? -1 : read(fd, ret_text, capacity - 1);
    ret_text[size > 0 ? size : 0] = '\0';
    return size >= 0;
}

/*  The number after `key` in a file of lines "key number"; 0 = no such line. */
static uint64_t count_of(const char *group, const char *name, const char *key)
{
    char text[1024], *rest = NULL;
    size_t size = strlen(key);
    (void)read_file(group, name, text, sizeof text);
    for (const char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        if (strncmp(line, key, size) == 0 && line[size] == ' ')
            return strtoull(line + size + 1, NULL, 10);
    return 0;
}

/*  Calls fn for each process of the group itself. False: the list could not be read to its end. */
static bool each_process(const char *group, bool (*fn)(const void *arg, const char *pid), const void *arg)
{
    int fd = open_file(group, "cgroup.procs", O_RDONLY);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    char line[32];
    bool good = file != NULL;
    if (!file && fd >= 0)
        (void)close(fd);
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        good = fn(arg, line) && good;
    }
    if (file)
        (void)fclose(file);
    return good;
}

/* ---- the parent ---------------------------------------------------------------------------------------- */

helio_rc helio_cgroup_path(const char *group, char *ret_path, size_t capacity, helio_error_t *err)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    const struct mntent *mount = NULL;
    int size = -1;
    while (mounts && (mount = getmntent(mounts)))
        if (strcmp(mount->mnt_type, "cgroup2") == 0) {
            size = snprintf(ret_path, capacity, "%s%s%s", mount->mnt_dir, *group ? "/" : "", group);
            break;
        }
    if (mounts)
        (void)endmntent(mounts);
    if (size < 0)
        return helio_fail(err, HELIO_NOT_FOUND, "this machine has no control groups of version 2");
    return (size_t)size < capacity ? HELIO_OK : helio_fail(err, HELIO_TOO_BIG, "a path is too long");
}

static bool names(const char *words, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += size)
        if ((at == words || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\n' || at[size] == '\0'))
            return true;
    return false;
}

static helio_cgroup_powers_t powers_in(const char *group, const char *name)
{
    char words[1024];
    (void)read_file(group, name, words, sizeof words);
    return (helio_cgroup_powers_t){.pids = names(words, "pids"), .memory = names(words, "memory")};
}

/*  The kernel lets a process change groups only by who may write to the nearest group above both. */
static bool is_within(const char *parent)
{
    char text[PATH_SIZE], path[PATH_SIZE];
    (void)read_file("/proc/self", "cgroup", text, sizeof text);
    char *own = strstr(text, "0::/");
    if (!own || (own != text && own[-1] != '\n'))
        return false;
    own[strcspn(own, "\n")] = '\0';
    size_t size = strlen(parent);
    return helio_cgroup_path(own + 4, path, sizeof path, NULL) == HELIO_OK && strncmp(path, parent, size) == 0 &&
           (path[size] == '/' || path[size] == '\0');
}

helio_rc helio_cgroup_look(const char *parent, helio_cgroup_powers_t *ret_powers, helio_error_t *err)
{
    char path[PATH_SIZE];
    (void)snprintf(path, sizeof path, "%.4000s/cgroup.procs", parent);
    if (access(path, F_OK))
        return helio_fail(err, HELIO_NOT_FOUND, "there is no control group '%s'", parent);
    if (access(parent, W_OK | X_OK) || access(path, W_OK))
        return helio_fail(err, HELIO_FORBIDDEN, "the control group '%s' is not delegated to this user", parent);
    if (geteuid() != 0 && !is_within(parent))
        return helio_fail(err, HELIO_FORBIDDEN, "only root can move processes into the control group '%s' from outside",
                          parent);
    *ret_powers = powers_in(parent, "cgroup.controllers");
    return HELIO_OK;
}

static bool move_process(const void *group, const char *pid)
{
    return write_file(group, "cgroup.procs", pid) || errno == ESRCH;
}

helio_rc helio_cgroup_delegate(const char *parent, helio_cgroup_powers_t *ret_powers, helio_error_t *err)
{
    helio_cgroup_powers_t offered;
    helio_rc rc = helio_cgroup_look(parent, &offered, err);
    if (rc)
        return rc;
    char keeper[PATH_SIZE];
    (void)snprintf(keeper, sizeof keeper, "%.4000s/" KEEPER, parent);
    if (mkdir(keeper, 0755) && errno != EEXIST)
        return helio_fail(err, HELIO_FORBIDDEN, "cannot make control groups in '%s': %s", parent, strerror(errno));
    if (!each_process(parent, move_process, keeper))
        return helio_fail(err, HELIO_FORBIDDEN, "cannot move processes within '%s': %s", parent, strerror(errno));
    if (offered.pids)
        (void)write_file(parent, "cgroup.subtree_control", "+pids");
    if (offered.memory)
        (void)write_file(parent, "cgroup.subtree_control", "+memory");
    *ret_powers = powers_in(parent, "cgroup.subtree_control");
    return HELIO_OK;
}

/* ---- a group ------------------------------------------------------------------------------------------- */

static helio_rc set_limit(const char *path, const char *name, uint64_t value, helio_error_t *err)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return write_file(path, name, text)
               ? HELIO_OK
               : helio_fail(err, HELIO_IO, "the job's control group: %s: %s", name, strerror(errno));
}

helio_rc helio_cgroup_make(const char *path, const helio_cgroup_limits_t *limits, helio_cgroup_powers_t powers,
                           helio_error_t *err)
{
    helio_rc rc = HELIO_OK;
    if (mkdir(path, 0755) && errno != EEXIST)
        return helio_fail(err, errno == ENOENT ? HELIO_NOT_FOUND : HELIO_IO, "cannot make the job's control group: %s",
                          strerror(errno));
    if (powers.pids && limits->processes)
        rc = set_limit(path, "pids.max", limits->processes, err);
    if (!rc && powers.memory && limits->memory_bytes) {
        rc = set_limit(path, "memory.max", limits->memory_bytes, err);
        (void)write_file(path, "memory.swap.max", "0"); /* a kernel without swap has no such file */
        (void)write_file(path, "memory.oom.group", "1");
    }
    if (rc)
        helio_cgroup_remove(path);
    return rc;
}

helio_rc helio_cgroup_enter(const char *path)
{
#ifdef HELIO_MUTANT_cgroup_unentered
    return HELIO_OK;
#endif
    return write_file(path, "cgroup.procs", "0") ? HELIO_OK : HELIO_IO;
}

static bool kill_process(const void *group, const char *pid)
{
    long number = strtol(pid, NULL, 10);
    (void)group;
    return number > 0 && kill((pid_t)number, SIGKILL) == 0; /* 0: it is in another namespace */
}

static bool is_empty(const char *path)
{
    char events[256];
    if (!read_file(path, "cgroup.events", events, sizeof events))
        return errno == ENOENT;
    return strstr(events, "populated 0") != NULL;
}

bool helio_cgroup_kill(const char *path)
{
    if (is_empty(path))
        return true;
    if (!write_file(path, "cgroup.kill", "1")) { /* Linux before 5.14: nothing can fork while it is frozen */
        (void)write_file(path, "cgroup.freeze", "1");
        (void)each_process(path, kill_process, NULL);
        (void)write_file(path, "cgroup.freeze", "0");
    }
    return is_empty(path);
}

uint64_t helio_cgroup_oom_kills(const char *path)
{
    return count_of(path, "memory.events", "oom_kill");
}

void helio_cgroup_remove(const char *path)
{
    (void)rmdir(path);
}
