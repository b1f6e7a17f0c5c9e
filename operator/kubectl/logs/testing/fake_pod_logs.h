// A transport that answers GET .../pods/<name>/log itself and forwards other requests. It simulates the part of an API
// server that forwards containers' logs from kubelets. FakeApiServer lacks that part, and so does a real API server
// without kubelets.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/client/transport.h"
#include "operator/kube/time.h"
#include "services/base/mutex.h"

namespace espalier::ctl::logs {

// Thread-safe. Pods are identified by name alone: a test uses one namespace.
class FakePodLogs final : public client::HttpTransport {
 public:
  // `below` answers all other requests; null: 404.
  explicit FakePodLogs(std::unique_ptr<client::HttpTransport> below = nullptr);
  ~FakePodLogs() override;

  // Adds a line of the running container at LogSecond(second).
  void Write(const std::string& pod, double second, const std::string& text);
  // The same without a newline at its end. No line may follow it.
  void WriteUnfinished(const std::string& pod, double second, const std::string& text);
  // Ends the container, and the streams that follow it.
  void End(const std::string& pod);
  // Starts a new container. The log becomes the previous one.
  void Restart(const std::string& pod);
  // Breaks the open streams, or ends them normally. Streams opened later are not affected.
  void Cut(const std::string& pod, bool broken);
  // Answers 400, as for a container that has not started.
  void Refuse(const std::string& pod, std::string why);

  // The kubelet stops responding, as on a node that has died: open streams stay open and send nothing.
  void Silence(const std::string& pod);

  std::vector<std::string> targets() const;  // of all log requests
  // Blocks (for at most ten seconds) until there have been `count` log requests. Returns whether there have been.
  bool AwaitRequests(size_t count) const;
  // Blocks (for at most ten seconds) until `count` streams are open. Returns whether they are.
  bool AwaitOpen(int count) const;

  Result<client::HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;

 private:
  class Lines;
  struct Shared;
  const std::unique_ptr<client::HttpTransport> below_;
  const std::shared_ptr<Shared> shared_;  // shared with streams that outlive this
};

// Returns the time `second` seconds after a fixed time.
kube::WallTime LogSecond(double second);

}  // namespace espalier::ctl::logs
