// Every message of an operation is a segment with at most kSegmentBytes bytes of values. Its header has the number and
// size of the operation and the segment's offset, so a rank detects if the previous rank executes another operation.
// ring_link.h describes the connections and their errors, ring_collective.h the order of summation.
//
// Segments are sent from the memory of the operation's values and received into it; only values that this rank has to
// add are received into a buffer instead. Partial sums replace a rank's own values, which are not needed after the
// addition. The sums over all ranks replace the partial sums; they arrive only after the rank has sent its partial
// sums.
#include "services/client/ring/ring_collective.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "services/base/mutex.h"
#include "services/client/ring/add_arrived.h"

namespace espalier::client {
namespace {

constexpr char kContext[] = "collective operation of the trainers";
// Large enough to amortize the cost of a message, small enough that received values are added in the processor's cache.
constexpr size_t kSegmentBytes = size_t{256} << 10;
// The ranks of a group of two exchange arrays of at most this many segments. For larger arrays it is faster if one rank
// adds all values and sends the sums back.
constexpr size_t kMaxExchanged = 4;

template <class T>
constexpr FrameKind kPartialKind = FrameKind::kPartialFloat;
template <>
constexpr FrameKind kPartialKind<double> = FrameKind::kPartialDouble;

size_t CountSegments(size_t total_bytes) {
  return std::max<size_t>(1, (total_bytes + kSegmentBytes - 1) / kSegmentBytes);
}

// The collective operations of one rank.
class RingCollective final : public collective::Collective {
 public:
  explicit RingCollective(std::unique_ptr<RingEndpoint> endpoint)
      : endpoint_(std::move(endpoint)), link_(endpoint_->link()), rank_(link_.rank().value), size_(link_.size()) {}

  Rank rank() const override { return Rank(rank_); }
  uint32_t size() const override { return size_; }
  const char* backend() const override { return "Ring"; }

  Status AllReduceSum(std::span<float> values, Deadline deadline) override { return Sum(values, deadline); }
  Status AllReduceSum(std::span<double> values, Deadline deadline) override { return Sum(values, deadline); }

  Status Broadcast(std::span<std::byte> bytes, Rank root, Deadline deadline) override {
    ESPALIER_CHECK(root.value < size_) << "root " << root.value << " of a group of " << size_;
    return Run(bytes.size(), [&] { return BroadcastFromRoot(bytes, root.value, deadline); });
  }

  Result<std::vector<std::byte>> AllGather(std::span<const std::byte> bytes, Deadline deadline) override {
    std::vector<std::byte> all(bytes.size() * size_);
    RETURN_IF_ERROR(Run(bytes.size(), [&] { return GatherFromAll(bytes, all, deadline); }));
    return all;
  }

  Status Barrier(Deadline deadline) override {
    // A sum over zero values ends only after every rank has contributed.
    return Run(0, [&] { return SumInRankOrder(std::span<float>(), deadline); });
  }

  Status PollUntilAllDone(const std::function<Result<bool>()>& is_done, Deadline deadline) override {
    return Run(0, [&]() -> Status {
      RETURN_IF_ERROR(link_.PollUntil(is_done, deadline));
      return SumInRankOrder(std::span<float>(), deadline);
    });
  }

  void Abandon() override ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    is_abandoned_ = true;
    link_.Interrupt();
    if (!is_operating_) link_.Abandon();  // otherwise Run calls it, in the thread of the operation
  }

 private:
  bool IsLast() const { return rank_ == size_ - 1; }
  bool IsNextToLast() const { return rank_ + 2 == size_; }

