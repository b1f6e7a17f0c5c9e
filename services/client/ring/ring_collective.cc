// Every message is a segment of at most kSegmentBytes with the number, size and offset of its operation, by which a
// rank detects that the previous rank executes another operation. ring_link.h describes the streams and their errors,
// ring_collective.h the order of summation.
#include "services/client/ring/ring_collective.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "services/base/buffer_pool.h"
#include "services/client/ring/add_arrived.h"

namespace espalier::client {
namespace {

using collective::v1::Segment;
using collective::v1::SegmentKind;

constexpr char kContext[] = "collective operation of the trainers";
// Large enough to amortize the cost of a message, small enough to stay in the processor's cache.
constexpr size_t kSegmentBytes = size_t{1} << 20;
// Segments in flight: of rank 0 around the ring, and of the root of a broadcast to the next rank.
constexpr size_t kWindow = 8;
// Memory of sent payloads that is kept for reuse.
constexpr size_t kIdleBytes = 2 * kWindow * kSegmentBytes;

template <class T>
constexpr SegmentKind kPartialKind = collective::v1::SEGMENT_KIND_PARTIAL_FLOAT;
template <>
constexpr SegmentKind kPartialKind<double> = collective::v1::SEGMENT_KIND_PARTIAL_DOUBLE;

size_t CountSegments(size_t total_bytes) {
  return std::max<size_t>(1, (total_bytes + kSegmentBytes - 1) / kSegmentBytes);
}

// One rank. Owned by one thread.
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

  void Abandon() override { link_.Abandon(); }

 private:
  bool IsLast() const { return rank_ == size_ - 1; }
  bool IsNextToLast() const { return rank_ + 2 == size_; }

  template <class Operation>
  Status Run(size_t total_bytes, Operation operation) {
    Result<uint64_t> number = link_.BeginOperation();
    if (!number.ok()) return number.status().While(kContext);
    number_ = *number;
    total_bytes_ = total_bytes;
    if (const Status status = size_ == 1 ? Status() : operation(); !status.ok()) return status.While(kContext);
    link_.EndOperation();
    return Status();
  }

  template <class T>
  Status Sum(std::span<T> values, Deadline deadline) {
    if (values.empty()) return Barrier(deadline);
    return Run(values.size_bytes(), [&] { return SumInRankOrder(values, deadline); });
  }

  Segment Header(SegmentKind kind, size_t offset, uint32_t origin) const {
    Segment header;
    header.set_kind(kind);
    header.set_operation(number_);
    header.set_total_bytes(total_bytes_);
    header.set_offset(offset);
    header.set_origin(origin);
    return header;
  }
  size_t BytesAt(size_t offset) const { return std::min(kSegmentBytes, total_bytes_ - offset); }

  // `payload` must come from buffers_, not from the caller: gRPC may keep a message after the operation has ended, also
  // after an error.
  void Send(SegmentKind kind, std::shared_ptr<std::byte> payload, size_t offset, uint32_t origin) {
    const std::byte* bytes = payload.get();
    link_.Send(rpc::EncodeFrame(
        Header(kind, offset, origin),
        std::array{Tensor::Wrap(DType::kU8, {static_cast<int64_t>(BytesAt(offset))}, bytes, std::move(payload))}));
  }

  void SendCopy(SegmentKind kind, std::span<const std::byte> all, size_t offset, uint32_t origin) {
    std::shared_ptr<std::byte> payload = buffers_.Take(BytesAt(offset));
    if (BytesAt(offset) > 0) std::memcpy(payload.get(), all.data() + offset, BytesAt(offset));
    Send(kind, std::move(payload), offset, origin);
  }

  // Returns the next segment of this operation, of one of two kinds. Any other segment means that the previous rank
  // executes another operation: InvalidArgument.
  Result<ArrivedSegment> Receive(SegmentKind either, SegmentKind other, Deadline deadline) {
    ASSIGN_OR_RETURN(ArrivedSegment segment, link_.Receive(deadline));
    const Segment& header = segment.header;
    const bool fits = (header.kind() == either || header.kind() == other) && header.operation() == number_ &&
                      header.total_bytes() == total_bytes_ && header.offset() % kSegmentBytes == 0 &&
                      header.offset() / kSegmentBytes < CountSegments(total_bytes_) && header.origin() < size_ &&
                      segment.payload.remaining() == BytesAt(header.offset());
    if (fits) return segment;
    return link_.Fail(InvalidArgument("the trainers called different operations or sizes: operation " +
                                      std::to_string(number_) + " of " + std::to_string(total_bytes_) +
                                      " bytes here, operation " + std::to_string(header.operation()) + " of " +
                                      std::to_string(header.total_bytes()) + " bytes at the previous rank"));
  }

  template <class T>
  std::span<T> ValuesAt(size_t offset, std::span<T> values) const {
    return values.subspan(offset / sizeof(T), BytesAt(offset) / sizeof(T));
  }

