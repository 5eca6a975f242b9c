//! PDAAAL's JSON: accepted or refused, never a panic; what is accepted is written in every format.
#![no_main]

#[path = "support/pds.rs"]
mod support;

use droste_notation::Format;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| support::examine(data, Format::Pdaaal));
