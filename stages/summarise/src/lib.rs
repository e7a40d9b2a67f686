//! From numbers per node to what people look at first: classes, and the largest objects.

pub mod classes;
pub mod largest;

use heaplake_kit::StageInfo;

/// The stages of this crate, in order.
pub const STAGES: [&StageInfo; 2] = [&classes::STAGE, &largest::STAGE];
