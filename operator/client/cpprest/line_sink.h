// A response stream of cpprestsdk that writes to a LineBuffer. It is write-only and has back-pressure: the task of a
// write completes only when there is room. The library's own streams have neither a limit nor back-pressure
// (README.md).
#pragma once

#include <cpprest/astreambuf.h>

#include "operator/client/cpprest/line_buffer.h"

namespace espalier::ctl::client {

// Must be created with make_shared, as the base class requires. Thread-safe like LineBuffer.
class LineSink final : public Concurrency::streams::details::streambuf_state_manager<uint8_t> {
 public:
  explicit LineSink(LineBuffer::Limits limits) : streambuf_state_manager(std::ios_base::out), buffer_(limits) {}

  LineBuffer& buffer() { return buffer_; }

  bool can_seek() const override { return false; }
  bool has_size() const override { return false; }
  size_t buffer_size(std::ios_base::openmode) const override { return 0; }
  void set_buffer_size(size_t, std::ios_base::openmode) override {}
  size_t in_avail() const override { return 0; }
  pos_type getpos(std::ios_base::openmode) const override { return -1; }
  pos_type seekpos(pos_type, std::ios_base::openmode) override { return -1; }
  pos_type seekoff(off_type, std::ios_base::seekdir, std::ios_base::openmode) override { return -1; }
  bool acquire(uint8_t*& bytes, size_t& count) override;
  void release(uint8_t*, size_t) override {}

 protected:
  pplx::task<size_t> _putn(const uint8_t* bytes, size_t count) override;
  pplx::task<int_type> _putc(uint8_t byte) override;
  pplx::task<bool> _sync() override { return pplx::task_from_result(true); }
  uint8_t* _alloc(size_t) override { return nullptr; }
  void _commit(size_t) override {}

  // Reading returns the end of the stream.
  pplx::task<int_type> _bumpc() override { return pplx::task_from_result<int_type>(traits::eof()); }
  int_type _sbumpc() override { return traits::eof(); }
  pplx::task<int_type> _getc() override { return pplx::task_from_result<int_type>(traits::eof()); }
  int_type _sgetc() override { return traits::eof(); }
  pplx::task<int_type> _nextc() override { return pplx::task_from_result<int_type>(traits::eof()); }
  pplx::task<int_type> _ungetc() override { return pplx::task_from_result<int_type>(traits::eof()); }
  pplx::task<size_t> _getn(uint8_t*, size_t) override { return pplx::task_from_result<size_t>(0); }
  size_t _scopy(uint8_t*, size_t) override { return 0; }

 private:
  LineBuffer buffer_;
};

}  // namespace espalier::ctl::client
