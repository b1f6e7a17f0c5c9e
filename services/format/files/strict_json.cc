#include "services/format/files/strict_json.h"

#include <set>
#include <string>
#include <vector>

namespace espalier::format {
namespace {

// Checks the text before values are built from it. The callbacks return true to continue.
class Checker final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Checker(int max_depth) : max_depth_(static_cast<size_t>(max_depth)) {}
  const std::string& fault() const { return fault_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override { return Enter(); }
  bool start_array(std::size_t) override { return Enter(); }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }

  bool key(string_t& name) override {
    if (keys_.back().insert(name).second) return true;
    fault_ = "the key '" + name.substr(0, 200) + "' occurs twice in one object";
    return false;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    // Drops the prefix of "[json.exception.parse_error.101] parse error at line 1, column 2: ...", which repeats the
    // position.
    const std::string words = error.what();
    const size_t detail = words.find(": ");
    fault_ = "at byte " + std::to_string(position) + ": " +
             (detail == std::string::npos ? words : words.substr(detail + 2)).substr(0, 300);
    return false;
  }

 private:
  bool Enter() {
    keys_.emplace_back();
    if (keys_.size() <= max_depth_) return true;
    fault_ = "it is more than " + std::to_string(max_depth_) + " containers deep";
    return false;
  }
  bool Leave() {
    keys_.pop_back();
    return true;
  }

  const size_t max_depth_;
  std::vector<std::set<std::string>> keys_;  // keys of the containers that enclose the current position
  std::string fault_;
};

}  // namespace

Result<nlohmann::json> ParseStrictJson(std::string_view text, int max_depth) {
  Checker checker(max_depth);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &checker)) {
    return InvalidArgument("not acceptable JSON: " + checker.fault());
  }
  return nlohmann::json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

}  // namespace espalier::format
