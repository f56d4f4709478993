/*  output.c -- what an attempt's pods write, followed while they run, into one file of the agent's machine.
 *
 *  A pod's log is read from its beginning, and again after a cut: what the file has of it is skipped. A new agent begins
 *  the file anew, since the API keeps the logs as long as the Job.
 *
 *  So many logs are followed, a connection each, for as long as their pods run. The logs of further pods are read up to
 *  their present end, again and again, in the order in which they became due: none waits for another pod's end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utlist.h>

#include "site-agent/backends/kubernetes/document.h"
#include "site-agent/backends/kubernetes/shell.h"

enum { SWEEP_MS = 3600 * 1000, PATH_BYTES = 4096 };

struct helio_kube_output {
    helio_kube_output_t *next;
    helio_kube_output_t *line_prev, *line_next; /* among the logs that are due */
    helio_kube_attempt_t *attempt;
    char uid[64], pod[300];
    uint64_t taken, skip; /* bytes of this pod in the file; of those, what comes again */
    bool out, done, in_line;
    bool follows;  /* what is out ends with the pod, not with what it has written so far */
    bool complete; /* what is out began when its pod had ended, or ends with it */
    bool ended;    /* its pod has ended */
    int64_t due_ms;
};

static void path_of(const helio_kube_t *self, const char *name, char ret_path[PATH_BYTES])
{
    (void)snprintf(ret_path, PATH_BYTES, "%s/%s.log", self->folder, name);
}

/* ---- one pod ------------------------------------------------------------------------------------------- */

/*  False: the file is full, or cannot be written. */
static bool append(const helio_kube_attempt_t *attempt, helio_text_t piece)
{
    char path[PATH_BYTES];
    struct stat status;
    path_of(attempt->backend, attempt->name, path);
    int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0)
        return false;
    uint64_t most = attempt->backend->rules->log_max_bytes;
    uint64_t size = fstat(file, &status) ? most : (uint64_t)status.st_size;
    uint64_t fits = size < most ? most - size : 0;
    size_t wanted = piece.size < fits ? piece.size : (size_t)fits;
    bool good = write(file, piece.data, wanted) == (ssize_t)wanted && wanted == piece.size;
    (void)close(file);
    return good;
}

static bool on_piece(void *arg, helio_text_t piece)
{
    helio_kube_output_t *output = arg;
    uint32_t again = output->skip < piece.size ? (uint32_t)output->skip : piece.size;
    output->skip -= again;
    piece = (helio_text_t){piece.data + again, piece.size - again};
    if (!piece.size)
        return true;
    output->taken += piece.size;
    output->done = !append(output->attempt, piece);
    return !output->done;
}

static void on_stream_end(void *arg, const helio_kube_reply_t *reply)
{
    helio_kube_output_t *output = arg;
    helio_kube_t *self = output->attempt->backend;
    bool whole = reply->answer == HELIO_KUBE_DONE && reply->status == 200;
    output->out = false;
    self->followed -= output->follows;
    self->reads -= !output->follows;
    output->due_ms = self->now_ms + (whole ? HELIO_KUBE_READ_MS : HELIO_KUBE_AGAIN_MS);
    output->done = output->done || (whole && output->complete) || reply->answer == HELIO_KUBE_ABSENT;
    self->next_ms = 0;
}

static void read_log(helio_kube_output_t *output)
{
    helio_kube_t *self = output->attempt->backend;
    helio_error_t err = {0};
    char path[HELIO_KUBE_PATH_SIZE];
    output->skip = output->taken;
    output->due_ms = self->now_ms + HELIO_KUBE_AGAIN_MS;
    output->follows = self->followed < HELIO_KUBE_FOLLOWED_MAX;
    output->complete = output->follows || output->ended;
    (void)snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods/%s/log?container=main%s", self->space, output->pod,
                   output->follows ? "&follow=true" : "");
    output->out = !helio_kube_api_stream(self->api, path, output->follows ? 0 : HELIO_KUBE_REQUEST_MS, on_piece,
                                         on_stream_end, output, &err);
    self->followed += output->out && output->follows;
    self->reads += output->out && !output->follows;
}

static void leave_line(helio_kube_output_t *output)
{
    if (output->in_line)
        DL_DELETE2(output->attempt->backend->unread, output, line_prev, line_next);
    output->in_line = false;
}

void helio_kube_read_logs(helio_kube_t *self)
{
    while (self->unread && (self->followed < HELIO_KUBE_FOLLOWED_MAX || self->reads < HELIO_KUBE_READS_MAX)) {
        helio_kube_output_t *output = self->unread;
        leave_line(output);
        if (!output->done)
            read_log(output);
    }
}

/* ---- an attempt ---------------------------------------------------------------------------------------- */

