//! Does a plan: workers, pacing, open and closed loop, TLS, HTTP
