// Integers that cannot be mixed up. StrongId<struct NodeTag, uint64_t> and StrongId<struct EdgeTag, uint64_t>
// are different types of the size of their number; hot loops unwrap `.value` once and keep the word in the
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
