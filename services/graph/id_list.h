// A list of node or edge IDs: either a growable vector or a tensor, which may be mapped from a file.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "services/base/tensor.h"

namespace espalier::graph {

// Thread-compatible.
class IdList {
 public:
  using value_type = uint64_t;
  using const_reference = const uint64_t&;
  using const_iterator = const uint64_t*;
  using iterator = const_iterator;

  IdList() = default;
  // Implicit, so that a vector can be passed as a list. NOLINTNEXTLINE(google-explicit-constructor)
  IdList(std::vector<uint64_t> ids) : held_(std::move(ids)) {}
  IdList(std::initializer_list<uint64_t> ids) : held_(ids) {}
  template <class Iterator>
  IdList(Iterator first, Iterator last) : held_(first, last) {}

  // Returns a list over a tensor U64 [k] (checked). Copies of the list share the tensor.
  static IdList Of(Tensor ids) {
    ESPALIER_CHECK(ids.dtype() == DType::kU64 && ids.shape().size() == 1) << "ids are " << ids.ToString();
    IdList list;
    list.shared_ = std::move(ids);
    return list;
  }

  // Returns the IDs as a span. Loops should call this once, because size, begin, end and [] each call it.
  std::span<const uint64_t> ids() const {
    return shared_.empty() ? std::span<const uint64_t>(held_) : shared_.values<uint64_t>();
  }
  size_t size() const { return ids().size(); }
  bool empty() const { return ids().empty(); }
  uint64_t operator[](size_t i) const { return ids()[i]; }
  const_iterator begin() const { return ids().data(); }
  const_iterator end() const { return ids().data() + size(); }

  // Appends an ID. Not for a list over a tensor (checked).
  void push_back(uint64_t id) {
    ESPALIER_CHECK(shared_.empty()) << "cannot append an id to a list over a tensor";
    held_.push_back(id);
  }

  // Returns a new list with `offset` added to each ID.
  IdList Plus(uint64_t offset) const {
    std::vector<uint64_t> sums(begin(), end());
    for (uint64_t& id : sums) id += offset;
    return Of(Tensor::FromVector(std::move(sums)));
  }

  friend bool operator==(const IdList& a, const IdList& b) { return std::ranges::equal(a.ids(), b.ids()); }

 private:
  std::vector<uint64_t> held_;
  Tensor shared_;  // used instead of held_ unless empty
};

}  // namespace espalier::graph
