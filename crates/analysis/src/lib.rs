//! What a result means: verdict and thresholds