  // Runs `operation`, with `total_bytes` of values on this rank, as the next operation of the group. If Abandon was
  // called meanwhile, leaves the group afterwards.
  template <class Operation>
  Status Run(size_t total_bytes, Operation operation) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      MutexLock lock(&mutex_);
      is_operating_ = true;
    }
    const Status status = RunOperation(total_bytes, operation);
    MutexLock lock(&mutex_);
    is_operating_ = false;
    if (is_abandoned_) link_.Abandon();
    return status;
  }

  template <class Operation>
  Status RunOperation(size_t total_bytes, Operation operation) {
    Result<uint64_t> number = link_.BeginOperation();
    if (!number.ok()) return number.status().While(kContext);
    number_ = *number;
    total_bytes_ = total_bytes;
    if (const Status status = operation(); !status.ok()) return status.While(kContext);
    link_.EndOperation();
    return Status();
  }

  template <class T>
  Status Sum(std::span<T> values, Deadline deadline) {
    if (values.empty()) return Barrier(deadline);
    return Run(values.size_bytes(), [&] { return SumInRankOrder(values, deadline); });
  }

  size_t BytesAt(size_t offset) const { return std::min(kSegmentBytes, total_bytes_ - offset); }
  template <class Bytes>
  Bytes SegmentAt(size_t offset, Bytes all) const {
    return all.subspan(offset, BytesAt(offset));
  }

  // Queues the segment of `all` at `offset`. Its bytes must not change until it is sent (RingLink::Flush).
  void Send(FrameKind kind, std::span<const std::byte> all, size_t offset, uint64_t origin) {
    link_.Send({.kind = kind,
                .payload_bytes = BytesAt(offset),
                .operation = number_,
                .total_bytes = total_bytes_,
                .offset = offset,
                .origin = origin},
               SegmentAt(offset, all));
  }

  // Returns the header of the next segment, which must belong to this operation and have kind `kind` or `other_kind`.
  // The caller receives the payload next. InvalidArgument: another segment arrived, so the previous rank executes
  // another operation.
  Result<FrameHeader> Receive(FrameKind kind, FrameKind other_kind, const Deadline& deadline) {
    ASSIGN_OR_RETURN(const FrameHeader header, link_.ReceiveHeader(deadline));
    const bool fits = (header.kind == kind || header.kind == other_kind) && header.operation == number_ &&
                      header.total_bytes == total_bytes_ && header.offset % kSegmentBytes == 0 &&
                      header.offset / kSegmentBytes < CountSegments(total_bytes_) && header.origin < size_ &&
                      header.payload_bytes == BytesAt(header.offset);
    if (fits) return header;
    return link_.Fail(InvalidArgument("the trainers called different operations or sizes: operation number " +
                                      std::to_string(number_) + " with " + std::to_string(total_bytes_) +
                                      " bytes here, operation number " + std::to_string(header.operation) + " with " +
                                      std::to_string(header.total_bytes) + " bytes at the previous rank"));
  }

  // Receives values of other ranks, which the caller adds to its own. They are valid until the next call of
  // ReceiveSummands.
  Result<std::span<const std::byte>> ReceiveSummands(size_t offset, const Deadline& deadline) {
    arrived_.resize(std::max(arrived_.size(), BytesAt(offset)));
    const std::span<std::byte> arrived = std::span(arrived_).first(BytesAt(offset));
    RETURN_IF_ERROR(link_.ReceivePayload(arrived, deadline));
    return std::span<const std::byte>(arrived);
  }

  template <class T>
  std::span<T> ValuesAt(size_t offset, std::span<T> values) const {
    return values.subspan(offset / sizeof(T), BytesAt(offset) / sizeof(T));
  }

  // Receives sums over all ranks and forwards them unless the next rank is the last one, which computed them.
  Status ReceiveSum(std::span<std::byte> bytes, size_t offset, uint64_t origin, const Deadline& deadline) {
    RETURN_IF_ERROR(link_.ReceivePayload(SegmentAt(offset, bytes), deadline));
    if (!IsNextToLast()) Send(FrameKind::kSum, bytes, offset, origin);
    return Status();
  }

  template <class T>
  Status SumInRankOrder(std::span<T> values, const Deadline& deadline) {
    if (size_ == 1) return Status();
    if (size_ == 2 && CountSegments(values.size_bytes()) <= kMaxExchanged) return ExchangeWithOther(values, deadline);
    const std::span<std::byte> bytes = std::as_writable_bytes(values);
    const size_t num_segments = CountSegments(bytes.size());
    if (rank_ == 0) {
      for (size_t i = 0; i < num_segments; ++i) Send(kPartialKind<T>, bytes, i * kSegmentBytes, rank_);
    }
    const size_t expected_partials = rank_ == 0 ? 0 : num_segments, expected_sums = IsLast() ? 0 : num_segments;
    for (size_t i = 0; i < expected_partials + expected_sums; ++i) {
      ASSIGN_OR_RETURN(const FrameHeader header, Receive(rank_ == 0 ? FrameKind::kSum : kPartialKind<T>,
                                                         IsLast() ? kPartialKind<T> : FrameKind::kSum, deadline));
      if (header.kind == FrameKind::kSum) {
        RETURN_IF_ERROR(ReceiveSum(bytes, header.offset, header.origin, deadline));
      } else {
        ASSIGN_OR_RETURN(const auto summands, ReceiveSummands(header.offset, deadline));
        AddArrived<T>(summands, ArrivedFrom::kLowerRanks, ValuesAt(header.offset, values));
        Send(IsLast() ? FrameKind::kSum : kPartialKind<T>, bytes, header.offset, rank_);
      }
    }
    return link_.Flush(0, deadline);
  }

  // Two ranks exchange their values, and each rank adds them. This takes one message latency instead of two.
  template <class T>
  Status ExchangeWithOther(std::span<T> values, const Deadline& deadline) {
    const ArrivedFrom from = rank_ == 0 ? ArrivedFrom::kHigherRanks : ArrivedFrom::kLowerRanks;
    const std::span<const std::byte> bytes = std::as_bytes(std::span<const T>(values));
    const size_t num_segments = CountSegments(bytes.size());
    for (size_t i = 0; i < num_segments; ++i) Send(kPartialKind<T>, bytes, i * kSegmentBytes, rank_);
    for (size_t i = 0; i < num_segments; ++i) {
      ASSIGN_OR_RETURN(const FrameHeader header, Receive(kPartialKind<T>, kPartialKind<T>, deadline));
      ASSIGN_OR_RETURN(const auto summands, ReceiveSummands(header.offset, deadline));
      // This rank's values of the segment may be replaced only after they are sent. Segments are sent in order, so wait
      // until at most the segments after this one are unsent.
      RETURN_IF_ERROR(link_.Flush(num_segments - 1 - header.offset / kSegmentBytes, deadline));
      AddArrived<T>(summands, from, ValuesAt(header.offset, values));
    }
    return Status();
  }

  Status BroadcastFromRoot(std::span<std::byte> bytes, uint32_t root, const Deadline& deadline) {
    if (size_ == 1) return Status();
    constexpr FrameKind kKind = FrameKind::kBroadcast;
    const bool is_last_receiver = (rank_ + 1) % size_ == root;
    for (size_t i = 0; i < CountSegments(bytes.size()); ++i) {
      size_t offset = i * kSegmentBytes;
      if (rank_ != root) {
        ASSIGN_OR_RETURN(const FrameHeader header, Receive(kKind, kKind, deadline));
        if (header.origin != root) {
          return link_.Fail(InvalidArgument("the trainers called Broadcast with different roots: rank " +
                                            std::to_string(root) + " here, rank " + std::to_string(header.origin) +
                                            " at the previous rank"));
        }
        offset = header.offset;
        RETURN_IF_ERROR(link_.ReceivePayload(SegmentAt(offset, bytes), deadline));
      }
      if (!is_last_receiver) Send(kKind, bytes, offset, root);
    }
    return link_.Flush(0, deadline);
  }

  Status GatherFromAll(std::span<const std::byte> own, std::span<std::byte> all, const Deadline& deadline) {
    constexpr FrameKind kKind = FrameKind::kGather;
    const auto bytes_of = [&](uint64_t origin) { return all.subspan(origin * own.size(), own.size()); };
    if (!own.empty()) std::memcpy(bytes_of(rank_).data(), own.data(), own.size());
    if (size_ == 1) return Status();
    const size_t num_segments = CountSegments(own.size());
    for (size_t i = 0; i < num_segments; ++i) Send(kKind, own, i * kSegmentBytes, rank_);
    for (size_t i = 0; i < num_segments * (size_ - 1); ++i) {
      ASSIGN_OR_RETURN(const FrameHeader header, Receive(kKind, kKind, deadline));
      const std::span<std::byte> bytes = bytes_of(header.origin);
      RETURN_IF_ERROR(link_.ReceivePayload(SegmentAt(header.offset, bytes), deadline));
      if (header.origin != (rank_ + 1) % size_) Send(kKind, bytes, header.offset, header.origin);
    }
    return link_.Flush(0, deadline);
  }

  std::vector<std::byte> arrived_;  // received values that are not added yet
  const std::unique_ptr<RingEndpoint> endpoint_;
  RingLink& link_;
  const uint32_t rank_;
  const uint32_t size_;
  uint64_t number_ = 0;     // number of the current operation
  size_t total_bytes_ = 0;  // size of the values of the current operation on this rank

  Mutex mutex_;
  bool is_operating_ ABSL_GUARDED_BY(mutex_) = false;  // Run is in progress
  bool is_abandoned_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

Result<std::unique_ptr<collective::Collective>> ConnectRing(std::unique_ptr<RingEndpoint> endpoint,
                                                            const std::string& rank0_address, Deadline deadline) {
  if (endpoint->options().size > 1) {
    RETURN_IF_ERROR(endpoint->Join(rank0_address, deadline)
                        .While("connecting trainer " + std::to_string(endpoint->options().rank.value)));
  }
  std::unique_ptr<collective::Collective> ring = std::make_unique<RingCollective>(std::move(endpoint));
  // After the barrier every rank is connected to both neighbors.
  RETURN_IF_ERROR(ring->Barrier(deadline));
  return ring;
}

}  // namespace espalier::client
