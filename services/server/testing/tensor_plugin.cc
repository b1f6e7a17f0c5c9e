// A plugin for tests: functions that read and change tensors according to their requests, and functions whose requests
// must be refused.
#include <atomic>
#include <sstream>
#include <stdexcept>

#include "services/plugin/plugin.h"

namespace {

using espalier::plugin::BadRequest;
using espalier::plugin::Changing;
using espalier::plugin::Context;
using espalier::plugin::Idempotent;
using espalier::plugin::Initializer;
using espalier::plugin::Rows;
using espalier::plugin::Tensor;

std::atomic<int> runs = 0;

// Returns the tensor of a row space: "nodes:TYPE", "edges:RELATION" or "own".
Tensor FindTensor(const Context& context, const std::string& space, const std::string& name) {
  if (space == "own") return context.own_tensor(name);
  const std::string type = space.substr(space.find(':') + 1);
  if (space.starts_with("nodes:")) return context.node_tensor(context.FindNodeType(type), name);
  if (space.starts_with("edges:")) return context.edge_tensor(context.FindEdgeType(type), name);
  throw BadRequest("expected nodes:TYPE, edges:RELATION or own, found '" + space + "'");
}

// Parses the rest of a line: row numbers, or * for all rows.
std::vector<uint64_t> ParseRows(const Tensor& tensor, std::istringstream& words) {
  std::vector<uint64_t> rows;
  for (std::string word; words >> word;) {
    if (word == "*") return tensor.AllRows();
    rows.push_back(std::stoull(word));
  }
  return rows;
}

std::string ReadLine(const Tensor& tensor, std::istringstream& words) {
  std::string line;
  for (const int64_t value : tensor.Read<int64_t>(ParseRows(tensor, words))) {
    line += (line.empty() ? "" : " ") + std::to_string(value);
  }
  return line + "\n";
}

// Parses "VALUE ROW ..." and changes every element of these rows by the value.
void ChangeLine(const std::string& how, const Tensor& tensor, std::istringstream& words) {
  int64_t value = 0;
  words >> value;
  const std::vector<uint64_t> rows = ParseRows(tensor, words);
  const std::vector<int64_t> values(rows.size() * tensor.row_size(), value);
  if (how == "assign") return tensor.Assign<int64_t>(rows, values);
  if (how == "add") return tensor.Add<int64_t>(rows, values);
  if (how == "min") return tensor.Min<int64_t>(rows, values);
  if (how == "max") return tensor.Max<int64_t>(rows, values);
  if (how == "or") return tensor.Or<int64_t>(rows, values);
  throw BadRequest("there is no '" + how + "'");
}

// Increments rows by a read and a write; two interleaved calls would lose an increment.
void Increment(const Tensor& tensor, std::istringstream& words) {
  const std::vector<uint64_t> rows = ParseRows(tensor, words);
  std::vector<int64_t> values = tensor.Read<int64_t>(rows);
  for (int64_t& value : values) ++value;
  tensor.Assign<int64_t>(rows, values);
}

// Lines: "read SPACE NAME ROW ...", "add SPACE NAME VALUE ROW ..." and its like, "increment SPACE NAME ROW ...",
// "runs", "throw", "outlive". Returns a line for each read, and for "runs" the number of runs of this function so far.
std::string Script(const Context& context, std::string_view request) {
  const int run = ++runs;
  std::istringstream lines{std::string(request)};
  std::string answer;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what, space, name;
    words >> what;
    if (what == "throw") throw std::runtime_error("out of luck");
    if (what == "outlive") {
      while (context.remaining().count() > 0) continue;  // does not check whether the caller is gone
    } else if (what == "runs") {
      answer += std::to_string(run) + "\n";
    } else {
      words >> space >> name;
      const Tensor tensor = FindTensor(context, space, name);
      if (what == "read") {
        answer += ReadLine(tensor, words);
      } else if (what == "increment") {
        Increment(tensor, words);
      } else {
        ChangeLine(what, tensor, words);
      }
    }
  }
  return answer;
}

