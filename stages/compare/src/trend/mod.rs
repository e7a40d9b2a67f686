//! `heaplake trend`: a series of steps, each with its runs, table by table: what grows, and since when.

pub mod shape;
