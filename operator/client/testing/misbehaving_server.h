// An HTTP server that does to its client whatever a test says, byte by byte, over TCP or TLS.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "operator/client/testing/test_certificates.h"

namespace espalier::ctl::client {

struct ReceivedRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // names in lower case; of several of a name a line each
  std::string body;
  std::string client_name;  // common name of the certificate that the client showed
  std::string server_name;  // SNI
  int connection = 0;       // 1 is the first that was accepted
};

// One accepted connection, on a thread of its own. Calls return at once when the server stops.
class ServerConnection {
 public:
  ServerConnection(class MisbehavingServer* server, int descriptor, int number)
      : server_(server), descriptor_(descriptor), number_(number) {}

  int number() const { return number_; }
  // The next request with its body; nullopt: the client has gone.
  std::optional<ReceivedRequest> Read();
  // The line and headers of a request, its body unread.
  std::optional<ReceivedRequest> ReadHead();
  // False where the client has gone.
  bool Write(std::string_view bytes);
  bool Answer(int code, std::string_view body, std::string_view headers = "");
  bool StartChunks(int code = 200);
  bool Chunk(std::string_view bytes);
  bool EndChunks() { return Write("0\r\n\r\n"); }
  // Answers everything with 200 and "ok" until the client goes.
  void AnswerAll();
  void AwaitClose();
  bool StartTls();
  void Reset();  // with a TCP reset instead of a close

 private:
  friend class MisbehavingServer;
  bool Fill();

  MisbehavingServer* const server_;
  const int descriptor_;
  const int number_;
  SSL* ssl_ = nullptr;
  std::string buffer_;
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::optional<CertificateAndKey> certificate;  // none: no TLS
  bool starts_with_tls = true;                   // false: the behaviour calls StartTls, as behind a CONNECT
  std::string client_ca_pem;                     // whose clients are asked for certificates, which they must have
  int max_tls_version = TLS1_3_VERSION;
};

class MisbehavingServer {
 public:
  using Behaviour = std::function<void(ServerConnection&)>;
  explicit MisbehavingServer(Behaviour behaviour, ServerOptions options = {});
  ~MisbehavingServer();

  uint16_t port() const { return port_; }
  // Closes every connection and listens no more.
  void Stop();
  // On the same port; only after Stop.
  void Start();
  void StopAndStart() {
    Stop();
    Start();
  }

  std::vector<ReceivedRequest> requests() const;  // so far, as Read saw them
  int num_connections() const;                    // so far
  // Waits (ten seconds at most) until so many requests were read.
  bool AwaitRequests(size_t count) const;
  // Waits (ten seconds at most) until no connection is open.
  bool AwaitNoConnections() const;

 private:
  void Accept();
  void Serve(int descriptor, int number);
  void Record(const ReceivedRequest& request);

  friend class ServerConnection;
  const Behaviour behaviour_;
  const ServerOptions options_;
  const std::shared_ptr<SSL_CTX> tls_;  // null: none
  uint16_t port_ = 0;
  int listener_ = -1;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<ReceivedRequest> requests_;
  std::map<int, int> open_;  // number to descriptor
  int num_connections_ = 0;
  bool is_stopping_ = false;
  std::vector<std::thread> threads_;
  std::thread accepting_;
};

}  // namespace espalier::ctl::client
