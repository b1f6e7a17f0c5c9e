// Ids of nodes or edges, one after another: in memory, where more may be added, or in a tensor, which may be mapped.
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
  // Implicit: a vector of ids is a list of them. NOLINTNEXTLINE(google-explicit-constructor)
  IdList(std::vector<uint64_t> ids) : held_(std::move(ids)) {}
  IdList(std::initializer_list<uint64_t> ids) : held_(ids) {}
  template <class Iterator>
  IdList(Iterator first, Iterator last) : held_(first, last) {}

  // U64 [k]. A copy of the list is a second reference to it.
  static IdList Of(Tensor ids) {
    ESPALIER_CHECK(ids.dtype() == DType::kU64 && ids.shape().size() == 1) << "ids are " << ids.ToString();
    IdList list;
    list.shared_ = std::move(ids);
    return list;
  }

  // In loops over many: size, begin, end and [] each call it.
  std::span<const uint64_t> ids() const {
    return shared_.empty() ? std::span<const uint64_t>(held_) : shared_.values<uint64_t>();
  }
  size_t size() const { return ids().size(); }
  bool empty() const { return ids().empty(); }
  uint64_t operator[](size_t i) const { return ids()[i]; }
  const_iterator begin() const { return ids().data(); }
  const_iterator end() const { return ids().data() + size(); }

  // Only of a list in memory (checked).
  void push_back(uint64_t id) {
    ESPALIER_CHECK(shared_.empty()) << "an id for a list that is a tensor";
    held_.push_back(id);
  }

  // The same ids, each greater by `more`.
  IdList Plus(uint64_t more) const {
    std::vector<uint64_t> sums(begin(), end());
    for (uint64_t& id : sums) id += more;
    return Of(Tensor::FromVector(std::move(sums)));
  }

  friend bool operator==(const IdList& a, const IdList& b) { return std::ranges::equal(a.ids(), b.ids()); }

 private:
  std::vector<uint64_t> held_;
  Tensor shared_;  // where it is not empty, the list
};

}  // namespace espalier::graph
