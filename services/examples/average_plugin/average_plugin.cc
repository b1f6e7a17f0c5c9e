// A server plugin with functions that read and change a tensor of the calling job (docs/server-plugins.md).
// [example]
#include <cmath>
#include <cstring>
#include <sstream>

#include "espalier/plugin/plugin.h"

using namespace espalier::plugin;

// The words of a request's first line, and the bytes after it: global ids (U64, ascending), then, for Push, their rows.
struct ParsedRequest {
  uint32_t node_type = 0;
  std::string tensor;
  double share = 0;
  std::string_view bytes;
};
ParsedRequest Parse(const Context& context, std::string_view request) {
  const size_t end = request.find('\n');
  std::istringstream words{std::string(request.substr(0, end))};
  std::string node_type;
  ParsedRequest parsed;
  words >> node_type >> parsed.tensor >> parsed.share;
  const bool is_valid = words && end != std::string_view::npos && parsed.share >= 0 && parsed.share <= 1;
  if (!is_valid) throw BadRequest("expected a first line of a node type, a tensor and a share from 0 to 1");
  parsed.node_type = context.FindNodeType(node_type);
  parsed.bytes = request.substr(end + 1);
  return parsed;
}

// The requested ids that this partition owns: their rows in the tensor, and their positions in the request.
struct Owned {
  std::vector<uint64_t> rows;
  std::vector<size_t> positions;
  size_t num_ids = 0;  // in the request, including ids that other partitions own
};
Owned CollectOwned(const Context& context, const ParsedRequest& parsed, size_t bytes_per_id) {
  Owned owned;
  owned.num_ids = parsed.bytes.size() / bytes_per_id;
  if (parsed.bytes.size() % bytes_per_id != 0) {
    throw BadRequest(std::to_string(parsed.bytes.size()) + " bytes of ids and rows: expected a multiple of " +
                     std::to_string(bytes_per_id));
  }
  for (size_t i = 0; i < owned.num_ids; ++i) {
    uint64_t id = 0;
    std::memcpy(&id, parsed.bytes.data() + i * sizeof(id), sizeof(id));
    const Place place = context.locate_node(parsed.node_type, id);
    if (place.partition != context.partition()) continue;
    if (!owned.rows.empty() && place.local_id <= owned.rows.back()) throw BadRequest("the ids are not ascending");
    owned.rows.push_back(place.local_id);
    owned.positions.push_back(i);
  }
  return owned;
}

// Request: "NODETYPE TENSOR SHARE", ids, and a row (F32) for each id. Replaces the row r of each id in the tensor with
// r + SHARE * (s - r), where s is the row in the request. Returns the number of rows that this partition has changed.
std::string Push(const Context& context, std::string_view request) {
  const ParsedRequest parsed = Parse(context, request);
  const Tensor averages = context.node_tensor(parsed.node_type, parsed.tensor);
  const size_t width = averages.row_size();
  const Owned owned = CollectOwned(context, parsed, sizeof(uint64_t) + width * sizeof(float));
  std::vector<float> rows = averages.Read<float>(owned.rows);  // throws if the tensor is not F32
  std::vector<float> given(width);
  for (size_t i = 0; i < owned.rows.size(); ++i) {
    std::memcpy(given.data(),
                parsed.bytes.data() + owned.num_ids * sizeof(uint64_t) + owned.positions[i] * width * sizeof(float),
                width * sizeof(float));
    for (size_t c = 0; c < width; ++c) {
      float& value = rows[i * width + c];
      value += static_cast<float>(parsed.share) * (given[c] - value);
    }
  }
  averages.Assign<float>(owned.rows, rows);  // takes effect when this function has returned
  return std::to_string(owned.rows.size());
}

// Request: "NODETYPE TENSOR 0" and ids. Returns a line "id norm" for each id that this partition owns, with the
// Euclidean norm of its row. Changes no rows.
std::string Norms(const Context& context, std::string_view request) {
  const ParsedRequest parsed = Parse(context, request);
  const Tensor tensor = context.node_tensor(parsed.node_type, parsed.tensor);
  const Owned owned = CollectOwned(context, parsed, sizeof(uint64_t));
  const std::vector<float> rows = tensor.Read<float>(owned.rows);
  std::ostringstream lines;
  lines.precision(9);
  for (size_t i = 0; i < owned.rows.size(); ++i) {
    double squares = 0;
    for (size_t c = 0; c < tensor.row_size(); ++c) squares += std::pow(rows[i * tensor.row_size() + c], 2.0);
    lines << context.nodes(parsed.node_type).first + owned.rows[i] << ' ' << std::sqrt(squares) << '\n';
  }
  return lines.str();
}

ESPALIER_PLUGIN("1.0", Changing<Push>("push"), Idempotent<Norms>("norms"));
// [example]
