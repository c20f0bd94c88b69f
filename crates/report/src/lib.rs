//! A result document in, bytes out: one file per format
