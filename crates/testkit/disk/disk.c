/* A disk that forgets and fails: for campaigns only, laid under the server by LD_PRELOAD.
 *
 * It stands between the server and what the server writes below DISK_DIR, and does what the environment asks for:
 *
 *   DISK_JOURNAL=file    writes down each change and each sync, so that a campaign can make the disk that a power loss
 *                        would have left; syncs are not handed on, since the journal says what they cover
 *   DISK_FAIL_AT=k       fails at the k-th change or sync, counted from 1
 *   DISK_FAIL_HOW=how    eio, enospc: this one call fails; abort: the process ends before it
 *   DISK_READ_ONLY=file  while that file exists, nothing can be changed (EROFS)
 *   DISK_FULL=file       while that file exists, nothing can be written (ENOSPC)
 *
 * A record of the journal: operation, length of the path, offset, length of the data (four numbers of 64 bits as this
 * machine has them), the path, the data.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum operation { CREATE = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK };

#define MOST_FILES 65536

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *path_of[MOST_FILES];
static const char *dir, *read_only, *full, *fail_how;
static int journal = -1;
static long fail_at, count;

__attribute__((constructor)) static void begin(void) {
    const char *file = getenv("DISK_JOURNAL"), *at = getenv("DISK_FAIL_AT");
    read_only = getenv("DISK_READ_ONLY");
    full = getenv("DISK_FULL");
    fail_how = getenv("DISK_FAIL_HOW");
    fail_at = at ? atol(at) : 0;
    if (file)
        journal = syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dir = getenv("DISK_DIR");
}

static int is_ours(const char *path) {
    return dir && path && strncmp(path, dir, strlen(dir)) == 0;
}

static const char *path_at(int fd) {
    return fd >= 0 && fd < MOST_FILES ? path_of[fd] : NULL;
}

static int exists(const char *path) {
    return path && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

/* Whether this call may go on. Else `errno` says why not. */
static int allowed(enum operation operation) {
    count++;
    if (fail_at && count == fail_at) {
        if (fail_how && strcmp(fail_how, "abort") == 0) {
            kill(getpid(), SIGKILL);
            pause();
        }
        errno = fail_how && strcmp(fail_how, "enospc") == 0 && operation != SYNC ? ENOSPC : EIO;
        return 0;
    }
    if (exists(read_only) && operation != SYNC) {
        errno = EROFS;
        return 0;
    }
    if (exists(full) && (operation == WRITE || operation == CREATE)) {
        errno = ENOSPC;
        return 0;
    }
    return 1;
}

static void note(enum operation operation, const char *path, uint64_t offset, const void *data, uint64_t length) {
    if (journal < 0)
        return;
    uint64_t head[4] = {operation, strlen(path), offset, length};
    struct iovec parts[3] = {{head, sizeof head}, {(void *)path, head[1]}, {(void *)data, length}};
    /* One call, so that a kill leaves no half of a record, but at most the lack of one. */
    syscall(SYS_writev, journal, parts, data ? 3 : 2);
}

static int open_it(int at, const char *path, int flags, mode_t mode) {
    if (!is_ours(path))
        return syscall(SYS_openat, at, path, flags, mode);
    pthread_mutex_lock(&lock);
    int is_new = (flags & O_CREAT) && !exists(path), fd = -1;
    int empties = (flags & O_TRUNC) && !is_new;
    if ((!is_new && !empties) || allowed(is_new ? CREATE : TRUNCATE))
        fd = syscall(SYS_openat, at, path, flags, mode);
    if (fd >= 0) {
        if (is_new)
            note(CREATE, path, 0, NULL, 0);
        else if (empties)
            note(TRUNCATE, path, 0, NULL, 0);
        if (fd < MOST_FILES)
            path_of[fd] = strdup(path);
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return fd;
}

#define OPEN(name, before, at)                                                                                         \
    int name(before const char *path, int flags, ...) {                                                                \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        return open_it(at, path, flags, mode);                                                                         \
    }
#define NOTHING
#define AND_A_FOLDER int folder,
OPEN(open, NOTHING, AT_FDCWD)
OPEN(open64, NOTHING, AT_FDCWD)
OPEN(openat, AND_A_FOLDER, folder)
OPEN(openat64, AND_A_FOLDER, folder)

int close(int fd) {
    if (path_at(fd)) {
        pthread_mutex_lock(&lock);
        free(path_of[fd]);
        path_of[fd] = NULL;
        pthread_mutex_unlock(&lock);
    }
    return syscall(SYS_close, fd);
}

/* `offset` is -1 for where the file stands. */
static ssize_t write_it(int fd, const void *data, size_t length, off_t offset) {
    const char *path = path_at(fd);
    if (!path)
        return offset < 0 ? syscall(SYS_write, fd, data, length) : syscall(SYS_pwrite64, fd, data, length, offset);
    pthread_mutex_lock(&lock);
    ssize_t written = -1;
    if (allowed(WRITE)) {
        off_t begin = offset < 0 ? lseek(fd, 0, SEEK_CUR) : offset;
        written = syscall(SYS_pwrite64, fd, data, length, begin);
        if (written >= 0) {
            if (offset < 0)
                lseek(fd, begin + written, SEEK_SET);
            note(WRITE, path, begin, data, written);
        }
    }
    int error = errno;
    pthread_mutex_unlock(&lock);
    errno = error;
    return written;
}

ssize_t write(int fd, const void *data, size_t length) { return write_it(fd, data, length, -1); }
ssize_t pwrite(int fd, const void *data, size_t length, off_t at) { return write_it(fd, data, length, at); }
ssize_t pwrite64(int fd, const void *data, size_t length, off_t at) { return write_it(fd, data, length, at); }

int ftruncate(int fd, off_t length) {
    const char *path = path_at(fd);
    if (!path)
        return syscall(SYS_ftruncate, fd, length);
    pthread_mutex_lock(&lock);
    int done = allowed(TRUNCATE) ? syscall(SYS_ftruncate, fd, length) : -1, error = errno;
    if (done == 0)
        note(TRUNCATE, path, length, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}
int ftruncate64(int fd, off_t length) { return ftruncate(fd, length); }

static int sync_it(int fd, long call) {
    const char *path = path_at(fd);
    if (!path)
        return syscall(call, fd);
    pthread_mutex_lock(&lock);
    int done = -1;
    if (allowed(SYNC))
        done = journal >= 0 ? 0 : syscall(call, fd);
    int error = errno;
    if (done == 0)
        note(SYNC, path, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}
int fsync(int fd) { return sync_it(fd, SYS_fsync); }
int fdatasync(int fd) { return sync_it(fd, SYS_fdatasync); }

int rename(const char *from, const char *to) {
    if (!is_ours(from) && !is_ours(to))
        return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
    pthread_mutex_lock(&lock);
    int done = allowed(RENAME) ? syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0) : -1, error = errno;
    if (done == 0)
        note(RENAME, from, 0, to, strlen(to));
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}

int unlink(const char *path) {
    if (!is_ours(path))
        return syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    pthread_mutex_lock(&lock);
    int done = allowed(UNLINK) ? syscall(SYS_unlinkat, AT_FDCWD, path, 0) : -1, error = errno;
    if (done == 0)
        note(UNLINK, path, 0, NULL, 0);
    pthread_mutex_unlock(&lock);
    errno = error;
    return done;
}
