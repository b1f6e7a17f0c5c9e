#include "services/trainer/gloo_collective.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>

#include <cstring>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "services/rpc/address.h"

namespace espalier::trainer {
namespace {

using collective::Collective;

// Gloo takes milliseconds and reads zero as "for ever".
std::chrono::milliseconds TimeoutOf(Deadline deadline) {
  return std::max(std::chrono::milliseconds(1), std::chrono::ceil<std::chrono::milliseconds>(deadline.Remaining()));
}

// The words for people: without Gloo's "[file:line] " in front and c10's stack behind.
std::string WordsOf(const char* text) {
  std::string words(text, std::strcspn(text, "\n"));
  const size_t place_end = words.find("] ");
  if (words.starts_with('[') && place_end != std::string::npos) words.erase(0, place_end + 2);
  return words;
}

Status StatusOfException(const std::exception& error, Deadline deadline) {
  if (deadline.HasPassed()) return DeadlineExceeded(WordsOf(error.what()));
  return Unavailable(WordsOf(error.what()));
}

// c10d's store as Gloo wants to see it.
class RendezvousKeys final : public ::gloo::rendezvous::Store {
 public:
  explicit RendezvousKeys(c10d::TCPStore& store) : store_(store) {}
  void set(const std::string& key, const std::vector<char>& value) override {
    store_.set(key, std::vector<uint8_t>(value.begin(), value.end()));
  }
  std::vector<char> get(const std::string& key) override {
    const std::vector<uint8_t> value = store_.get(key);
    return std::vector<char>(value.begin(), value.end());
  }
  void wait(const std::vector<std::string>& keys) override { store_.wait(keys); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    store_.wait(keys, timeout);
  }

 private:
  c10d::TCPStore& store_;
};

// Owned by one thread.
class GlooCollective final : public Collective {
 public:
  explicit GlooCollective(std::shared_ptr<::gloo::rendezvous::Context> context)
      : rank_(static_cast<uint32_t>(context->rank)),
        size_(static_cast<uint32_t>(context->size)),
        context_(std::move(context)) {}

  Rank rank() const override { return Rank(rank_); }
  uint32_t size() const override { return size_; }
  const char* backend() const override { return "Gloo"; }

  Status AllReduceSum(std::span<float> values, Deadline deadline) override { return Sum(values, deadline); }
  Status AllReduceSum(std::span<double> values, Deadline deadline) override { return Sum(values, deadline); }

  Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) override {
    ESPALIER_CHECK(root.value < size_) << "root " << root.value << " of a group of " << size_;
    return Run(bytes.empty(), deadline, [&](uint32_t tag) {
      ::gloo::BroadcastOptions options(context_);
      options.setOutput(reinterpret_cast<char*>(bytes.data()), bytes.size());
      options.setRoot(static_cast<int>(root.value));
      options.setTag(tag);
      options.setTimeout(TimeoutOf(deadline));
      ::gloo::broadcast(options);
    });
  }

  Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) override {
    std::vector<std::byte> all(bytes.size() * size_);
    RETURN_IF_ERROR(Run(bytes.empty(), deadline, [&](uint32_t tag) {
      ::gloo::AllgatherOptions options(context_);
      // Gloo only reads the input, through a pointer to non-const.
      options.setInput(const_cast<char*>(reinterpret_cast<const char*>(bytes.data())), bytes.size());
      options.setOutput(reinterpret_cast<char*>(all.data()), all.size());
      options.setTag(tag);
      options.setTimeout(TimeoutOf(deadline));
      ::gloo::allgather(options);
    }));
    return all;
  }

  void Abandon() override {
    if (context_ == nullptr) return;
    death_ = Unavailable("this trainer left it");
    context_.reset();
  }

  Status Barrier(Deadline deadline) override {
    return Run(false, deadline, [&](uint32_t tag) {
      ::gloo::BarrierOptions options(context_);
      options.setTag(tag);
      options.setTimeout(TimeoutOf(deadline));
      ::gloo::barrier(options);
    });
  }

 private:
  template <class T>
  Status Sum(std::span<T> values, Deadline deadline) {
    return Run(values.empty(), deadline, [&](uint32_t tag) {
      ::gloo::AllreduceOptions options(context_);
      options.setOutput(values.data(), values.size());
      void (*sum)(void*, const void*, const void*, size_t) = &::gloo::sum<T>;
      options.setReduceFunction(sum);
      // Named, because every rank must take the same road: the ring adds each element in one fixed order.
      options.setAlgorithm(::gloo::AllreduceOptions::Algorithm::RING);
      options.setTag(tag);
      options.setTimeout(TimeoutOf(deadline));
      ::gloo::allreduce(options);
    });
  }

