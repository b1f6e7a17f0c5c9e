// Measures the processor time of a server that runs in this process on the threads of its callers, so that it can be
// subtracted from the time of the client.
#pragma once

#include <ctime>

#include <atomic>
#include <memory>
#include <utility>

#include "operator/client/transport.h"

namespace espalier::ctl::client {

// Returns the reading of a processor time clock in seconds. CLOCK_THREAD_CPUTIME_ID is the clock of the calling thread.
inline double CpuSeconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Thread-safe. The inner transport must do its work on the caller's thread. Both transports must outlive the streams.
class MeteredTransport final : public HttpTransport {
 public:
  explicit MeteredTransport(HttpTransport& inner) : inner_(inner) {}

  // Returns the processor time of all calls of the inner transport and its streams so far.
  double cpu_seconds() const { return static_cast<double>(nanoseconds_.load()) * 1e-9; }

  Result<HttpResponse> Send(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override {
    const Meter meter(*this);
    return inner_.Send(request, deadline, std::move(stop));
  }

  Result<Stream> Open(const kube::HttpRequest& request, Deadline deadline, std::stop_token stop) override {
    const Meter meter(*this);
    Result<Stream> stream = inner_.Open(request, deadline, std::move(stop));
    if (stream.ok() && stream->lines != nullptr) {
      stream->lines = std::make_unique<MeteredLines>(*this, std::move(stream->lines));
    }
    return stream;
  }

 private:
  // Adds the processor time that the calling thread uses during the lifetime of the object.
  class Meter {
   public:
    explicit Meter(MeteredTransport& transport) : transport_(transport) {}
    ~Meter() {
      const double seconds = CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - begin_;
      transport_.nanoseconds_.fetch_add(static_cast<int64_t>(seconds * 1e9));
    }
    Meter(const Meter&) = delete;
    Meter& operator=(const Meter&) = delete;

   private:
    MeteredTransport& transport_;
    const double begin_ = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
  };

  class MeteredLines final : public LineStream {
   public:
    MeteredLines(MeteredTransport& transport, std::unique_ptr<LineStream> inner)
        : transport_(transport), inner_(std::move(inner)) {}
    Result<std::optional<std::string>> Next(Deadline deadline) override {
      const Meter meter(transport_);
      return inner_->Next(deadline);
    }
    void Cancel() override { inner_->Cancel(); }

   private:
    MeteredTransport& transport_;
    const std::unique_ptr<LineStream> inner_;
  };

  HttpTransport& inner_;
  std::atomic<int64_t> nanoseconds_{0};
};

}  // namespace espalier::ctl::client
