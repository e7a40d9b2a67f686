//! A check of JSON against a JSON Schema, of the keywords that heaplake's schemas use. Stricter than the standard: a
//! member that no part of the schema describes is an error, unless the schema says that there may be others.

use serde_json::Value;
use std::collections::BTreeSet;

/// Fails unless a value fits the schema of a name in a document with those of many values.
pub fn assert_fits(value: &Value, name: &str, document: &Value) {
    let schema = document["properties"].get(name).unwrap_or_else(|| panic!("no schema of {name}"));
    if let Err(problem) = (Document { root: document }).check(value, schema, name) {
        panic!("{problem}");
    }
}

/// Keywords that say nothing about values, or only bound numbers.
const REMARKS: &[&str] =
    &["$defs", "$schema", "default", "description", "format", "maximum", "minimum", "title", "uniqueItems"];

struct Document<'a> {
    root: &'a Value,
}

impl<'a> Document<'a> {
    fn check(&self, value: &Value, schema: &'a Value, at: &str) -> Result<(), String> {
        self.check_part(value, schema, at)?;
        let Some(members) = value.as_object() else { return Ok(()) };
        let mut described = BTreeSet::new();
        if self.describes(value, schema, &mut described) {
            return Ok(());
        }
        match members.keys().find(|name| !described.contains(name.as_str())) {
            Some(name) => Err(format!("{at}.{name}: the schema does not describe it")),
            None => Ok(()),
        }
    }

    /// Adds the members that a schema describes for an object; true if it allows any.
    fn describes(&self, value: &Value, schema: &'a Value, names: &mut BTreeSet<&'a str>) -> bool {
        let Some(keywords) = schema.as_object() else { return true };
        let own = schema["properties"].as_object();
        names.extend(own.into_iter().flatten().map(|(name, _)| name.as_str()));
        let is_plain =
            own.is_none() && ["$ref", "allOf", "anyOf", "oneOf"].iter().all(|word| !keywords.contains_key(*word));
        let mut any = is_plain || schema["additionalProperties"].is_object() || schema["additionalProperties"] == true;
        if let Some(target) = self.target(schema) {
            any |= self.describes(value, target, names);
        }
        let all = schema["allOf"].as_array().into_iter().flatten();
        let some = ["anyOf", "oneOf"].iter().filter_map(|word| schema[*word].as_array()).flatten();
        let fitting = some.filter(|part| self.check_part(value, part, "$").is_ok());
        for part in all.chain(fitting) {
            any |= self.describes(value, part, names);
        }
        any
    }

    fn check_part(&self, value: &Value, schema: &'a Value, at: &str) -> Result<(), String> {
        let Some(keywords) = schema.as_object() else {
            return if *schema == true { Ok(()) } else { Err(format!("{at}: nothing fits {schema}")) };
        };
        for (word, given) in keywords {
            match word.as_str() {
                "$ref" => self.check(value, self.target(schema).ok_or_else(|| format!("{given}?"))?, at)?,
                "type" | "const" | "enum" if !is_one(value, word, given) => {
                    return Err(format!("{at}: {} does not fit {word} {given}", brief(value)));
                }
                "type" | "const" | "enum" => {}
                "required" => {
                    let mut names = given.as_array().into_iter().flatten().filter_map(Value::as_str);
                    if let Some(name) = names.find(|name| value.is_object() && value.get(name).is_none()) {
                        return Err(format!("{at}.{name} is missing"));
                    }
                }
                "properties" | "additionalProperties" => self.check_members(value, schema, at)?,
                "items" | "prefixItems" => self.check_items(value, schema, at)?,
                "minItems" | "maxItems" => check_length(value, word, given, at)?,
                "allOf" | "anyOf" | "oneOf" => self.check_parts(value, word, given, at)?,
                remark if REMARKS.contains(&remark) => {}
                other => return Err(format!("{at}: this check does not know the keyword {other}")),
            }
        }
        Ok(())
    }

