// Memory that is read and written at random places: in huge pages, where the system has them, an access is a cache miss
// less, for the address is translated without a walk through page tables.
#pragma once

#include <cstddef>
#include <memory>

namespace espalier {

// Bytes of a huge page.
inline constexpr size_t kHugePage = size_t{2} << 20;

// Zeroed, aligned for any scalar; of a large array pages come into being when they are first touched. Null where there
// is no memory.
std::shared_ptr<std::byte> AllocateForRandomAccess(size_t size_bytes);

}  // namespace espalier
