#include "services/sampler/row_cache/ascending_ids.h"

#include "services/base/check.h"

namespace espalier::sampler {

AscendingIds::AscendingIds(std::span<const uint64_t> ids) : num_ids_(ids.size()) {
  uint64_t before = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    ESPALIER_CHECK(i == 0 || ids[i] > before) << "ids must ascend: id " << ids[i] << " after " << before;
    uint64_t difference = ids[i] - before;
    before = ids[i];
    for (; difference >= kMore; difference >>= 7) bytes_.push_back(static_cast<uint8_t>(difference) | kMore);
    bytes_.push_back(static_cast<uint8_t>(difference));
  }
  bytes_.shrink_to_fit();
}

std::vector<uint64_t> AscendingIds::ToVector() const {
  std::vector<uint64_t> ids;
  ids.reserve(num_ids_);
  for (Reader reader(*this); reader.HasNext();) ids.push_back(reader.Next());
  return ids;
}

}  // namespace espalier::sampler
