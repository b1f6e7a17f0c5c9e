// main() of every test executable: what our processes set up before anything else holds in tests too.
#include <gmock/gmock.h>

#include <csignal>

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // as in telemetry/process.h: a peer that is gone is an error of a write (OpenSSL)
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
