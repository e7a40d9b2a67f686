//! Origin of the code on the path to an object.

use super::heap::Heap;
use super::packages::CodeOf;
use super::paths::Path;

impl Heap<'_> {
    /// Whether the nearest code on the path to a node has this origin, and none is the program's; false if the format
    /// does not distinguish a program from its packages.
    pub(super) fn is_of_package(&self, node: u32, code: CodeOf) -> bool {
        let path = Path::to(node, self);
        let codes = || path.upwards().map(|at| self.code_of(at));
        self.functions.any()
            && codes().find(|&code| code != CodeOf::Unknown) == Some(code)
            && codes().all(|code| code != CodeOf::Application)
    }

    /// Whether the path to a node has code of the platform only, and no thread: the stack of a thread has the program's
    /// code.
    pub(super) fn is_of_platform(&self, node: u32) -> bool {
        let path = Path::to(node, self);
        let codes = || path.upwards().map(|at| self.code_of(at));
        codes().any(|code| code == CodeOf::Platform)
            && codes().all(|code| matches!(code, CodeOf::Platform | CodeOf::Unknown))
            && !path.upwards().any(|at| self.is_thread(at))
    }
}
