//! How packets find their way.
