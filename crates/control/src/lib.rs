//! How many machines agree to fire at once: state machines without I/O
