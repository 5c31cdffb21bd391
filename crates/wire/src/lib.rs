//! Headers and packets: IPv4, TCP with options, ICMP echo.
