// The program of the containers that hold a pod's namespaces: it does nothing, and reaps what is left to it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void End(int number) {
  (void)number;
  _exit(0);
}

static void Reap(int number) {
  (void)number;
  while (waitpid(-1, 0, WNOHANG) > 0) {
  }
}

int main(void) {
  signal(SIGINT, End);
  signal(SIGTERM, End);
  signal(SIGCHLD, Reap);
  for (;;) pause();
}
