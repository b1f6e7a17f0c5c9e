// Socket options of connections to the API server.
#pragma once

#include <boost/asio/ip/tcp.hpp>

namespace espalier::ctl::client {

// Makes the kernel detect a lost peer within 30 s, by keep-alive probes of an idle connection and by TCP_USER_TIMEOUT
// while sending, and closes the descriptor in child processes. The library passes the socket before it is open, so this
// function opens it with `address_family`. With AF_UNSPEC it leaves a closed socket unchanged. Errors are ignored,
// because connecting reports them.
void SetSocketOptions(boost::asio::ip::tcp::socket& socket, int address_family);

}  // namespace espalier::ctl::client
