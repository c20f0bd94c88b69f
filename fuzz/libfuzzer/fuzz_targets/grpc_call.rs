//! `fuzz::grpc_call` under libFuzzer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::grpc_call(data));
