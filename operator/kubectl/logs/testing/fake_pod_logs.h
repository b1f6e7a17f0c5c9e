// The part of an API server that hands on containers' logs from kubelets, which FakeApiServer (as a real API server
// without kubelets) does not have: a transport that answers GET .../pods/<name>/log itself and passes the rest on.
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

// Thread-safe. Pods are known by their names alone: a test has one namespace.
class FakePodLogs final : public client::HttpTransport {
 public:
  // `below` answers everything else; null: 404.
  explicit FakePodLogs(std::unique_ptr<client::HttpTransport> below = nullptr);
  ~FakePodLogs() override;

  // A line of the running container, `second` seconds after an hour of its own.
  void Write(const std::string& pod, double second, const std::string& text);
  // The same without a newline at its end: nothing may follow.
  void WriteUnfinished(const std::string& pod, double second, const std::string& text);
  // The container ends: streams that follow it do so too.
  void End(const std::string& pod);
  // A new container: what was the log is the previous one now.
  void Restart(const std::string& pod);
  // Streams break, or end as if all were over; what comes later is not affected.
  void Cut(const std::string& pod, bool broken);
  // 400, as for a container that has not begun.
  void Refuse(const std::string& pod, std::string why);

  // The kubelet answers no more, as one whose node has died: what is open stays so and says nothing.
  void Silence(const std::string& pod);

  std::vector<std::string> targets() const;  // of the log requests so far
  // Waits (ten seconds at most) until there have been so many.
  bool AwaitRequests(size_t count) const;
  // Waits (ten seconds at most) until so many streams are open.
  bool AwaitOpen(int count) const;

  Result<client::HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;
  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override;

 private:
  class Lines;
  struct Shared;
  const std::unique_ptr<client::HttpTransport> below_;
  const std::shared_ptr<Shared> shared_;  // with streams that outlive this
};

// The time of `second` above.
kube::WallTime LogSecond(double second);

}  // namespace espalier::ctl::logs
