// Preloaded into a process (LD_PRELOAD): each fsync and fdatasync takes 10 ms longer, as on a slow disk.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

static void wait(void) {
  struct timespec left = {0, 10 * 1000 * 1000};
  while (nanosleep(&left, &left) != 0) {
  }
}

int fsync(int fd) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  wait();
  return real(fd);
}

int fdatasync(int fd) {
  static int (*real)(int);
  if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
  wait();
  return real(fd);
}
