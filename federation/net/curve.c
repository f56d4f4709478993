/*  curve.c -- makes, writes and reads CURVE keys. */
#include "federation/net/curve.h"

#include <ctype.h>
#include <czmq.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "federation/base/file.h"
#include "federation/net/internal.h"

bool helio_curve_key_is_valid(helio_text_t key)
{
    char text[HELIO_CURVE_SIZE];
    uint8_t bytes[32];
    if (key.size != HELIO_CURVE_CHARS || memchr(key.data, '\0', key.size))
        return false;
    memcpy(text, key.data, HELIO_CURVE_CHARS);
    text[HELIO_CURVE_CHARS] = '\0';
    bool valid = zmq_z85_decode(bytes, text) != NULL;
    helio_wipe(text, sizeof text); /* the key may be secret */
    helio_wipe(bytes, sizeof bytes);
    return valid;
}

/*  People pass public keys to commands and write them into YAML. A key that begins with '-' would be read as an option,
 *  and one that begins with '*' or '#' would not be text in YAML. */
static bool is_handy(const char *public_key)
{
    return isalnum((unsigned char)public_key[0]) != 0;
}

helio_rc helio_keypair_new(helio_keypair_t *ret_pair, helio_error_t *err)
{
    helio_keypair_t pair;
    do {
        zcert_t *cert = zcert_new();
        if (!cert)
            return helio_fail(err, HELIO_IO, "cannot create a CURVE key pair: libzmq was built without CURVE");
        memcpy(pair.public_key, zcert_public_txt(cert), HELIO_CURVE_SIZE);
        memcpy(pair.secret_key, zcert_secret_txt(cert), HELIO_CURVE_SIZE);
        zcert_destroy(&cert);
    } while (!is_handy(pair.public_key));
    *ret_pair = pair;
    helio_keypair_wipe(&pair);
    return HELIO_OK;
}

helio_rc helio_keypair_of(const char *secret_key, helio_keypair_t *ret_pair, helio_error_t *err)
{
    helio_keypair_t pair;
    if (!secret_key || !helio_curve_key_is_valid(helio_text_of(secret_key)))
        return helio_fail(err, HELIO_INVALID, "not a secret key: expected 40 characters of Z85");
    memcpy(pair.secret_key, secret_key, HELIO_CURVE_SIZE);
    if (zmq_curve_public(pair.public_key, pair.secret_key) != 0) {
        helio_keypair_wipe(&pair);
        return helio_fail(err, HELIO_INVALID, "cannot derive a public key: %s", zmq_strerror(errno));
    }
    *ret_pair = pair;
    helio_keypair_wipe(&pair);
    return HELIO_OK;
}

void helio_keypair_wipe(helio_keypair_t *pair)
{
    helio_wipe(pair, sizeof *pair);
}

/*  A new file name is durable only once its directory is synced. */
static bool sync_directory_of(const char *path)
{
    char *copy = helio_strdup(path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    helio_close(&fd);
    free(copy);
    return synced;
}

helio_rc helio_keypair_save(const helio_keypair_t *pair, const char *path, helio_error_t *err)
{
    char line[HELIO_CURVE_CHARS + 1];
    HELIO_AUTO(helio_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return helio_fail(err, HELIO_CONFLICT,
                          "%s: already exists; keys are never overwritten: move the file away first", path);
    if (fd < 0)
        return helio_fail(err, HELIO_IO, "%s: cannot create the key file: %s", path, strerror(errno));
    memcpy(line, pair->secret_key, HELIO_CURVE_CHARS);
    line[HELIO_CURVE_CHARS] = '\n';
    bool written = fchmod(fd, 0600) == 0 && write(fd, line, sizeof line) == (ssize_t)sizeof line && fsync(fd) == 0 &&
                   sync_directory_of(path);
    int why = errno;
    helio_wipe(line, sizeof line);
    if (written)
        return HELIO_OK;
    (void)unlink(path);
    return helio_fail(err, HELIO_IO, "%s: cannot write the key file: %s", path, strerror(why));
}

static helio_rc check_access(int fd, const char *path, helio_error_t *err)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        return helio_fail(err, HELIO_INVALID, "%s: not a regular file", path);
    if (info.st_uid != geteuid() && info.st_uid != 0)
        return helio_fail(err, HELIO_FORBIDDEN,
                          "%s: the key file belongs to user %u, not to the user of this program: change its owner",
                          path, (unsigned)info.st_uid);
    if (info.st_mode & 077)
        return helio_fail(err, HELIO_FORBIDDEN, "%s: other users can access the key file (mode %04o): run chmod 600",
                          path, (unsigned)(info.st_mode & 07777));
    return HELIO_OK;
}

helio_rc helio_keypair_load(const char *path, helio_keypair_t *ret_pair, helio_error_t *err)
{
    HELIO_AUTO(helio_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT)
        return helio_fail(err, HELIO_NOT_FOUND, "%s: key file not found", path);
    if (fd < 0)
        return helio_fail(err, errno == EACCES ? HELIO_FORBIDDEN : HELIO_IO, "%s: cannot read the key file: %s", path,
                          strerror(errno));
    helio_rc rc = check_access(fd, path, err);
    if (rc)
        return rc;
    char text[HELIO_CURVE_CHARS + 8];
    ssize_t size = read(fd, text, sizeof text - 1);
    if (size < 0)
        return helio_fail(err, HELIO_IO, "%s: cannot read the key file: %s", path, strerror(errno));
    while (size && strchr(" \t\r\n", text[size - 1]))
        size--;
    text[size] = '\0';
    if (helio_keypair_of(text, ret_pair, NULL))
        rc = helio_fail(err, HELIO_INVALID, "%s: does not contain one secret key of 40 characters", path);
    helio_wipe(text, sizeof text);
    return rc;
}
