#include "services/storage/testing/s3_server.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "services/base/clock.h"
#include "services/http/curl_transport.h"
#include "services/storage/s3/credential_sources.h"
#include "services/storage/s3/s3_client.h"
#include "services/storage/testing/free_port.h"
#include "services/storage/testing/test_certificate.h"

namespace espalier::storage {
namespace {

constexpr int kMaxStarts = 5;
constexpr std::chrono::seconds kStartTime{30};

std::string FindProgram(const char* variable, const char* otherwise) {
  const char* const program = std::getenv(variable);
  return program != nullptr ? program : otherwise;
}

}  // namespace

std::string S3Server::FindVersitygw() { return FindProgram("ESPALIER_VERSITYGW", ESPALIER_VERSITYGW_PROGRAM); }
std::string S3Server::FindJava() { return FindProgram("ESPALIER_JAVA", ESPALIER_JAVA_PROGRAM); }
std::string S3Server::FindS3Proxy() { return FindProgram("ESPALIER_S3PROXY", ESPALIER_S3PROXY_JAR); }

Result<std::unique_ptr<S3Server>> S3Server::StartVersitygw(const std::string& program, Tls tls) {
  return Start([&](S3Server& server, int port) -> Result<Command> {
    const std::string folder = server.folder_.path(), address = "127.0.0.1:" + std::to_string(port);
    // Without --keep-alive, it closes the connection after every request.
    Command command{.arguments = {program, "--port", address, "--region", "us-east-1", "--keep-alive"}};
    if (tls == Tls::kOn) {
      ASSIGN_OR_RETURN(const TestCertificate certificate, MakeTestCertificate(folder));
      command.arguments.insert(command.arguments.end(),
                               {"--cert", certificate.certificate_file, "--key", certificate.key_file});
      server.settings_.endpoint = "https://" + address;
      server.settings_.ca_file = certificate.certificate_file;
    }
    command.arguments.insert(command.arguments.end(), {"posix", folder + "/data"});
    const S3CredentialSettings& credentials = server.settings_.credentials;
    command.environment = {{"ROOT_ACCESS_KEY", credentials.access_key_id},
                           {"ROOT_SECRET_KEY", credentials.secret_access_key.Reveal()},
                           {"HOME", folder}};
    return command;
  });
}

Result<std::unique_ptr<S3Server>> S3Server::StartS3Proxy(const std::string& java, const std::string& jar) {
  return Start([&](S3Server& server, int) -> Result<Command> {
    const std::string folder = server.folder_.path();
    std::ofstream(folder + "/s3proxy.conf")
        << "s3proxy.endpoint=" << server.settings_.endpoint << "\ns3proxy.authorization=aws-v4\n"
        << "s3proxy.identity=" << server.settings_.credentials.access_key_id << "\n"
        << "s3proxy.credential=" << server.settings_.credentials.secret_access_key.Reveal() << "\n"
        << "jclouds.provider=transient-nio2\n";
    return Command{.arguments = {java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-jar", jar, "--properties",
                                 folder + "/s3proxy.conf"},
                   .environment = {{"HOME", folder}, {"LC_ALL", "C.UTF-8"}},
                   .creates_bucket = true};
  });
}

Result<std::unique_ptr<S3Server>> S3Server::StartMock(const std::string& quirks) {
  return Start([&](S3Server& server, int port) -> Result<Command> {
    return Command{.arguments = {ESPALIER_PYTHON_PROGRAM, ESPALIER_MOCK_S3, std::to_string(port),
                                 "bucket=" + server.bucket_ + "," + quirks},
                   .environment = {{"PYTHONDONTWRITEBYTECODE", "1"}}};
  });
}

Result<std::unique_ptr<S3Server>> S3Server::Start(const Prepare& prepare) {
  Status last;
  for (int i = 0; i < kMaxStarts; ++i) {
    std::unique_ptr<S3Server> server(new S3Server);
    last = server->StartOnce(prepare);
    if (last.ok()) return server;
  }
  return last;
}

Status S3Server::StartOnce(const Prepare& prepare) {
  ASSIGN_OR_RETURN(const uint16_t port, FreePort());
  std::error_code error;
  std::filesystem::create_directories(folder_.path() + "/data/" + bucket_, error);
  if (error) return FromErrno(error.value(), "making the bucket");
  settings_.endpoint = "http://127.0.0.1:" + std::to_string(port);
  settings_.credentials.access_key_id = "espalier-tests";
  settings_.credentials.secret_access_key = telemetry::Secret("a secret of no worth");
  ASSIGN_OR_RETURN(const Command command, prepare(*this, port));
  ASSIGN_OR_RETURN(process::ChildProcess started,
                   process::ChildProcess::Start({.name = "the service",
                                                 .program = command.arguments[0],
                                                 .arguments = {command.arguments.begin() + 1, command.arguments.end()},
                                                 .environment = command.environment,
                                                 .inherits_environment = false,
                                                 .log_path = folder_.path() + "/log"}));
  process_ = std::make_unique<process::ChildProcess>(std::move(started));
  RETURN_IF_ERROR(AwaitReady());
  return command.creates_bucket ? CreateBucket() : Status();
}

Status S3Server::CreateBucket() const {
  S3Client client(std::make_shared<http::CurlTransport>(), MakeFixedSource(settings_.credentials));
  ASSIGN_OR_RETURN(const S3Bucket bucket, MakeS3Bucket(bucket_, settings_));
  return client.Send(bucket, {.request = {.operation = "CreateBucket", .method = "PUT"}, .doing = "making the bucket"})
      .status();
}

Status S3Server::AwaitReady() const {
  http::CurlTransport transport({.ca_file = settings_.ca_file});
  const Deadline deadline = Deadline::After(kStartTime);
  while (!deadline.HasPassed()) {
    // Any response is sufficient, because requests without a signature may be rejected.
    const http::Request request{.method = "GET", .url = settings_.endpoint + "/", .proxy = http::ProxyUse::kNone};
    if (transport.Send(request, {.deadline = deadline}).ok()) return Status();
    if (process_->Poll()) return Unavailable("the service has ended: " + Log());
    Clock::Real().SleepFor(std::chrono::milliseconds(20));  // polling interval for another process
  }
  return DeadlineExceeded("the service is not ready: " + Log());
}

std::string S3Server::Log() const {
  std::ostringstream text;
  text << std::ifstream(folder_.path() + "/log").rdbuf();
  return text.str();
}

}  // namespace espalier::storage
