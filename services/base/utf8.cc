#include "services/base/utf8.h"

#include <nlohmann/json.hpp>

namespace espalier {

bool IsUtf8(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();  // throws for invalid UTF-8
    return true;
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

}  // namespace espalier
