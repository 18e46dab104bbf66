// Preloaded into a measured process (LD_PRELOAD): each fsync and fdatasync takes SLOW_MS milliseconds
// longer, every fiftieth STALL_MS, as on a slow or busy disk. machine.ts builds it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <time.h>

static atomic_int syncs;

static int later(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  long ms = (atomic_fetch_add(&syncs, 1) + 1) % 50 == 0 ? STALL_MS : SLOW_MS;
  struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
  return real(fd);
}

int fsync(int fd) { return later("fsync", fd); }

int fdatasync(int fd) { return later("fdatasync", fd); }
