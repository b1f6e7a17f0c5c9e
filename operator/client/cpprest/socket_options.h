// Socket options of connections to the API server.
#pragma once

#include <boost/asio/ip/tcp.hpp>

namespace espalier::ctl::client {

// Makes the kernel detect a lost peer within 30 s (by keep-alive probes on an idle connection, by TCP_USER_TIMEOUT
// while sending), and makes the descriptor close on exec. cpprestsdk may pass a socket that is not open yet: this
// function then opens it with `address_family`, or does nothing if that is AF_UNSPEC. Errors are ignored; if the socket
// could not be opened, connecting reports it.
void SetSocketOptions(boost::asio::ip::tcp::socket& socket, int address_family);

}  // namespace espalier::ctl::client
