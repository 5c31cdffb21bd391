//! What applications offer.
