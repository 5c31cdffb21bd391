//! Which links exist at a time.