static const json_t *state_of(const json_t *pod)
{
    return json_object_get(json_array_get(HELIO_KUBE_AT(pod, "status", "containerStatuses"), 0), "state");
}

static helio_kube_output_t *output_of(helio_kube_attempt_t *attempt, const char *uid, const json_t *pod)
{
    for (helio_kube_output_t *output = attempt->outputs; output; output = output->next)
        if (strcmp(output->uid, uid) == 0)
            return output;
    if (!json_object_get(state_of(pod), "running") && !json_object_get(state_of(pod), "terminated"))
        return NULL;
    char path[PATH_BYTES];
    path_of(attempt->backend, attempt->name, path);
    if (!attempt->outputs)
        (void)unlink(path); /* a former agent's: all of it comes again */
    helio_kube_output_t *output = helio_new(1, sizeof *output);
    output->attempt = attempt;
    output->next = attempt->outputs;
    attempt->outputs = output;
    (void)snprintf(output->uid, sizeof output->uid, "%s", uid);
    (void)helio_text_copy(helio_kube_text(HELIO_KUBE_AT(pod, "metadata", "name")), output->pod, sizeof output->pod);
    return output;
}

static void join_line(helio_kube_output_t *output, const json_t *pod)
{
    helio_kube_t *self = output->attempt->backend;
    bool ends = !output->ended && json_object_get(state_of(pod), "terminated");
    output->ended = output->ended || ends;
    if (output->in_line || output->out || output->done || (self->now_ms < output->due_ms && !ends))
        return;
    DL_APPEND2(self->unread, output, line_prev, line_next);
    output->in_line = true;
}

void helio_kube_follow(helio_kube_attempt_t *attempt)
{
    const char *uid;
    json_t *pod;
    json_object_foreach(attempt->pods, uid, pod)
    {
        helio_kube_output_t *output = output_of(attempt, uid, pod);
        if (output)
            join_line(output, pod);
    }
    for (helio_kube_output_t *output = attempt->outputs; output; output = output->next)
        if (!output->out && !json_object_get(attempt->pods, output->uid))
            output->done = true; /* its log went with it */
}

bool helio_kube_output_over(const helio_kube_attempt_t *attempt)
{
    for (const helio_kube_output_t *output = attempt->outputs; output; output = output->next)
        if (!output->done || output->out)
            return false;
    return attempt->over;
}

void helio_kube_output_drop(helio_kube_attempt_t *attempt)
{
    while (attempt->outputs) {
        helio_kube_output_t *output = attempt->outputs;
        attempt->outputs = output->next;
        leave_line(output);
        free(output);
    }
}

/* ---- the files ----------------------------------------------------------------------------------------- */

helio_rc helio_kube_output_read(const helio_kube_t *self, const char *name, bool over, uint64_t offset, size_t max,
                                helio_buffer_t *out, uint64_t *ret_next, bool *ret_end, helio_error_t *err)
{
    char path[PATH_BYTES], bytes[16384];
    path_of(self, name, path);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return helio_fail(err, errno == ENOENT ? HELIO_NOT_FOUND : HELIO_IO, "%s: %s", path, strerror(errno));
    size_t left = max;
    ssize_t size = 1;
    struct stat status;
    *ret_next = helio_log_offset(offset, fstat(file, &status) == 0 ? (uint64_t)status.st_size : 0);
    while (left && size > 0) {
        size = pread(file, bytes, left < sizeof bytes ? left : sizeof bytes, (off_t)*ret_next);
        if (size <= 0)
            break;
        helio_buffer_append(out, bytes, (size_t)size);
        *ret_next += (uint64_t)size;
        left -= (size_t)size;
    }
    (void)close(file);
    *ret_end = over && left > 0 && size == 0;
    return size < 0 ? helio_fail(err, HELIO_IO, "%s cannot be read", path) : HELIO_OK;
}

/*  Removes the output of attempts that this agent does not hold any more, after the retention time. */
void helio_kube_output_sweep(helio_kube_t *self)
{
    struct stat status;
    if (self->now_ms < self->sweep_ms)
        return;
    self->sweep_ms = self->now_ms + SWEEP_MS;
    DIR *folder = opendir(self->folder);
    if (!folder)
        return;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        helio_text_t name = helio_text_of(entry->d_name);
        if (name.size < 5 || strcmp(entry->d_name + name.size - 4, ".log") != 0)
            continue;
        name.size -= 4;
        bool held = helio_kube_named_attempt(self, name) != NULL;
        if (!held && fstatat(dirfd(folder), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            (int64_t)status.st_mtime * 1000 + (int64_t)self->rules->retention_ms < self->wall_ms)
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    (void)closedir(folder);
}
