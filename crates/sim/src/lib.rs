//! Virtual time: the engine, the network, the results.