// Makes invalid calls for the tensor of own rows with the request's name, which has one I64 per row. Returns the
// statuses of the calls.
int32_t Misuse(const EspalierHost* host, EspalierCall* call, const void* request, size_t request_bytes) {
  const std::string name(static_cast<const char*>(request), request_bytes);
  std::string statuses;
  const auto add = [&](int32_t status) { statuses += (statuses.empty() ? "" : " ") + std::to_string(status); };
  EspalierTensor tensor = {};
  add(host->find_tensor(call, ESPALIER_ROWS_OF_OWN, 0, nullptr, &tensor));
  add(host->find_tensor(call, ESPALIER_ROWS_OF_OWN, 0, name.c_str(), nullptr));
  add(host->find_tensor(call, 9, 0, name.c_str(), &tensor));
  add(host->find_tensor(call, ESPALIER_ROWS_OF_OWN, 1, name.c_str(), &tensor));
  add(host->find_tensor(call, ESPALIER_ROWS_OF_NODES, 1000, name.c_str(), &tensor));
  add(host->find_tensor(call, ESPALIER_ROWS_OF_OWN, 0, "no name", &tensor));
  add(host->find_tensor(call, ESPALIER_ROWS_OF_OWN, 0, (name + "-not").c_str(), &tensor));
  if (host->find_tensor(call, ESPALIER_ROWS_OF_OWN, 0, name.c_str(), &tensor) != ESPALIER_OK) return ESPALIER_INTERNAL;
  uint64_t row = 0, far = tensor.count;
  int64_t value = 7;
  const EspalierTensorRows good = {&row, 1, &value, sizeof(value), ESPALIER_I64};
  EspalierTensorRows bad[] = {good, good, good, good, good, good};
  bad[0].rows = nullptr;
  bad[1].values = nullptr;
  bad[2].dtype = ESPALIER_F64;
  bad[3].value_bytes = 4;
  bad[4].count = uint64_t{1} << 40;
  bad[5].rows = &far;
  for (const EspalierTensorRows& rows : bad) {
    add(host->read_rows(call, tensor.number, &rows));
    add(host->change_rows(call, tensor.number, ESPALIER_ASSIGN, &rows));
  }
  add(host->read_rows(call, tensor.number, nullptr));
  add(host->change_rows(call, tensor.number, ESPALIER_ASSIGN, nullptr));
  add(host->read_rows(call, tensor.number + 1, &good));
  add(host->change_rows(call, tensor.number + 1, ESPALIER_ASSIGN, &good));
  add(host->change_rows(call, tensor.number, ESPALIER_OR + 1, &good));
  return host->append_response(call, statuses.data(), statuses.size());
}

// Sets no error message, so the client gets the host's message.
int32_t FindInC(const EspalierHost* host, EspalierCall* call, const void*, size_t) {
  EspalierTensor tensor = {};
  return host->find_tensor(call, ESPALIER_ROWS_OF_OWN, 0, "nowhere", &tensor);
}

// Returns the status of an earlier failed call after a successful one: the host has no message for it.
int32_t FindAgainInC(const EspalierHost* host, EspalierCall* call, const void* request, size_t request_bytes) {
  const std::string name(static_cast<const char*>(request), request_bytes);
  EspalierTensor tensor = {};
  const int32_t status = host->find_tensor(call, ESPALIER_ROWS_OF_OWN, 0, "nowhere", &tensor);
  if (host->find_tensor(call, ESPALIER_ROWS_OF_OWN, 0, name.c_str(), &tensor) != ESPALIER_OK) return ESPALIER_INTERNAL;
  return status;
}

void AskForATensor(const Context& context, const Rows&) { context.own_tensor("x"); }

}  // namespace

ESPALIER_PLUGIN("3.0", Changing<Script>("change"), Idempotent<Script>("look"),
                EspalierFunctionEntry{"misuse", &Misuse, ESPALIER_CHANGING},
                EspalierFunctionEntry{"find", &FindInC, ESPALIER_IDEMPOTENT},
                EspalierFunctionEntry{"find_again", &FindAgainInC, ESPALIER_IDEMPOTENT},
                Initializer<AskForATensor>("ask"));
