//! Transport endpoints without sockets or clocks.
