/* Loaded before the C library (LD_PRELOAD): what a program asks of the system fails, comes in pieces, or is the moment of a signal.
 *
 * FAULT_UNDER=DIR    calls that change something below DIR are counted from 1, all others left alone
 * FAULT_AT=N         the Nth of them, or the Nth start of a thread, fails
 * FAULT_ERROR=E      with this errno
 * FAULT_SIGNAL=S     instead: this signal comes, and then it is done
 * FAULT_MARK=FILE    is made when that happened
 * FAULT_NO_UNNAMED=1 files without a name are not to be had
 * FAULT_THREADS=1    threads are counted, and all from the Nth on fail
 * FAULT_READS=1      reads give one byte at a time, and every other one is interrupted
 *
 * What goes through stdio is not seen: it calls the system from inside the C library. */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int number(const char *name)
{
    const char *const value = getenv(name);
    return value != NULL ? (int)strtol(value, NULL, 10) : 0;
}

static void mark(void)
{
    const char *const path = getenv("FAULT_MARK");
    if (path != NULL) {
        const long file = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600);
        (void)syscall(SYS_close, file);
    }
}

/* The path of an open folder or file. */
static bool path_of(int descriptor, char path[PATH_MAX])
{
    char name[40];
    (void)snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    const ssize_t length =
        descriptor == AT_FDCWD ? readlink("/proc/self/cwd", path, PATH_MAX - 1) : readlink(name, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    return length > 0;
}

static bool concerns(int folder, const char *name)
{
    char path[2 * PATH_MAX];
    const char *const under = getenv("FAULT_UNDER");
    if (under == NULL) {
        return false;
    }
    if (name != NULL && name[0] == '/') {
        return strncmp(name, under, strlen(under)) == 0;
    }
    if (!path_of(folder, path)) {
        return false;
    }
    if (name != NULL) {
        const size_t length = strlen(path);
        (void)snprintf(path + length, sizeof path - length, "/%s", name[0] == '.' && name[1] == '/' ? name + 2 : name);
    }
    return strncmp(path, under, strlen(under)) == 0;
}

static bool counts(void)
{
    static atomic_int count;
    const int at = number("FAULT_AT");
    return at > 0 && atomic_fetch_add(&count, 1) + 1 == at;
}

/* Whether the call fails, errno telling. */
static bool fails(int folder, const char *name)
{
    const int error = errno;
    const bool now = number("FAULT_THREADS") == 0 && concerns(folder, name) && counts();
    errno = error;
    if (!now) {
        return false;
    }
    mark();
    errno = number("FAULT_ERROR");
    if (errno != 0) {
        return true;
    }
    (void)kill(getpid(), number("FAULT_SIGNAL"));
    errno = error;
    return false;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define CHANGE(result, name, parameters, folder, path, arguments) \
    result name parameters;                                       \
    result name parameters                                        \
    {                                                             \
        return fails(folder, path) ? -1 : REAL(name) arguments;   \
    }

CHANGE(ssize_t, write, (int file, const void *data, size_t size), file, NULL, (file, data, size))
CHANGE(ssize_t, copy_file_range, (int from, off64_t *at, int to, off64_t *place, size_t size, unsigned flags), to, NULL,
       (from, at, to, place, size, flags))
CHANGE(int, fsync, (int file), file, NULL, (file))
CHANGE(int, ftruncate, (int file, off_t size), file, NULL, (file, size))
CHANGE(int, ftruncate64, (int file, off64_t size), file, NULL, (file, size))
CHANGE(int, fchmod, (int file, mode_t mode), file, NULL, (file, mode))
CHANGE(int, chmod, (const char *path, mode_t mode), AT_FDCWD, path, (path, mode))
CHANGE(int, mkdir, (const char *path, mode_t mode), AT_FDCWD, path, (path, mode))
CHANGE(int, mkdirat, (int folder, const char *path, mode_t mode), folder, path, (folder, path, mode))
CHANGE(int, rename, (const char *from, const char *to), AT_FDCWD, to, (from, to))
CHANGE(int, renameat, (int a, const char *from, int b, const char *to), b, to, (a, from, b, to))
CHANGE(int, renameat2, (int a, const char *from, int b, const char *to, unsigned flags), b, to, (a, from, b, to, flags))
CHANGE(int, link, (const char *from, const char *to), AT_FDCWD, to, (from, to))
CHANGE(int, linkat, (int a, const char *from, int b, const char *to, int flags), b, to, (a, from, b, to, flags))
CHANGE(int, symlinkat, (const char *target, int folder, const char *path), folder, path, (target, folder, path))
CHANGE(int, mkstemp, (char *path), AT_FDCWD, path, (path))

/* ---- Opening ---------------------------------------------------------------------------------- */

static int open_any(int folder, const char *path, int flags, mode_t mode)
{
    if (number("FAULT_NO_UNNAMED") != 0 && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    const bool changes = (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0;
    return changes && fails(folder, path) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define OPEN(name, parameters, folder)                                                       \
    int name parameters;                                                                     \
    int name parameters                                                                      \
    {                                                                                        \
        va_list rest;                                                                        \
        va_start(rest, flags);                                                               \
        const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                                        \
        return open_any(folder, path, flags, mode);                                          \
    }

OPEN(open, (const char *path, int flags, ...), AT_FDCWD)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD)
OPEN(openat, (int folder, const char *path, int flags, ...), folder)
OPEN(openat64, (int folder, const char *path, int flags, ...), folder)

/* ---- Reading ---------------------------------------------------------------------------------- */

static bool interrupts(size_t *size)
{
    static atomic_int count;
    if (number("FAULT_READS") == 0 || *size == 0) {
        return false;
    }
    *size = 1;
    if (atomic_fetch_add(&count, 1) % 2 == 0) {
        mark();
        errno = EINTR;
        return true;
    }
    return false;
}

#define READ(name, parameters, arguments)                     \
    ssize_t name parameters;                                  \
    ssize_t name parameters                                   \
    {                                                         \
        return interrupts(&size) ? -1 : REAL(name) arguments; \
    }

READ(read, (int file, void *data, size_t size), (file, data, size))
READ(pread, (int file, void *data, size_t size, off_t at), (file, data, size, at))
READ(pread64, (int file, void *data, size_t size, off64_t at), (file, data, size, at))

/* ---- Threads ---------------------------------------------------------------------------------- */

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    static atomic_int count;
    if (number("FAULT_THREADS") != 0 && atomic_fetch_add(&count, 1) + 1 >= number("FAULT_AT")) {
        mark();
        return EAGAIN;
    }
    return REAL(pthread_create)(thread, attributes, start, argument);
}
