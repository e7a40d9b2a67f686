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
                "type" => {
                    let kinds = given.as_array().cloned().unwrap_or_else(|| vec![given.clone()]);
                    if !kinds.iter().any(|kind| is(value, kind)) {
                        return Err(format!("{at}: {} is no {given}", brief(value)));
                    }
                }
                "const" if value != given => return Err(format!("{at}: {} is not {given}", brief(value))),
                "enum" if !given.as_array().is_some_and(|words| words.contains(value)) => {
                    return Err(format!("{at}: {} is none of {given}", brief(value)));
                }
                "const" | "enum" => {}
                "required" => {
                    let names = given.as_array().into_iter().flatten().filter_map(Value::as_str);
                    let mut missing = names.filter(|name| value.is_object() && value.get(name).is_none());
                    if let Some(name) = missing.next() {
                        return Err(format!("{at}.{name} is missing"));
                    }
                }
                "properties" => {
                    for (name, schema) in given.as_object().into_iter().flatten() {
                        if let Some(member) = value.get(name) {
                            self.check(member, schema, &format!("{at}.{name}"))?;
                        }
                    }
                }
                "additionalProperties" => self.check_others(value, schema, at)?,
                "items" => {
                    let first = schema["prefixItems"].as_array().map_or(0, Vec::len);
                    for (index, item) in value.as_array().into_iter().flatten().enumerate().skip(first) {
                        self.check(item, given, &format!("{at}[{index}]"))?;
                    }
                }
                "prefixItems" => {
                    for (item, schema) in
                        value.as_array().into_iter().flatten().zip(given.as_array().into_iter().flatten())
                    {
                        self.check(item, schema, at)?;
                    }
                }
                "minItems" | "maxItems" => {
                    let length = value.as_array().map_or(0, Vec::len) as u64;
                    let bound = given.as_u64().unwrap_or_default();
                    if value.is_array() && if word == "minItems" { length < bound } else { length > bound } {
                        return Err(format!("{at}: {length} items, {word} {bound}"));
                    }
                }
                "allOf" => {
                    given.as_array().into_iter().flatten().try_for_each(|part| self.check_part(value, part, at))?
                }
                "anyOf" | "oneOf" => {
                    let parts = given.as_array().into_iter().flatten();
                    let problems: Vec<String> =
                        parts.clone().filter_map(|part| self.check_part(value, part, at).err()).collect();
                    let fitting = parts.count() - problems.len();
                    if fitting == 0 || (word == "oneOf" && fitting > 1) {
                        let problems = problems.join("; ");
                        return Err(format!("{at}: {fitting} of {word} fit {}: {problems}", brief(value)));
                    }
                }
                remark if REMARKS.contains(&remark) => {}
                other => return Err(format!("{at}: this check does not know the keyword {other}")),
            }
        }
        Ok(())
    }

    /// Members beside the named ones.
    fn check_others(&self, value: &Value, schema: &'a Value, at: &str) -> Result<(), String> {
        for (name, member) in value.as_object().into_iter().flatten() {
            if schema["properties"].get(name).is_none() {
                self.check(member, &schema["additionalProperties"], &format!("{at}.{name}"))?;
            }
        }
        Ok(())
    }

    fn target(&self, schema: &Value) -> Option<&'a Value> {
        self.root.pointer(schema["$ref"].as_str()?.strip_prefix('#')?)
    }
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
