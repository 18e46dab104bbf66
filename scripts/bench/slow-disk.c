// Preloaded into a measured process (LD_PRELOAD): each fsync and fdatasync takes SLOW_DISK_MS
// milliseconds longer, as on a slow or busy disk. If SLOW_DISK_STALL_MS is set, every fiftieth takes
// that much longer instead. slow-disk.mjs builds it.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define STALL_EVERY 50

static struct timespec more, stall;
static atomic_int syncs;

static struct timespec wanted(const char *name) {
  const char *text = getenv(name);
  long ms = text ? atol(text) : 0;
  return (struct timespec){.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000};
}

__attribute__((constructor)) static void begin(void) {
  more = wanted("SLOW_DISK_MS");
  stall = getenv("SLOW_DISK_STALL_MS") ? wanted("SLOW_DISK_STALL_MS") : more;
}

static int later(const char *name, int fd) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  struct timespec left = (atomic_fetch_add(&syncs, 1) + 1) % STALL_EVERY == 0 ? stall : more;
  while (nanosleep(&left, &left) != 0 && errno == EINTR) continue;
  return real(fd);
}

int fsync(int fd) { return later("fsync", fd); }

int fdatasync(int fd) { return later("fdatasync", fd); }
