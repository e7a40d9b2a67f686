//! Names of the classes, methods and stacks of a chunk, each resolved once.

use super::chunk::Failure;
use super::constants::{Constants, Held};
use super::cursor::Cursor;
use super::fields::{Plan, Value};
use super::recording::{Class, Recording};
use super::texts::NONE;
use crate::stacks::EMPTY;
use crate::symbols::Function;
use heaplake_kit::memory_account::MemoryAccount;
use heaplake_kit::{Budget, StageError};
use rustc_hash::FxHashMap;

/// Bytes per entry of a table, growth included.
const ENTRY: u64 = 48;

/// Bytes per frame while its stack is resolved.
const FRAME: u64 = 24;

/// Longest text of a stack, bytes.
const LONGEST: usize = 4 << 10;

/// Resolved constants of a chunk.
pub(crate) struct ResolvedConstants {
    class: Plan,
    method: Plan,
    trace: Plan,
    frame: Plan,
    thread: Plan,
    classes: FxHashMap<(u32, i64), Class>,
    methods: FxHashMap<(u32, i64), u64>,
    stacks: FxHashMap<(u32, i64), u32>,
    /// Text ids of constants.
    texts: FxHashMap<(u32, i64), u32>,
    /// Text ids of stacks and of their innermost functions.
    shown: FxHashMap<(u32, i64), (u32, u32)>,
    account: MemoryAccount,
}

/// The frames of a stack, innermost first.
struct Frames {
    methods: Vec<(u32, i64)>,
    truncated: bool,
}

impl ResolvedConstants {
    /// Returns an empty cache.
    pub(crate) fn new(constants: &Constants<'_>, budget: &Budget) -> Result<Self, StageError> {
        let plan = |class: &str, fields: &[&str]| Plan::named(constants.types, class, fields);
        Ok(Self {
            class: plan("java.lang.Class", &["name"]),
            method: plan("jdk.types.Method", &["type", "name", "descriptor"]),
            trace: plan("jdk.types.StackTrace", &["truncated", "frames"]),
            frame: plan("jdk.types.StackFrame", &["method"]),
            thread: plan("java.lang.Thread", &["javaName", "osName"]),
            classes: FxHashMap::default(),
            methods: FxHashMap::default(),
            stacks: FxHashMap::default(),
            texts: FxHashMap::default(),
            shown: FxHashMap::default(),
            account: MemoryAccount::new(budget, "the names of a chunk")?,
        })
    }

    /// Returns the class of a value; the unnamed class if there is none.
    pub(crate) fn class(
        &mut self,
        value: Value,
        constants: &mut Constants<'_>,
        to: &mut Recording<'_>,
    ) -> Result<Class, Failure> {
        let Value::Constant(class, key) = value else { return Ok(to.class("")?) };
        if let Some(&known) = self.classes.get(&(class, key)) {
            return Ok(known);
        }
        let name = self.name_of(class, key, constants)?;
        let known = to.class(&name)?;
        self.account.add(ENTRY)?;
        self.classes.insert((class, key), known);
        Ok(known)
    }

    /// Returns the name of a class as in source code; empty if missing.
    fn name_of(&self, class: u32, key: i64, constants: &mut Constants<'_>) -> Result<String, Failure> {
        let Some([name]) = constants.read(&self.class, (class, key))? else { return Ok(String::new()) };
        Ok(constants.resolve(name)?.map(|name| readable(&name)).unwrap_or_default())
    }

    /// Returns the text id of a constant, or of a text read from `fields`.
    pub(crate) fn text(
        &mut self,
        value: Value,
        fields: &Cursor<'_>,
        constants: &mut Constants<'_>,
        to: &mut Recording<'_>,
    ) -> Result<u32, Failure> {
        let Value::Constant(class, key) = value else {
            return Ok(to.texts.optional(constants.text_of(value, fields)?.as_deref())?);
        };
        if let Some(&known) = self.texts.get(&(class, key)) {
            return Ok(known);
        }
        let text = if self.thread.is_of(class) {
            self.thread_of((class, key), constants)?
        } else {
            constants.text(class, key)?
        };
        let text = to.texts.optional(text.as_deref())?;
        self.account.add(ENTRY)?;
        self.texts.insert((class, key), text);
        Ok(text)
    }

    fn thread_of(&self, thread: (u32, i64), constants: &mut Constants<'_>) -> Result<Option<String>, Failure> {
        let Some([java, system]) = constants.read(&self.thread, thread)? else { return Ok(None) };
        let java = constants.resolve(java)?.filter(|name| !name.is_empty());
        if java.is_some() { Ok(java) } else { constants.resolve(system) }
    }

    /// Returns the node of a stack.
    pub(crate) fn stack(
        &mut self,
        value: Value,
        constants: &mut Constants<'_>,
        to: &mut Recording<'_>,
    ) -> Result<u32, Failure> {
        // Key 0 is no stack.
        let Value::Constant(class, key @ (i64::MIN..=-1 | 1..)) = value else { return Ok(EMPTY) };
        if let Some(&node) = self.stacks.get(&(class, key)) {
            return Ok(node);
        }
        let node = match self.frames(class, key, constants)? {
            Some(frames) => {
                to.truncated_stacks += u64::from(frames.truncated);
                let mut numbers = Vec::with_capacity(frames.methods.len());
                for &method in frames.methods.iter().rev() {
                    numbers.push(self.method(method, constants, to)?);
                }
                self.account.sub(FRAME * frames.methods.capacity() as u64);
                to.replay.stacks.whole(numbers.into_iter())?
            }
            None => {
                to.replay.anomalies.unknown_stacks += 1;
                EMPTY
            }
        };
        self.account.add(ENTRY)?;
        self.stacks.insert((class, key), node);
        Ok(node)
    }

