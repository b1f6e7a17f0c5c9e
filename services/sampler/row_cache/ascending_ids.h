// A set of ids in a few bytes each: the differences of ascending ids as variable-length integers, 7 bits per byte, low
// bits first (LEB128). If a step reads 60,000 of a million rows, most ids take one byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier::sampler {

class AscendingIds {
 public:
  AscendingIds() = default;
  // `ids` ascend and do not repeat (checked).
  explicit AscendingIds(std::span<const uint64_t> ids);

  size_t size() const { return num_ids_; }
  size_t SizeInBytes() const { return bytes_.capacity(); }
  // Returns all ids, ascending.
  std::vector<uint64_t> ToVector() const;
  // Calls found(i) for each i for which ids[i] is in the set, in ascending order. `ids` ascend and do not repeat.
  template <class Found>
  void Intersect(std::span<const uint64_t> ids, Found found) const;

 private:
  // Reads the ids one after the other.
  class Reader {
   public:
    explicit Reader(const AscendingIds& ids) : at_(ids.bytes_.data()), remaining_(ids.num_ids_) {}
    bool HasNext() const { return remaining_ != 0; }
    uint64_t Next() {
      uint64_t difference = 0;
      int shift = 0;
      while (*at_ >= kMore) {
        difference |= (uint64_t{*at_++} - kMore) << shift;
        shift += 7;
      }
      difference |= uint64_t{*at_++} << shift;
      --remaining_;
      id_ += difference;
      return id_;
    }

   private:
    const uint8_t* at_;
    size_t remaining_;
    uint64_t id_ = 0;
  };
  static constexpr uint8_t kMore = 128;  // bit that is set in every byte of a difference except the last

  std::vector<uint8_t> bytes_;
  size_t num_ids_ = 0;
};

template <class Found>
void AscendingIds::Intersect(std::span<const uint64_t> ids, Found found) const {
  Reader reader(*this);
  size_t i = 0;
  while (reader.HasNext() && i < ids.size()) {
    const uint64_t id = reader.Next();
    while (i < ids.size() && ids[i] < id) ++i;
    if (i < ids.size() && ids[i] == id) found(i++);
  }
}

}  // namespace espalier::sampler
