//! Droste.
