//! An HTTPS server with known delays, capacities and faults
