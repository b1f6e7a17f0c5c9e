// Integer IDs of distinct types. StrongId<struct NodeTag, uint64_t> and StrongId<struct EdgeTag, uint64_t> do not
// convert to each other and are as large as their integers. Hot loops read `.value` once and keep the kind of ID in the
// variable's name.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>

namespace espalier {

template <class Tag, class Rep>
struct StrongId {
  Rep value{};

  constexpr StrongId() = default;
  constexpr explicit StrongId(Rep v) : value(v) {}
  friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

}  // namespace espalier

template <class Tag, class Rep>
struct std::hash<espalier::StrongId<Tag, Rep>> {
  size_t operator()(espalier::StrongId<Tag, Rep> id) const noexcept { return std::hash<Rep>()(id.value); }
};
