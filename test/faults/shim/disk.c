// Preloaded into a process under test (LD_PRELOAD). It records the process's standard output and its
// operations on the files of one folder, in order. It can make each fsync or write there fail, while
// a certain file exists. It changes nothing else. shim.ts builds it, and log.ts parses its log.
//
//   FAULTS_ROOT  the folder, an absolute path
//   FAULTS_LOG   the path of the log; without it nothing is recorded
//   FAULTS_EIO   while this file exists, fsync and fdatasync fail with EIO
//   FAULTS_REFUSE  while this file exists, writes fail with the error number in it
//
// A record is a line `what inode number length`, then `length` bytes: data, a path, or two paths with
// a NUL between them (rename, link).

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_FILES 4096

static const char *root, *eio, *refuse;
static int log_fd = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ino_t ours[MAX_FILES];
static int our_count;

__attribute__((constructor)) static void begin(void) {
  root = getenv("FAULTS_ROOT");
  eio = getenv("FAULTS_EIO");
  refuse = getenv("FAULTS_REFUSE");
  const char *path = getenv("FAULTS_LOG");
  if (path) log_fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void put(const void *bytes, size_t length) {
  for (const char *at = bytes; length > 0;) {
    long done = syscall(SYS_write, log_fd, at, length);
    if (done <= 0) abort();
    at += done, length -= done;
  }
}

static void record(const char *what, ino_t inode, long long number, const void *bytes, size_t length) {
  if (log_fd < 0) return;
  char head[128];
  int size = snprintf(head, sizeof head, "%s %llu %lld %zu\n", what, (unsigned long long)inode, number, length);
  put(head, size);
  put(bytes, length);
}

static int in_root(const char *path) {
  size_t length = root ? strlen(root) : 0;
  return length > 0 && strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == 0);
}

static int is_ours(ino_t inode) {
  for (int at = 0; at < our_count; at++)
    if (ours[at] == inode) return 1;
  return 0;
}

/** The inode of a descriptor if its file was opened under the root, else 0. */
static ino_t inode_of(int fd) {
  struct stat found;
  if (!root || fd == log_fd || fstat(fd, &found) != 0) return 0;
  return is_ours(found.st_ino) ? found.st_ino : 0;
}

/** The error number that writes fail with now, else 0. */
static int refusal(void) {
  if (!refuse) return 0;
  int fd = syscall(SYS_openat, AT_FDCWD, refuse, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[16] = {0};
  long length = syscall(SYS_read, fd, text, sizeof text - 1);
  syscall(SYS_close, fd);
  return length > 0 ? atoi(text) : 0;
}

static void record_opened(int fd, const char *path, int flags, int was_there) {
  struct stat found;
  if (fstat(fd, &found) != 0) return;
  if (!is_ours(found.st_ino)) {
    if (our_count == MAX_FILES) abort();
    ours[our_count++] = found.st_ino;
  }
  if (!was_there) record("create", found.st_ino, 0, path, strlen(path));
  if (was_there && (flags & O_TRUNC)) record("truncate", found.st_ino, 0, "", 0);
}

static int record_open_at(int at, const char *path, int flags, mode_t mode) {
  if (!in_root(path)) return syscall(SYS_openat, at, path, flags, mode);
  if (flags & (O_CREAT | O_TRUNC)) {
    errno = refusal();
    if (errno) return -1;
  }
  pthread_mutex_lock(&lock);
  int was_there = access(path, F_OK) == 0;
  int fd = syscall(SYS_openat, at, path, flags, mode);
  int error = errno;
  if (fd >= 0) record_opened(fd, path, flags, was_there);
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

#define MODE \
  mode_t mode = 0; \
  if (flags & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) { MODE return record_open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE return record_open_at(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE return record_open_at(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE return record_open_at(at, path, flags, mode); }

static ssize_t record_write(int fd, const void *bytes, size_t length, off_t at, int placed) {
  ino_t inode = inode_of(fd);
  if (!inode && fd != 1)
    return placed ? syscall(SYS_pwrite64, fd, bytes, length, at) : syscall(SYS_write, fd, bytes, length);
  if (inode) {
    errno = refusal();
    if (errno) return -1;
  }
  pthread_mutex_lock(&lock);
  if (inode && !placed) at = lseek(fd, 0, SEEK_CUR);
  ssize_t done = placed ? syscall(SYS_pwrite64, fd, bytes, length, at) : syscall(SYS_write, fd, bytes, length);
  int error = errno;
  if (done > 0) record(inode ? "write" : "print", inode, at, bytes, done);
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}

ssize_t write(int fd, const void *bytes, size_t length) { return record_write(fd, bytes, length, 0, 0); }
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) { return record_write(fd, bytes, length, at, 1); }
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return record_write(fd, bytes, length, at, 1); }

/** The code under test uses no vectored writes to files; the shim aborts if it begins to. */
static void refuse_vectored(int fd) {
  if (inode_of(fd)) abort();
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  refuse_vectored(fd);
  return syscall(SYS_writev, fd, parts, count);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  refuse_vectored(fd);
  return syscall(SYS_pwritev, fd, parts, count, at, 0);
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) {
  refuse_vectored(fd);
  return syscall(SYS_pwritev, fd, parts, count, at, 0);
}

static int record_truncate(int fd, off_t length) {
  ino_t inode = inode_of(fd);
  if (inode) {
    errno = refusal();
    if (errno) return -1;
  }
  pthread_mutex_lock(&lock);
  int result = syscall(SYS_ftruncate, fd, length);
  int error = errno;
  if (inode && result == 0) record("truncate", inode, length, "", 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int ftruncate(int fd, off_t length) { return record_truncate(fd, length); }
int ftruncate64(int fd, off64_t length) { return record_truncate(fd, length); }

static int record_sync(int fd, int call) {
  ino_t inode = inode_of(fd);
  if (!inode) return syscall(call, fd);
  if (eio && access(eio, F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  pthread_mutex_lock(&lock);
  int result = syscall(call, fd);
  int error = errno;
  if (result == 0) record("sync", inode, 0, "", 0);
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int fsync(int fd) { return record_sync(fd, SYS_fsync); }
int fdatasync(int fd) { return record_sync(fd, SYS_fdatasync); }

static int two_paths(const char *what, int call, const char *from, const char *to) {
  pthread_mutex_lock(&lock);
  int result = call == SYS_rename ? syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to)
                                  : syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  int error = errno;
  if (result == 0 && in_root(to)) {
    char both[8192];
    int size = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
    record(what, 0, 0, both, size);
  }
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
int rename(const char *from, const char *to) { return two_paths("rename", SYS_rename, from, to); }
int link(const char *from, const char *to) { return two_paths("link", SYS_linkat, from, to); }

int unlink(const char *path) {
  pthread_mutex_lock(&lock);
  int result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  int error = errno;
  if (result == 0 && in_root(path)) record("unlink", 0, 0, path, strlen(path));
  pthread_mutex_unlock(&lock);
  errno = error;
  return result;
}
