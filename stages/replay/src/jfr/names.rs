//! Names of the classes, methods and stacks of a chunk, each resolved once.

use super::chunk::{Chunk, Failure};
use super::constants::Constants;
use super::fields::{Plan, Value};
use super::metadata::Types;
use super::recording::{Class, Recording};
use super::strings::NONE;
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

/// Class and key of a constant.
type Key = (u32, i64);

/// Constants of a chunk, and a cache of the resolved ones.
pub(crate) struct Names<'a, 'r> {
    /// The constants.
    pub constants: Constants<'a>,
    /// The recording.
    pub to: &'a mut Recording<'r>,
    class: Plan,
    method: Plan,
    trace: Plan,
    frame: Plan,
    thread: Plan,
    classes: FxHashMap<Key, Class>,
    methods: FxHashMap<Key, u64>,
    stacks: FxHashMap<Key, u32>,
    /// Text ids of constants.
    texts: FxHashMap<Key, u32>,
    /// Text ids of stacks and of their innermost functions.
    shown: FxHashMap<Key, (u32, u32)>,
    account: MemoryAccount,
}

/// The frames of a stack, innermost first.
struct Frames {
    methods: Vec<Key>,
    truncated: bool,
}

impl<'a, 'r> Names<'a, 'r> {
    /// Returns the names of a chunk, none of them resolved.
    pub(crate) fn new(
        chunk: &'a Chunk,
        types: &'a Types,
        to: &'a mut Recording<'r>,
        budget: &Budget,
    ) -> Result<Self, StageError> {
        let plan = |class: &str, fields: &[&str]| Plan::named(types, class, fields);
        Ok(Self {
            constants: Constants::new(chunk, types, budget)?,
            to,
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
    pub(crate) fn class(&mut self, value: &Value) -> Result<Class, Failure> {
        let Some(key) = value.constant() else { return Ok(self.to.class("")?) };
        if let Some(&known) = self.classes.get(&key) {
            return Ok(known);
        }
        let name = self.name_of(key)?;
        let known = self.to.class(&name)?;
        self.account.add(ENTRY)?;
        self.classes.insert(key, known);
        Ok(known)
    }

    /// Returns the name of a class as in source code; empty if missing.
    fn name_of(&mut self, class: Key) -> Result<String, Failure> {
        let [name] = self.constants.read(&self.class, class)?.unwrap_or_default();
        Ok(self.constants.text(&name)?.map(|name| readable(&name)).unwrap_or_default())
    }

    /// Returns the text id of a value.
    pub(crate) fn text(&mut self, value: &Value) -> Result<u32, Failure> {
        let Some(key) = value.constant() else {
            return Ok(self.to.strings.optional(self.constants.text(value)?.as_deref())?);
        };
        if let Some(&known) = self.texts.get(&key) {
            return Ok(known);
        }
        let text = if self.thread.is_of(key.0) { self.thread_of(key)? } else { self.constants.text(value)? };
        let text = self.to.strings.optional(text.as_deref())?;
        self.account.add(ENTRY)?;
        self.texts.insert(key, text);
        Ok(text)
    }

    fn thread_of(&mut self, thread: Key) -> Result<Option<String>, Failure> {
        let [java, system] = self.constants.read(&self.thread, thread)?.unwrap_or_default();
        let java = self.constants.text(&java)?.filter(|name| !name.is_empty());
        if java.is_some() { Ok(java) } else { self.constants.text(&system) }
    }

    /// Returns the node of a stack.
    pub(crate) fn stack(&mut self, value: &Value) -> Result<u32, Failure> {
        // Key 0 is no stack.
        let Some(stack) = value.constant().filter(|&(_, key)| key != 0) else { return Ok(EMPTY) };
        if let Some(&node) = self.stacks.get(&stack) {
            return Ok(node);
        }
        let node = match self.frames(stack)? {
            Some(frames) => {
                self.to.kept.truncated_stacks += u64::from(frames.truncated);
                let mut numbers = Vec::with_capacity(frames.methods.len());
                for &method in frames.methods.iter().rev() {
                    numbers.push(self.method(method)?);
                }
                self.account.sub(FRAME * frames.methods.capacity() as u64);
                self.to.replay.stacks.whole(numbers.into_iter())?
            }
            None => {
                self.to.replay.anomalies.unknown_stacks += 1;
                EMPTY
            }
        };
        self.account.add(ENTRY)?;
        self.stacks.insert(stack, node);
        Ok(node)
    }

    /// Returns the text ids of a stack and of its innermost function.
    pub(crate) fn shown(&mut self, value: &Value) -> Result<(u32, u32), Failure> {
        let Some(stack) = value.constant() else { return Ok((NONE, NONE)) };
        if let Some(&known) = self.shown.get(&stack) {
            return Ok(known);
        }
        let Some(frames) = self.frames(stack)? else { return Ok((NONE, NONE)) };
        let (mut names, mut length, mut function) = (Vec::new(), 0, NONE);
        for &method in &frames.methods {
            let name = self.method_name(method)?.0;
            if function == NONE {
                function = self.to.strings.position(&name)?;
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
        let known = (self.to.strings.position(&names.join(";"))?, function);
        self.account.add(ENTRY)?;
        self.shown.insert(stack, known);
        Ok(known)
    }

    /// Returns the frames of a stack, if it exists. Their memory is accounted until the caller releases it.
    fn frames(&mut self, (class, key): Key) -> Result<Option<Frames>, Failure> {
        let types = self.constants.types;
        if !self.trace.is_of(class) {
            return Ok(None);
        }
        let Some(mut fields) = self.constants.of(class, key)? else { return Ok(None) };
        let Some([truncated, Value::List(of, at)]) = self.trace.read(types, &mut fields) else { return Ok(None) };
        let mut fields = fields.from(at);
        let count = fields.count().filter(|_| self.frame.is_of(of)).unwrap_or(0);
        self.account.add(FRAME * count as u64)?;
        let mut methods = Vec::with_capacity(count);
        for _ in 0..count {
            if let Some([Value::Constant(class, key)]) = self.frame.read(types, &mut fields) {
                methods.push((class, key));
            }
        }
        Ok(Some(Frames { methods, truncated: truncated.number() == Some(1) }))
    }

    fn method(&mut self, method: Key) -> Result<u64, Failure> {
        if let Some(&frame) = self.methods.get(&method) {
            return Ok(frame);
        }
        let (name, signature) = self.method_name(method)?;
        let frame = self.to.replay.symbols.frame(Function { name, signature, ..Function::default() })?;
        self.account.add(ENTRY)?;
        self.methods.insert(method, frame);
        Ok(frame)
    }

    /// Returns name and parameters of a method.
    fn method_name(&mut self, method: Key) -> Result<(String, String), Failure> {
        let Some([class, name, descriptor]) = self.constants.read(&self.method, method)? else {
            return Ok(("[unknown method]".to_owned(), String::new()));
        };
        let name = self.constants.text(&name)?.unwrap_or_default();
        let descriptor = self.constants.text(&descriptor)?.unwrap_or_default();
        let class = class.constant().map_or(Ok(String::new()), |class| self.name_of(class))?;
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
