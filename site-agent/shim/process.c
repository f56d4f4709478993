/*  process.c -- reads /proc, and signals the processes of an attempt. */
#include "site-agent/shim/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static size_t read_file(const char *path, char *ret_text, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    size_t size = 0;
    ssize_t got;
    while (size < capacity - 1 && (got = read(fd, ret_text + size, capacity - 1 - size)) > 0)
        size += (size_t)got;
    (void)close(fd);
    ret_text[size] = '\0';
    return size;
}

helio_rc helio_process_inspect(pid_t pid, helio_process_info_t *ret_info)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    if (!read_file(path, text, sizeof text))
        return HELIO_NOT_FOUND;
    /* The second field is the program's name in parentheses, and can itself contain any of these characters. */
    const char *after = strrchr(text, ')');
    char state;
    int parent, session;
    unsigned long long start;
    if (!after || sscanf(after + 1, " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                         &state, &parent, &session, &start) != 4)
        return HELIO_NOT_FOUND;
    *ret_info = (helio_process_info_t){{pid, start}, parent, session, state};
    return HELIO_OK;
}

bool helio_process_alive(helio_process_t process)
{
    helio_process_info_t info;
    return process.pid > 0 && helio_process_inspect(process.pid, &info) == HELIO_OK &&
           info.process.start_ticks == process.start_ticks && info.state != 'Z' && info.state != 'X';
}

static char state_in(const char *path)
{
    char text[1024], state = '\0';
    const char *after = read_file(path, text, sizeof text) ? strrchr(text, ')') : NULL;
    return after && sscanf(after + 1, " %c", &state) == 1 ? state : '\0';
}

bool helio_process_is_at_rest(pid_t pid, const char *name)
{
    char path[320], comm[32];
    (void)snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    if (!read_file(path, comm, sizeof comm))
        return false;
    comm[strcspn(comm, "\n")] = '\0';
    (void)snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
    DIR *threads = strcmp(comm, name) == 0 ? opendir(path) : NULL;
    uint32_t count = 0, asleep = 0;
    for (const struct dirent *entry; threads && (entry = readdir(threads));) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "/proc/%ld/task/%.200s/stat", (long)pid, entry->d_name);
        count++;
        asleep += state_in(path) == 'S';
    }
    if (threads)
        (void)closedir(threads);
    return count && asleep == count;
}

/*  NSpid has a number for each PID namespace, from that of /proc down to the process's own (proc(5)). */
static bool is_contained(pid_t pid)
{
    char path[64], text[4096], further[16];
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    const char *line = read_file(path, text, sizeof text) ? strstr(text, "\nNSpid:") : NULL;
    return line && sscanf(line, "\nNSpid: %*d%*[ \t]%15[0-9]", further) == 1;
}

/*  key: of a set of signals in /proc/<pid>/status, with the line break before it. */
static bool is_in_set(pid_t pid, const char *key, int signal)
{
    char path[64], text[4096];
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    if (!read_file(path, text, sizeof text))
        return false;
    const char *set = strstr(text, key);
    return set && (strtoull(set + strlen(key), NULL, 16) >> (signal - 1) & 1);
}

bool helio_process_has_pending(helio_process_t process, int signal)
{
    return helio_process_alive(process) && is_in_set(process.pid, "\nShdPnd:", signal);
}

void helio_process_boot_id(char ret_id[HELIO_BOOT_ID_SIZE])
{
    char text[64] = "";
    (void)read_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
    text[strcspn(text, "\n")] = '\0';
    (void)snprintf(ret_id, HELIO_BOOT_ID_SIZE, "%.36s", text);
}

/*  Read with the rights of the attempt's account: an environment is open to its own user, and to no root without
 *  CAP_SYS_PTRACE, which the agent's unit does not have. */
static size_t read_environment(pid_t pid, helio_account_t account, char *ret_text, size_t capacity)
{
    char path[64];
    bool root = geteuid() == 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/environ", (long)pid);
    if (root) {
        (void)setfsgid(account.gid);
        (void)setfsuid(account.uid);
    }
    size_t size = read_file(path, ret_text, capacity);
    if (root) {
        (void)setfsuid(0);
        (void)setfsgid(getegid());
    }
    return size;
}

/*  /proc/<pid>/cmdline and environ are texts that end with NUL each. With a prefix: the first that begins with it, from
 *  there on; without: the one with that index. */