    /// Members of an object, the named ones and those beside them.
    fn check_members(&self, value: &Value, schema: &'a Value, at: &str) -> Result<(), String> {
        for (name, member) in value.as_object().into_iter().flatten() {
            let of_name = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
            if let Some(schema) = of_name {
                self.check(member, schema, &format!("{at}.{name}"))?;
            }
        }
        Ok(())
    }

    /// Items of a list: the first ones have schemas of their own.
    fn check_items(&self, value: &Value, schema: &'a Value, at: &str) -> Result<(), String> {
        let first = schema["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            if let Some(schema) = first.get(index).or_else(|| schema.get("items")) {
                self.check(item, schema, &format!("{at}[{index}]"))?;
            }
        }
        Ok(())
    }

    /// Schemas that all, some or exactly one of must fit.
    fn check_parts(&self, value: &Value, word: &str, parts: &'a Value, at: &str) -> Result<(), String> {
        let parts = parts.as_array().map_or(&[][..], Vec::as_slice);
        let problems: Vec<String> = parts.iter().filter_map(|part| self.check_part(value, part, at).err()).collect();
        let fitting = parts.len() - problems.len();
        let is_right = match word {
            "allOf" => problems.is_empty(),
            "oneOf" => fitting == 1,
            _ => fitting > 0,
        };
        if is_right { Ok(()) } else { Err(format!("{at}: {fitting} of {word} fit {}: {problems:?}", brief(value))) }
    }

    fn target(&self, schema: &Value) -> Option<&'a Value> {
        self.root.pointer(schema["$ref"].as_str()?.strip_prefix('#')?)
    }
}

/// Whether a value is of a type, a constant or one of some.
fn is_one(value: &Value, word: &str, given: &Value) -> bool {
    match (word, given.as_array()) {
        ("const", _) => value == given,
        ("type", Some(kinds)) => kinds.iter().any(|kind| is(value, kind)),
        ("type", None) => is(value, given),
        (_, words) => words.is_some_and(|words| words.contains(value)),
    }
}

fn check_length(value: &Value, word: &str, bound: &Value, at: &str) -> Result<(), String> {
    let (Some(items), Some(bound)) = (value.as_array(), bound.as_u64()) else { return Ok(()) };
    let length = items.len() as u64;
    let fits = if word == "minItems" { length >= bound } else { length <= bound };
    if fits { Ok(()) } else { Err(format!("{at}: {length} items, {word} {bound}")) }
}

/// The beginning of a value.
fn brief(value: &Value) -> String {
    value.to_string().chars().take(200).collect()
}

fn is(value: &Value, kind: &Value) -> bool {
    match kind.as_str() {
        Some("array") => value.is_array(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("null") => value.is_null(),
        Some("number") => value.is_number(),
        Some("object") => value.is_object(),
        Some("string") => value.is_string(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fits(value: &Value, schema: &Value) -> bool {
        (Document { root: schema }).check(value, schema, "$").is_ok()
    }

    #[test]
    fn values_that_do_not_fit_are_found() {
        let schema = json!({
            "type": "object",
            "properties": {"n": {"type": ["integer", "null"]}, "list": {"type": "array", "items": {"$ref": "#/$defs/Item"}}},
            "required": ["n"],
            "$defs": {"Item": {"oneOf": [
                {"type": "object", "properties": {"kind": {"const": "a"}, "of": {"type": "string"}}, "required": ["kind"]},
                {"type": "object", "properties": {"kind": {"const": "b"}}, "required": ["kind"]},
            ]}},
        });
        assert!(fits(&json!({"n": 1, "list": [{"kind": "a", "of": "x"}, {"kind": "b"}]}), &schema));
        assert!(fits(&json!({"n": null}), &schema));
        for wrong in [
            json!([]),
            json!({}),
            json!({"n": "1"}),
            json!({"n": 1, "other": 1}),
            json!({"n": 1, "list": [{"kind": "c"}]}),
            json!({"n": 1, "list": [{"kind": "b", "of": "x"}]}),
            json!({"n": 1, "list": [{"kind": "a", "of": 1}]}),
        ] {
            assert!(!fits(&wrong, &schema), "{wrong}");
        }
    }
}
