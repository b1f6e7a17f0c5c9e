#include "services/storage/testing/versitygw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "services/base/clock.h"
#include "services/storage/http/curl_transport.h"
#include "services/storage/testing/test_certificate.h"

namespace espalier::storage {
namespace {

constexpr int kMaxStarts = 5;
constexpr std::chrono::seconds kStartTime{30};

// One that nobody listens on right now. (Another may take it before we do: Start tries again.)
Result<int> FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return FromErrno(errno, "making a socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  const bool good = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0 &&
                    getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const int error = errno;
  close(listener);
  if (!good) return FromErrno(error, "finding a free port");
  return static_cast<int>(ntohs(address.sin_port));
}

}  // namespace

std::string Versitygw::Program() {
  if (const char* const program = std::getenv("ESPALIER_VERSITYGW"); program != nullptr) return program;
  return ESPALIER_VERSITYGW_PROGRAM;
}

Result<std::unique_ptr<Versitygw>> Versitygw::Start(const std::string& program, Tls tls) {
  Status last;
  for (int i = 0; i < kMaxStarts; ++i) {
    std::unique_ptr<Versitygw> server(new Versitygw);
    last = server->StartOnce(program, tls);
    if (last.ok()) return server;
  }
  return last;
}

Status Versitygw::StartOnce(const std::string& program, Tls tls) {
  ASSIGN_OR_RETURN(const int port, FreePort());
  std::error_code error;
  std::filesystem::create_directories(folder_.path() + "/data/" + bucket_, error);
  if (error) return FromErrno(error.value(), "making the bucket");
  const std::string address = "127.0.0.1:" + std::to_string(port);
  // --keep-alive: it would close every connection after a request.
  std::vector<std::string> arguments = {program, "--port", address, "--region", "us-east-1", "--keep-alive"};
  settings_.endpoint = (tls == Tls::kOn ? "https://" : "http://") + address;
  settings_.credentials.access_key_id = "espalier-tests";
  settings_.credentials.secret_access_key = telemetry::Secret("a secret of no worth");
  if (tls == Tls::kOn) {
    ASSIGN_OR_RETURN(const TestCertificate certificate, MakeTestCertificate(folder_.path()));
    arguments.insert(arguments.end(), {"--cert", certificate.certificate_file, "--key", certificate.key_file});
    settings_.ca_file = certificate.certificate_file;
  }
  arguments.insert(arguments.end(), {"posix", folder_.path() + "/data"});
  const std::map<std::string, std::string> environment = {
      {"ROOT_ACCESS_KEY", settings_.credentials.access_key_id},
      {"ROOT_SECRET_KEY", settings_.credentials.secret_access_key.Reveal()},
      {"HOME", folder_.path()}};
  ASSIGN_OR_RETURN(ChildProcess process, ChildProcess::Start(arguments, environment, folder_.path() + "/log"));
  process_ = std::make_unique<ChildProcess>(std::move(process));
  return AwaitReady();
}

Status Versitygw::AwaitReady() const {
  CurlTransport transport({.ca_file = settings_.ca_file});
  const Deadline deadline = Deadline::After(kStartTime);
  while (!deadline.HasPassed()) {
    // Any answer will do; it refuses those without a signature.
    const HttpRequest request{.method = "GET", .url = settings_.endpoint + "/", .proxy = ProxyUse::kNone};
    if (transport.Send(request, {.deadline = deadline}).ok()) return Status();
    if (!process_->IsRunning()) return Unavailable("versitygw has ended: " + Log());
    Clock::Real().SleepFor(std::chrono::milliseconds(20));  // between looks at another process
  }
  return DeadlineExceeded("versitygw is not ready: " + Log());
}

std::string Versitygw::Log() const {
  std::ostringstream text;
  text << std::ifstream(folder_.path() + "/log").rdbuf();
  return text.str();
}

}  // namespace espalier::storage
