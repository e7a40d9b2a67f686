//! Whose code is on the path to an object.

use super::heap::Heap;
use super::packages::CodeOf;
use super::paths::Path;

impl Heap<'_> {
    /// Whether the nearest code on the path to a node is such, and none on it is the program's; no where formats do not
    /// tell a program from the packages that it uses.
    pub fn is_of_package(&self, node: u32, code: CodeOf) -> bool {
        let path = Path::to(node, self);
        let codes = || path.upwards().map(|at| self.code_of(at));
        self.functions.any()
            && codes().find(|&code| code != CodeOf::Unknown) == Some(code)
            && codes().all(|code| code != CodeOf::Application)
    }

    /// Whether only the platform's own code is on the path to a node, and no thread: its stack has the program's.
    pub fn is_of_platform(&self, node: u32) -> bool {
        let path = Path::to(node, self);
        let codes = || path.upwards().map(|at| self.code_of(at));
        codes().any(|code| code == CodeOf::Platform)
            && codes().all(|code| matches!(code, CodeOf::Platform | CodeOf::Unknown))
            && !path.upwards().any(|at| self.is_thread(at))
    }
}
