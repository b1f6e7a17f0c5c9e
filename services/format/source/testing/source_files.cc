#include "services/format/source/testing/source_files.h"

#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "services/base/check.h"

namespace espalier::format::testing {
namespace {

namespace fs = std::filesystem;

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "espalier-source-XXXXXX").string();
  ESPALIER_CHECK(mkdtemp(pattern.data()) != nullptr) << "no temporary folder";
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryFolder::Write(const std::string& name, const std::string& bytes) const {
  const fs::path path = fs::path(path_) / name;
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  ESPALIER_CHECK(file.good()) << "writing " << path.string();
  return path.string();
}

std::string TemporaryFolder::WriteGzip(const std::string& name, const std::string& text) const {
  return Write(name, Gzip(text));
}

std::string TemporaryFolder::Read(const std::string& name) const {
  std::ifstream file(fs::path(path_) / name, std::ios::binary);
  ESPALIER_CHECK(file.good()) << "opening " << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Gzip(const std::string& text) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  ESPALIER_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string bytes(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  ESPALIER_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

std::string Npy(const std::string& dictionary, const std::string& data) {
  std::string header = dictionary;
  header.append(64 - (10 + header.size() + 1) % 64, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

void WriteOgbTriangle(const TemporaryFolder& folder) {
  folder.WriteGzip("raw/edge.csv.gz", "0,1\n1,2\n2,0\n");
  folder.WriteGzip("raw/num-node-list.csv.gz", "4\n");
  folder.WriteGzip("raw/num-edge-list.csv.gz", "3\n");
  folder.WriteGzip("raw/node-feat.csv.gz", "0,0.5\n1,1.5\n2,2.5\n3,3.5\n");
  folder.WriteGzip("raw/node-label.csv.gz", "0\n1\n2\n0\n");
  folder.WriteGzip("split/public/train.csv.gz", "2\n0\n");
  folder.WriteGzip("split/public/valid.csv.gz", "1\n");
  folder.WriteGzip("split/public/test.csv.gz", "3\n");
}

}  // namespace espalier::format::testing
