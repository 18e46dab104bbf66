// Preloaded into a measured process (LD_PRELOAD): each fsync and fdatasync takes SLOW_DISK_MS
// milliseconds longer, as on a slow or busy disk. slow-disk.mjs builds it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <time.h>

static struct timespec more;

__attribute__((constructor)) static void begin(void) {
  const char *ms = getenv("SLOW_DISK_MS");
  long wanted = ms ? atol(ms) : 0;
  more.tv_sec = wanted / 1000;
  more.tv_nsec = (wanted % 1000) * 1000000;
}

static int later(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  struct timespec left = more;
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
  return real(fd);
}

int fsync(int fd) { return later("fsync", fd); }

int fdatasync(int fd) { return later("fdatasync", fd); }
