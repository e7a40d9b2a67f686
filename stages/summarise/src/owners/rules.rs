//! The owner of an object, from the name of its class and the origin of its code.

use bytemuck::{Pod, Zeroable};
use glob::Pattern;
use heaplake_kit::{BudgetVec, ColumnMap, Context, Reservation, Scratch, StageError, StringTable};
use heaplake_schemas::ids::{ClassId, StringId};
use heaplake_schemas::owners::Origin;
use heaplake_schemas::owners::{OwnerRule, OwnerRules};
use heaplake_schemas::scratch::{self as columns, STRINGS};
use rustc_hash::FxHashMap;

/// An owner and the strength of its claim, or nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub(crate) struct Code(u32);

/// Strength of a claim: by the package of a part of the platform, by another package, by a rule.
#[derive(Clone, Copy)]
enum Strength {
    Platform = 0,
    Package = 1,
    Rule = 2,
}

impl Code {
    /// No owner.
    pub(crate) const NOBODY: Self = Self(u32::MAX);
    /// Not computed yet.
    const UNKNOWN: Self = Self(u32::MAX - 1);
    /// Upper bound of the numbers of owners.
    const MOST: u32 = u32::MAX >> 2;

    fn new(owner: u32, strength: Strength) -> Self {
        Self(owner << 2 | strength as u32)
    }

    #[inline]
    pub(crate) fn owner(self) -> Option<u32> {
        if self == Self::NOBODY { None } else { Some(self.0 >> 2) }
    }

    /// Returns the owner of an object below an object of another owner: the stronger claim wins; of equal claims its
    /// own.
    #[inline]
    pub(crate) fn under(self, above: Self) -> Self {
        if self == Self::NOBODY || (above != Self::NOBODY && above.0 & 3 > self.0 & 3) { above } else { self }
    }
}

/// The rules, and their results so far.
pub(crate) struct Rules {
    rules: Vec<Rule>,
    packages: bool,
    strings: StringTable,
    class_name: ColumnMap<StringId>,
    class_origin: ColumnMap<u32>,
    origins: ColumnMap<Origin>,
    /// Owner of objects with the origin of their class.
    by_class: BudgetVec<Code>,
    by_both: FxHashMap<(ClassId, u32), Code>,
    names: Vec<String>,
    by_name: FxHashMap<String, u32>,
    reservation: Reservation,
}

/// No class, for functions.
const NO_CLASS: ClassId = ClassId(u32::MAX);
const NOWHERE: u32 = u32::MAX;

impl Rules {
    /// Opens the rules. Without rules of the user, packages own all objects.
    pub(crate) fn new(
        rules: Option<&OwnerRules>,
        scratch: &Scratch,
        context: &Context<'_>,
    ) -> Result<Self, StageError> {
        let class_name = ColumnMap::uncounted(scratch, columns::CLASS_NAME)?;
        Ok(Self {
            rules: rules.map_or_else(Vec::new, |rules| rules.rules.iter().map(Rule::new).collect()),
            packages: rules.is_none_or(|rules| rules.packages),
            strings: StringTable::open(scratch, STRINGS)?,
            class_origin: ColumnMap::if_any(scratch, columns::CLASS_ORIGIN)?.unwrap_or_else(ColumnMap::empty),
            origins: ColumnMap::uncounted(scratch, columns::ORIGIN)?,
            by_class: context.budget.filled("owners: classes", class_name.len(), Code::UNKNOWN)?,
            class_name,
            by_both: FxHashMap::default(),
            names: Vec::new(),
            by_name: FxHashMap::default(),
            reservation: context.budget.reserve("owners: names", 0)?,
        })
    }

    /// Number of owners so far.
    pub(crate) fn count(&self) -> usize {
        self.names.len()
    }

    pub(crate) fn name(&self, owner: u32) -> Option<String> {
        self.names.get(owner as usize).cloned()
    }

    pub(crate) fn into_names(self) -> Vec<String> {
        self.names
    }

    /// Returns the own owner of an object of this class, and of this origin if it has one of its own.
    pub(crate) fn owner(&mut self, class: ClassId, origin: Option<u32>) -> Result<Code, StageError> {
        let Some(origin) = origin else {
            let known = self.by_class[class.index()];
            if known != Code::UNKNOWN {
                return Ok(known);
            }
            let origin = self.class_origin.get(class.index()).copied().unwrap_or(NOWHERE);
            let found = self.find(class, origin)?;
            self.by_class[class.index()] = found;
            return Ok(found);
        };
        if let Some(&known) = self.by_both.get(&(class, origin)) {
            return Ok(known);
        }
        let found = self.find(class, origin)?;
        self.reservation.grow(40)?;
        self.by_both.insert((class, origin), found);
        Ok(found)
    }

    /// Returns the owner of a function of this origin.
    pub(crate) fn owner_of_code(&mut self, origin: u32) -> Result<Code, StageError> {
        self.find(NO_CLASS, origin)
    }

    fn find(&mut self, class: ClassId, origin: u32) -> Result<Code, StageError> {
        let text = |id: u32| if id == u32::MAX { "".into() } else { self.strings.text(id as usize) };
        let origin = self.origins.get(origin as usize).copied();
        let class = if class == NO_CLASS { "".into() } else { text(self.class_name[class.index()].0) };
        let of = |part: fn(&Origin) -> u32| origin.as_ref().map_or("".into(), |origin| text(part(origin)));
        let (script, package, loader) = (of(|at| at.script), of(|at| at.package), of(|at| at.loader));
        let metadata = [&*class, &*script, &*package, &*loader];
        let (name, strength) = match self.rules.iter().find(|rule| rule.fits(metadata)) {
            Some(rule) => (rule.name.clone(), Strength::Rule),
            None if !self.packages || package.is_empty() => return Ok(Code::NOBODY),
            None if origin.is_some_and(|origin| origin.platform != 0) => (package.into_owned(), Strength::Platform),
            None => (package.into_owned(), Strength::Package),
        };
        Ok(Code::new(self.number(name)?, strength))
    }

    fn number(&mut self, name: String) -> Result<u32, StageError> {
        if let Some(&known) = self.by_name.get(&name) {
            return Ok(known);
        }
        let number = self.names.len() as u32;
        if number >= Code::MOST {
            return Err(StageError::Overflow("the number of owners"));
        }
        self.reservation.grow(112 + 2 * name.len() as u64)?;
        self.names.push(name.clone());
        self.by_name.insert(name, number);
        Ok(number)
    }
}

/// A rule with parsed patterns.
struct Rule {
    name: String,
    /// Patterns for class, script, package and loader.
    patterns: [Vec<Pattern>; 4],
}

impl Rule {
    fn new(rule: &OwnerRule) -> Self {
        // An invalid pattern matches nothing; the reader of the file rejects it.
        let ready = |texts: &[String]| texts.iter().filter_map(|text| Pattern::new(text).ok()).collect();
        let patterns = [&rule.class, &rule.script, &rule.package, &rule.loader].map(|texts| ready(texts));
        Self { name: rule.name.clone(), patterns }
    }

    /// Whether all patterns match. An empty name matches no pattern.
    fn fits(&self, metadata: [&str; 4]) -> bool {
        let fits = |patterns: &[Pattern], fact: &str| {
            patterns.is_empty() || !fact.is_empty() && patterns.iter().any(|pattern| pattern.matches(fact))
        };
        self.patterns.iter().zip(metadata).all(|(patterns, fact)| fits(patterns, fact))
    }
}