    /// Returns the text ids of a stack and of its innermost function.
    pub(crate) fn shown(
        &mut self,
        value: Value,
        constants: &mut Constants<'_>,
        to: &mut Recording<'_>,
    ) -> Result<(u32, u32), Failure> {
        let Value::Constant(class, key) = value else { return Ok((NONE, NONE)) };
        if let Some(&known) = self.shown.get(&(class, key)) {
            return Ok(known);
        }
        let Some(frames) = self.frames(class, key, constants)? else { return Ok((NONE, NONE)) };
        let (mut names, mut length, mut function) = (Vec::new(), 0, NONE);
        for &method in &frames.methods {
            let name = self.method_name(method, constants)?.0;
            if function == NONE {
                function = to.texts.position(&name)?;
            }
            length += name.len() + 1;
            if length > LONGEST {
                names.push("...".to_owned());
                break;
            }
            names.push(name);
        }
        self.account.sub(FRAME * frames.methods.capacity() as u64);
        names.reverse();
        let known = (to.texts.position(&names.join(";"))?, function);
        self.account.add(ENTRY)?;
        self.shown.insert((class, key), known);
        Ok(known)
    }

    /// Returns the frames of a stack, if it exists. Their memory is accounted until the caller releases it.
    fn frames(&mut self, class: u32, key: i64, constants: &mut Constants<'_>) -> Result<Option<Frames>, Failure> {
        let types = constants.types;
        if !self.trace.is_of(class) {
            return Ok(None);
        }
        let Some(mut fields) = constants.of(class, key)? else { return Ok(None) };
        let Some([truncated, list]) = self.trace.read::<2>(types, &mut fields) else { return Ok(None) };
        let Value::List(of, at) = list else { return Ok(None) };
        let mut fields = fields.from(at);
        let count = fields.count().filter(|_| self.frame.is_of(of)).unwrap_or(0);
        self.account.add(FRAME * count as u64)?;
        let mut methods = Vec::with_capacity(count);
        for _ in 0..count {
            if let Some([Value::Constant(class, key)]) = self.frame.read::<1>(types, &mut fields) {
                methods.push((class, key));
            }
        }
        Ok(Some(Frames { methods, truncated: truncated.number() == Some(1) }))
    }

    fn method(
        &mut self,
        method: (u32, i64),
        constants: &mut Constants<'_>,
        to: &mut Recording<'_>,
    ) -> Result<u64, Failure> {
        if let Some(&frame) = self.methods.get(&method) {
            return Ok(frame);
        }
        let (name, signature) = self.method_name(method, constants)?;
        let frame = to.replay.symbols.frame(Function { name, signature, ..Function::default() })?;
        self.account.add(ENTRY)?;
        self.methods.insert(method, frame);
        Ok(frame)
    }

    /// Returns name and parameters of a method.
    fn method_name(&self, method: (u32, i64), constants: &mut Constants<'_>) -> Result<(String, String), Failure> {
        let Some([class, name, descriptor]) = constants.read(&self.method, method)? else {
            return Ok(("[unknown method]".to_owned(), String::new()));
        };
        let name = constants.resolve(name)?.unwrap_or_default();
        let descriptor = constants.resolve(descriptor)?.unwrap_or_default();
        let class = match class {
            Held::Constant(class, key) => self.name_of(class, key, constants)?,
            _ => String::new(),
        };
        let name = if class.is_empty() { name } else { format!("{class}.{name}") };
        Ok((name, descriptor))
    }
}

/// Converts a class name to source code form: `[Ljava/lang/String;` is `java.lang.String[]`.
pub(crate) fn readable(name: &str) -> String {
    let element = name.trim_start_matches('[');
    let depth = name.len() - element.len();
    let whole = element.strip_prefix('L').and_then(|rest| rest.strip_suffix(';'));
    let primitive = || {
        Some(match element {
            "B" => "byte",
            "C" => "char",
            "D" => "double",
            "F" => "float",
            "I" => "int",
            "J" => "long",
            "S" => "short",
            "Z" => "boolean",
            _ => return None,
        })
    };
    let element = if depth == 0 { element } else { whole.or_else(primitive).unwrap_or(element) };
    // A hidden class has its address after its name, followed by its hash before JDK 21.
    let element = match element.rsplit_once('/') {
        Some((hidden, hash)) if hidden.contains("+0x") && hash.bytes().all(|byte| byte.is_ascii_digit()) => hidden,
        _ => element,
    };
    format!("{}{}", element.replace('/', "."), "[]".repeat(depth.min(255)))
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn classes_are_written_as_in_programs() {
        for (name, shown) in [
            ("java/util/HashMap$Node", "java.util.HashMap$Node"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("[[B", "byte[][]"),
            ("B", "B"),
            ("[X", "X[]"),
            ("Flight$$Lambda$87+0x00007fab40007a08/937773018", "Flight$$Lambda$87+0x00007fab40007a08"),
            ("", ""),
        ] {
            assert_eq!(readable(name), shown);
        }
    }
}
