//! From numbers per node to what people look at first: classes, and the largest objects.

pub mod classes;
pub mod findings;
pub mod largest;
pub mod nodes;
