//! Samples this machine and this process from /proc
