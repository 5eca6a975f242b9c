//! `droste check` on heap programs.

#[path = "../common/mod.rs"]
mod common;

mod contracts;
mod dispatch;
mod edges;
mod java;
mod libraries;
mod marks;
mod output;
mod pictures;
mod settings;
mod setup;
mod soundness;
mod trees;
mod verdicts;
mod wrong;
