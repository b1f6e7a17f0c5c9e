// main() of every test executable. It makes the same settings that Espalier's processes make at startup.
#include <gmock/gmock.h>

#include <csignal>

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // as telemetry/process.h does: writing to a closed connection is an error (OpenSSL)
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