static bool find_text(pid_t pid, const char *prefix, uint32_t index, char *ret_text, size_t capacity)
{
    enum { TEXTS_MAX = 1 << 20 };
    char path[64];
    struct stat status;
    (void)snprintf(path, sizeof path, "/proc/%ld", (long)pid);
    if (stat(path, &status))
        return false;
    (void)snprintf(path, sizeof path, "/proc/%ld/cmdline", (long)pid);
    char *text = helio_new(TEXTS_MAX, 1);
    helio_account_t owner = {.uid = status.st_uid, .gid = status.st_gid};
    size_t size = prefix ? read_environment(pid, owner, text, TEXTS_MAX) : read_file(path, text, TEXTS_MAX);
    size_t skip = prefix ? strlen(prefix) : 0;
    bool found = false;
    uint32_t i = 0;
    for (size_t at = 0; at < size && !found; at += strlen(text + at) + 1, i++) {
        found = (prefix ? strncmp(text + at, prefix, skip) == 0 : i == index) && strlen(text + at + skip) < capacity;
        if (found)
            memcpy(ret_text, text + at + skip, strlen(text + at + skip) + 1);
    }
    free(text);
    return found;
}

bool helio_process_argument(pid_t pid, uint32_t index, char *ret_text, size_t capacity)
{
    return find_text(pid, NULL, index, ret_text, capacity);
}

bool helio_process_entry(pid_t pid, const char *prefix, char *ret_text, size_t capacity)
{
    return find_text(pid, prefix, 0, ret_text, capacity);
}

/*  Who started it, also of a program that has gained the rights of its file's owner: what is in its environment is
 *  still theirs. */
static int64_t real_user(pid_t pid)
{
    char path[64], text[4096];
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    const char *line = read_file(path, text, sizeof text) ? strstr(text, "\nUid:\t") : NULL;
    return line ? (int64_t)strtoul(line + strlen("\nUid:\t"), NULL, 10) : -1;
}

static bool is_ours(int namespace)
{
    struct stat theirs, ours;
    return fstat(namespace, &theirs) || stat("/proc/self/ns/user", &ours) ||
           (theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev);
}

/*  The user who made the outermost user namespace, below this process's own, that the process is in; -1 = it is in this
 *  process's own, or may not be asked. */
static int64_t maker_of_namespace(pid_t pid)
{
    enum { DEPTH_MAX = 33 }; /* the kernel's limit, and one */
    char path[64];
    uid_t maker = 0;
    bool found = false;
    (void)snprintf(path, sizeof path, "/proc/%ld/ns/user", (long)pid);
    int namespace = open(path, O_RDONLY | O_CLOEXEC);
    for (int depth = 0; depth < DEPTH_MAX && namespace >= 0 && !is_ours(namespace); depth++) {
        found = ioctl(namespace, NS_GET_OWNER_UID, &maker) == 0;
        int parent = found ? ioctl(namespace, NS_GET_PARENT) : -1;
        (void)close(namespace);
        namespace = parent;
    }
    if (namespace >= 0)
        (void)close(namespace);
    return found ? (int64_t)maker : -1;
}

int64_t helio_process_owner(pid_t pid)
{
    int64_t maker = maker_of_namespace(pid);
    return maker >= 0 ? maker : real_user(pid);
}

size_t helio_process_each(helio_process_fn *fn, void *arg)
{
    size_t count = 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        char *end;
        long pid = strtol(entry->d_name, &end, 10);
        helio_process_info_t info;
        if (*end || pid <= 0 || helio_process_inspect((pid_t)pid, &info))
            continue;
        count += fn(arg, &info);
    }
    (void)closedir(proc);
    return count;
}

/* ---- a tree -------------------------------------------------------------------------------------------- */

typedef struct all {
    helio_process_info_t *items;
    size_t count, capacity;
} all_t;

static bool collect(void *arg, const helio_process_info_t *info)
{
    all_t *all = arg;
    if (all->count == all->capacity) {
        all->capacity = all->capacity ? all->capacity * 2 : 256;
        all->items = helio_grow(all->items, all->capacity, sizeof *all->items);
    }
    all->items[all->count++] = *info;
    return true;
}

/*  A child's number is usually above its parent's, but numbers wrap around: repeat until nothing is added. */
static void mark_tree(const all_t *all, pid_t root, bool *in)
{
    for (bool grew = true; grew;) {
        grew = false;
        for (size_t i = 0; i < all->count; i++) {
            bool below = all->items[i].parent == root;
            for (size_t j = 0; !below && j < all->count; j++)
                below = in[j] && all->items[j].process.pid == all->items[i].parent;
            if (below && !in[i])
                grew = in[i] = true;
        }
    }
}

static bool catches(pid_t pid, int signal)
{
    return is_in_set(pid, "\nSigCgt:", signal) || is_in_set(pid, "\nSigBlk:", signal);
}