  // Runs one operation. An error closes all connections at once: the peers notice now, not at their deadline.
  template <class Operation>
  Status Run(bool nothing_to_do, Deadline deadline, Operation operation) {
    if (context_ == nullptr) return death_.While("the group of trainers is dead");
    if (nothing_to_do) return Status();
    Status status;
    try {
      operation(next_tag_++);
    } catch (const std::exception& error) {
      status = StatusOfException(error, deadline);
    }
    if (!status.ok()) {
      death_ = status;
      context_.reset();
    }
    return status.ok() ? status : std::move(status).While("talking to the other trainers");
  }

  const uint32_t rank_;
  const uint32_t size_;
  std::shared_ptr<::gloo::rendezvous::Context> context_;  // null: dead
  Status death_;
  uint32_t next_tag_ = 0;
};

std::unique_ptr<c10d::TCPStore> OpenStore(const std::string& host, uint16_t port, bool is_server,
                                          std::chrono::milliseconds timeout) {
  c10d::TCPStoreOptions options;
  options.port = port;
  options.isServer = is_server;
  options.waitWorkers = false;
  options.timeout = timeout;
  return std::make_unique<c10d::TCPStore>(host, options);
}

constexpr std::chrono::seconds kHostTimeout(30);

}  // namespace

Rendezvous::Rendezvous(std::string host, std::unique_ptr<c10d::TCPStore> store)
    : host_(std::move(host)), store_(std::move(store)) {}

Rendezvous::~Rendezvous() = default;

uint16_t Rendezvous::port() const { return store_->getPort(); }

Result<std::unique_ptr<Rendezvous>> Rendezvous::Host(const std::string& host, uint16_t port) {
  try {
    return std::unique_ptr<Rendezvous>(new Rendezvous(host, OpenStore(host, port, true, kHostTimeout)));
  } catch (const std::exception& error) {
    return Unavailable("hosting the trainers' rendezvous at " + host + ":" + std::to_string(port) + ": " +
                       WordsOf(error.what()));
  }
}

Result<std::unique_ptr<Rendezvous>> Rendezvous::Join(const std::string& host, uint16_t port, Deadline deadline) {
  try {
    return std::unique_ptr<Rendezvous>(new Rendezvous(host, OpenStore(host, port, false, TimeoutOf(deadline))));
  } catch (const std::exception& error) {
    return StatusOfException(error, deadline)
        .While("joining the trainers' rendezvous at " + host + ":" + std::to_string(port));
  }
}

Result<std::unique_ptr<Collective>> ConnectGloo(std::unique_ptr<Rendezvous> rendezvous, const GlooOptions& options,
                                                Deadline deadline) {
  if (options.rank.value >= options.size) {
    return InvalidArgument("rank " + std::to_string(options.rank.value) + " of " + std::to_string(options.size) +
                           " trainers; expected a smaller one");
  }
  std::string address = options.local_address;
  if (address.empty()) {
    ASSIGN_OR_RETURN(address, rpc::LocalAddressFacing(rendezvous->host_));
  }
  std::unique_ptr<Collective> connected;
  try {
    std::shared_ptr<::gloo::transport::Device> device =
        ::gloo::transport::tcp::CreateDevice(::gloo::transport::tcp::attr(address.c_str()));
    auto context = std::make_shared<::gloo::rendezvous::Context>(static_cast<int>(options.rank.value),
                                                                 static_cast<int>(options.size));
    context->setTimeout(TimeoutOf(deadline));
    RendezvousKeys keys(*rendezvous->store_);
    ::gloo::rendezvous::PrefixStore group_keys("espalier/" + options.group, keys);
    context->connectFullMesh(group_keys, device);
    connected = std::make_unique<GlooCollective>(std::move(context));
  } catch (const std::exception& error) {
    return StatusOfException(error, deadline).While("connecting trainer " + std::to_string(options.rank.value));
  }
  // Nobody closes the rendezvous while another still reads from it.
  RETURN_IF_ERROR(connected->Barrier(deadline));
  return connected;
}

}  // namespace espalier::trainer
