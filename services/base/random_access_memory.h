// Memory for random access. Where the system has huge pages, an access costs one cache miss less, because the address
// translation needs no page table walk.
#pragma once

#include <cstddef>
#include <memory>

namespace espalier {

// The size of a huge page in bytes.
inline constexpr size_t kHugePage = size_t{2} << 20;

// Returns zeroed memory aligned for any scalar, or null if there is not enough memory. The system allocates the pages
// of a large array when they are first touched.
std::shared_ptr<std::byte> AllocateForRandomAccess(size_t size_bytes);

}  // namespace espalier
