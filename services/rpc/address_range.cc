#include "services/rpc/address_range.h"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "services/base/parse_number.h"

namespace espalier::rpc {
namespace {

struct Range {
  std::string_view before, after;
  uint32_t first = 0, last = 0;
};

// Returns the number if the entire text is a decimal number without leading zeros.
std::optional<uint32_t> ParseIndex(std::string_view text) {
  const bool has_leading_zero = text.size() > 1 && text[0] == '0';
  return has_leading_zero ? std::nullopt : ParseNumber<uint32_t>(text);
}

// Returns the range of the address, or nullopt if there is none.
std::optional<Range> FindRange(std::string_view address) {
  const size_t open = address.find('[');
  const size_t close = address.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  const std::string_view inside = address.substr(open + 1, close - open - 1);
  const size_t dash = inside.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const std::optional<uint32_t> first = ParseIndex(inside.substr(0, dash)), last = ParseIndex(inside.substr(dash + 1));
  if (!first || !last) return std::nullopt;
  return Range{address.substr(0, open), address.substr(close + 1), *first, *last};
}

// Expands an address without separators. Subtracts the number of returned addresses from *num_left, the number of
// addresses that are still allowed.
Result<std::vector<std::string>> ExpandOne(const std::string& address, size_t* num_left) {
  const std::optional<Range> range = FindRange(address);
  if (range && range->last < range->first) {
    return InvalidArgument("address '" + address + "': the end of the range is below its start");
  }
  const size_t count = range ? size_t{range->last} - range->first + 1 : 1;
  if (count > *num_left) {
    return InvalidArgument("address '" + address + "': more than " + std::to_string(kMaxAddresses) +
                           " addresses in total");
  }
  *num_left -= count;
  if (!range) return std::vector<std::string>{address};
  std::vector<std::string> expanded;
  for (size_t i = 0; i < count; ++i) {
    expanded.push_back(std::string(range->before) + std::to_string(range->first + i) + std::string(range->after));
  }
  return expanded;
}

}  // namespace

Result<std::vector<std::string>> ExpandAddresses(const std::vector<std::string>& addresses) {
  std::vector<std::string> expanded;
  size_t num_left = kMaxAddresses;
  for (const std::string& joined : addresses) {
    std::vector<std::string> joined_so_far;
    for (const std::string& address : SplitAddresses(joined)) {
      ASSIGN_OR_RETURN(std::vector<std::string> next, ExpandOne(address, &num_left));
      if (joined_so_far.empty()) {
        joined_so_far = std::move(next);
        continue;
      }
      if (next.size() != joined_so_far.size()) {
        return InvalidArgument("addresses '" + joined + "': ranges of " + std::to_string(joined_so_far.size()) +
                               " and " + std::to_string(next.size()) +
                               " addresses, expected equal lengths on both sides of '|'");
      }
      for (size_t i = 0; i < next.size(); ++i) joined_so_far[i] += kAddressSeparator + next[i];
    }
    expanded.insert(expanded.end(), joined_so_far.begin(), joined_so_far.end());
  }
  return expanded;
}

std::vector<std::string> SplitAddresses(const std::string& joined) {
  std::vector<std::string> addresses;
  size_t begin = 0;
  for (size_t end = joined.find(kAddressSeparator); end != std::string::npos;
       end = joined.find(kAddressSeparator, begin)) {
    addresses.push_back(joined.substr(begin, end - begin));
    begin = end + 1;
  }
  addresses.push_back(joined.substr(begin));
  return addresses;
}

}  // namespace espalier::rpc