static bool is_called(pid_t pid, const char *name)
{
    char path[64], text[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/comm", (long)pid);
    size_t size = read_file(path, text, sizeof text);
    return size == strlen(name) + 1 && memcmp(text, name, size - 1) == 0;
}

typedef bool wanted_fn(pid_t pid, int signal, const char *name);

static bool want_all(pid_t pid, int signal, const char *name)
{
    (void)pid, (void)signal, (void)name;
    return true;
}

static bool want_catchers(pid_t pid, int signal, const char *name)
{
    (void)name;
    return catches(pid, signal);
}

static bool want_contained(pid_t pid, int signal, const char *name)
{
    (void)signal, (void)name;
    return is_contained(pid);
}

static bool want_contained_catchers(pid_t pid, int signal, const char *name)
{
    (void)name;
    return is_contained(pid) && catches(pid, signal);
}

static bool want_called(pid_t pid, int signal, const char *name)
{
    (void)signal;
    return is_called(pid, name);
}

static bool want_others(pid_t pid, int signal, const char *name)
{
    (void)signal;
    return !is_called(pid, name);
}

void helio_process_below(pid_t root, helio_process_below_fn *fn, void *arg)
{
    all_t all = {0};
    (void)helio_process_each(collect, &all);
    bool *in = helio_new(all.count + 1, sizeof *in);
    mark_tree(&all, root, in);
    for (size_t i = 0; i < all.count; i++)
        if (in[i] && all.items[i].state != 'Z')
            fn(arg, all.items[i].process.pid);
    free(in);
    free(all.items);
}

typedef struct wish {
    int signal;
    wanted_fn *wanted;
    const char *name;
    size_t sent;
} wish_t;

static void signal_one(void *arg, pid_t pid)
{
    wish_t *wish = arg;
    if (wish->wanted(pid, wish->signal, wish->name))
        wish->sent += kill(pid, wish->signal) == 0;
}

static size_t signal_those(pid_t root, int signal, wanted_fn *wanted, const char *name)
{
    wish_t wish = {signal, wanted, name, 0};
    helio_process_below(root, signal_one, &wish);
    return wish.sent;
}

size_t helio_process_signal_tree(pid_t root, int signal, bool only_catchers)
{
    return signal_those(root, signal, only_catchers ? want_catchers : want_all, NULL);
}

size_t helio_process_signal_contained(pid_t root, int signal, bool only_catchers)
{
    return signal_those(root, signal, only_catchers ? want_contained_catchers : want_contained, NULL);
}

size_t helio_process_signal_called(pid_t root, int signal, const char *name)
{
    return signal_those(root, signal, want_called, name);
}

size_t helio_process_signal_others(pid_t root, int signal, const char *name)
{
    return signal_those(root, signal, want_others, name);
}

/* ---- leftover processes ------------------------------------------------------------------------------------- */

typedef struct left {
    const helio_process_t *leaders;
    size_t count;
    helio_account_t account;
    const char *mark;
} left_t;

static bool has_mark(pid_t pid, helio_account_t account, const char *mark)
{
    enum { ENVIRON_MAX = 1 << 20 };
    char *text = helio_new(ENVIRON_MAX, 1);
    size_t size = read_environment(pid, account, text, ENVIRON_MAX);
    bool found = false;
    for (size_t at = 0; at < size && !found; at += strlen(text + at) + 1)
        found = strcmp(text + at, mark) == 0;
    free(text);
    return found;
}

static bool owned_by(pid_t pid, uid_t uid)
{
    return helio_process_owner(pid) == (int64_t)uid;
}

/*  The kernel keeps a session's number while it has members, so if a leader exists and is not the attempt's, neither is
 *  the session. Without a leader the user id decides. */
static bool in_session(const left_t *left, const helio_process_info_t *info)
{
    for (size_t i = 0; i < left->count; i++) {
        if (info->session != left->leaders[i].pid)
            continue;
        helio_process_info_t leader;
        if (helio_process_inspect(info->session, &leader) == HELIO_OK)
            return leader.process.start_ticks == left->leaders[i].start_ticks;
        return owned_by(info->process.pid, left->account.uid) &&
               info->process.start_ticks >= left->leaders[i].start_ticks;
    }
    return false;
}

static bool kill_one(void *arg, const helio_process_info_t *info)
{
    const left_t *left = arg;
    if (info->process.pid == getpid() || info->state == 'Z' || info->state == 'X')
        return false;
    if (!in_session(left, info) && !(left->mark && has_mark(info->process.pid, left->account, left->mark)))
        return false;
    (void)kill(info->process.pid, SIGKILL);
    return true;
}

size_t helio_process_kill_left(const helio_process_t *leaders, size_t count, helio_account_t account, const char *mark)
{
    left_t left = {leaders, count, account, mark};
    return helio_process_each(kill_one, &left);
}
