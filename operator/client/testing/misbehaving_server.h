// An HTTP server over TCP or TLS whose test controls every byte of the responses.
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
  std::map<std::string, std::string> headers;  // names in lower case; repeated headers are joined with line breaks
  std::string body;
  std::string client_name;  // common name of the client's certificate
  std::string server_name;  // SNI
  int connection = 0;       // number of the connection, from 1
};

// One accepted connection, served by a thread of its own. Its calls return immediately when the server stops.
class ServerConnection {
 public:
  ServerConnection(class MisbehavingServer* server, int descriptor, int number)
      : server_(server), descriptor_(descriptor), number_(number) {}

  int number() const { return number_; }
  // Reads the next request with its body. Returns nullopt if the client has closed the connection.
  std::optional<ReceivedRequest> Read();
  // Reads the request line and the headers, but not the body.
  std::optional<ReceivedRequest> ReadHead();
  // Returns false if the client has closed the connection.
  bool Write(std::string_view bytes);
  bool Answer(int code, std::string_view body, std::string_view headers = "");
  bool StartChunks(int code = 200);
  bool Chunk(std::string_view bytes);
  bool EndChunks() { return Write("0\r\n\r\n"); }
  // Answers all requests with 200 and "ok" until the client closes the connection.
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
  bool starts_with_tls = true;                   // false: the behavior calls StartTls, for example after a CONNECT
  std::string client_ca_pem;                     // CA of client certificates, which are then required; empty: none
  int max_tls_version = TLS1_3_VERSION;
};

class MisbehavingServer {
 public:
  using Behavior = std::function<void(ServerConnection&)>;
  explicit MisbehavingServer(Behavior behavior, ServerOptions options = {});
  ~MisbehavingServer();

  uint16_t port() const { return port_; }
  // Closes every connection and stops listening.
  void Stop();
  // Listens on the same port again; only after Stop.
  void Start();
  void StopAndStart() {
    Stop();
    Start();
  }

  std::vector<ReceivedRequest> requests() const;  // requests that Read has returned so far
  int num_connections() const;                    // accepted so far
  // Blocks until `count` requests were read. Returns false after 10 s.
  bool AwaitRequests(size_t count) const;
  // Blocks until no connection is open. Returns false after 10 s.
  bool AwaitNoConnections() const;

 private:
  void Accept();
  void Serve(int descriptor, int number);
  void Record(const ReceivedRequest& request);

  friend class ServerConnection;
  const Behavior behavior_;
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
