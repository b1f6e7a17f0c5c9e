#include "services/client/ring/add_arrived.h"

#include <cstring>

namespace espalier::client {
namespace {

template <class T>
T Load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// The summands may be unaligned. Not inlined, so that both ranks of an exchange, whose received and own values are on
// opposite sides, execute the same instructions and add in the same order.
template <class T>
[[gnu::noinline]] void AddPiece(const std::byte* lower, const std::byte* higher, size_t count, T* sums) {
  for (size_t i = 0; i < count; ++i) {
    sums[i] = Load<T>(lower + i * sizeof(T)) + Load<T>(higher + i * sizeof(T));
  }
}

}  // namespace

template <class T>
void AddArrived(rpc::FrameReader& arrived, ArrivedAre side, std::span<const T> own, T* sums) {
  const auto add = [&](const std::byte* values, size_t first, size_t count) {
    const std::byte* own_values = std::as_bytes(own.subspan(first)).data();
    if (side == ArrivedAre::kOfLowerRanks) {
      AddPiece(values, own_values, count, sums + first);
    } else {
      AddPiece(own_values, values, count, sums + first);
    }
  };
  ESPALIER_CHECK(own.size_bytes() <= arrived.remaining()) << "the message has fewer values than the operand";
  for (size_t done = 0; done < own.size();) {
    const std::span<const std::byte> piece = arrived.TakePiece((own.size() - done) * sizeof(T));
    const size_t count = piece.size() / sizeof(T), rest_bytes = piece.size() % sizeof(T);
    add(piece.data(), done, count);
    done += count;
    if (rest_bytes == 0) continue;
    // This value is split over two or more pieces.
    std::byte value[sizeof(T)];
    std::memcpy(value, piece.data() + count * sizeof(T), rest_bytes);
    arrived.CopyBytes(value + rest_bytes, sizeof(T) - rest_bytes);
    add(value, done, 1);
    ++done;
  }
}

template void AddArrived<float>(rpc::FrameReader&, ArrivedAre, std::span<const float>, float*);
template void AddArrived<double>(rpc::FrameReader&, ArrivedAre, std::span<const double>, double*);

}  // namespace espalier::client