  template <class T>
  Status SumInRankOrder(std::span<T> values, Deadline deadline) {
    if (size_ == 2 && CountSegments(values.size_bytes()) == 1) return ExchangeWithOther(values, deadline);
    if (rank_ == 0) return SumAsFirst(values, deadline);
    const size_t num_segments = CountSegments(values.size_bytes());
    size_t num_partials = 0;
    for (size_t num_sums = 0; num_partials < num_segments || num_sums < num_segments;) {
      ASSIGN_OR_RETURN(ArrivedSegment segment, Receive(kPartialKind<T>, collective::v1::SEGMENT_KIND_SUM, deadline));
      if (segment.header.kind() == collective::v1::SEGMENT_KIND_SUM) {
        TakeSum(std::as_writable_bytes(values), segment);
        ++num_sums;
        continue;
      }
      const size_t offset = segment.header.offset();
      const std::span<T> own = ValuesAt(offset, values);
      ++num_partials;
      if (IsLast()) {
        AddArrived<T>(segment.payload, ArrivedAre::kOfLowerRanks, own, own.data());
        SendCopy(collective::v1::SEGMENT_KIND_SUM, std::as_bytes(values), offset, rank_);
        ++num_sums;
      } else {
        std::shared_ptr<std::byte> payload = buffers_.Take(BytesAt(offset));
        AddArrived<T>(segment.payload, ArrivedAre::kOfLowerRanks, own, reinterpret_cast<T*>(payload.get()));
        Send(kPartialKind<T>, std::move(payload), offset, rank_);
      }
    }
    return Status();
  }

  // Two ranks with one segment exchange their values: one message latency instead of two. With many segments both ranks
  // would add all values, which takes longer than sending the sums back.
  template <class T>
  Status ExchangeWithOther(std::span<T> values, Deadline deadline) {
    const ArrivedAre side = rank_ == 0 ? ArrivedAre::kOfHigherRanks : ArrivedAre::kOfLowerRanks;
    SendCopy(kPartialKind<T>, std::as_bytes(values), 0, rank_);
    ASSIGN_OR_RETURN(ArrivedSegment segment, Receive(kPartialKind<T>, kPartialKind<T>, deadline));
    AddArrived<T>(segment.payload, side, values, values.data());
    return Status();
  }

  template <class T>
  Status SumAsFirst(std::span<T> values, Deadline deadline) {
    std::span<std::byte> bytes = std::as_writable_bytes(values);
    const size_t num_segments = CountSegments(bytes.size());
    size_t num_sent = 0;
    for (size_t num_sums = 0; num_sums < num_segments; ++num_sums) {
      for (; num_sent < num_segments && num_sent < num_sums + kWindow; ++num_sent) {
        SendCopy(kPartialKind<T>, bytes, num_sent * kSegmentBytes, 0);
      }
      ASSIGN_OR_RETURN(ArrivedSegment segment,
                       Receive(collective::v1::SEGMENT_KIND_SUM, collective::v1::SEGMENT_KIND_SUM, deadline));
      TakeSum(bytes, segment);
    }
    return Status();
  }

  void TakeSum(std::span<std::byte> bytes, ArrivedSegment& segment) {
    if (!IsNextToLast()) link_.Send(segment.bytes);
    segment.payload.CopyBytes(bytes.data() + segment.header.offset(), segment.payload.remaining());
  }

  Status BroadcastFromRoot(std::span<std::byte> bytes, uint32_t root, Deadline deadline) {
    constexpr SegmentKind kKind = collective::v1::SEGMENT_KIND_BROADCAST;
    const bool is_last_receiver = (rank_ + 1) % size_ == root;
    for (size_t i = 0; i < CountSegments(bytes.size()); ++i) {
      if (rank_ == root) {
        SendCopy(kKind, bytes, i * kSegmentBytes, root);
      } else {
        ASSIGN_OR_RETURN(ArrivedSegment segment, Receive(kKind, kKind, deadline));
        if (!is_last_receiver) link_.Send(segment.bytes);
        segment.payload.CopyBytes(bytes.data() + segment.header.offset(), segment.payload.remaining());
      }
      RETURN_IF_ERROR(link_.WaitUntilSent(kWindow, deadline));
    }
    return Status();
  }

  Status GatherFromAll(std::span<const std::byte> own, std::vector<std::byte>& all, Deadline deadline) {
    constexpr SegmentKind kKind = collective::v1::SEGMENT_KIND_GATHER;
    if (!own.empty()) std::memcpy(all.data() + rank_ * own.size(), own.data(), own.size());
    const size_t num_segments = CountSegments(own.size());
    for (size_t i = 0; i < num_segments; ++i) SendCopy(kKind, own, i * kSegmentBytes, rank_);
    for (size_t i = 0; i < num_segments * (size_ - 1); ++i) {
      ASSIGN_OR_RETURN(ArrivedSegment segment, Receive(kKind, kKind, deadline));
      const uint32_t origin = segment.header.origin();
      if (origin != (rank_ + 1) % size_) link_.Send(segment.bytes);
      segment.payload.CopyBytes(all.data() + origin * own.size() + segment.header.offset(),
                                segment.payload.remaining());
    }
    return Status();
  }

  BufferPool buffers_{kIdleBytes};
  const std::unique_ptr<RingEndpoint> endpoint_;
  RingLink& link_;
  const uint32_t rank_;
  const uint32_t size_;
  uint64_t number_ = 0;     // of the current operation
  size_t total_bytes_ = 0;  // of the values of the current operation
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
