//! Micro-benches, ceilings, and side-by-side runs with other tools
