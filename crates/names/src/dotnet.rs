//! Names of .NET.

use crate::rules::Rule;
use crate::scan::{Edit, digits, drop_behind, drop_number, ends_in_identifier, goes_on, hex, rewrite, until_closed};

/// The rules.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "assemblies in generic arguments",
        matches: "version, culture and key of the assembly, and its name, behind a type in brackets",
        becomes: "nothing",
        examples: &[
            (
                "System.Collections.Generic.List`1[[Shop.Order, Shop, Version=1.4.0.0, Culture=neutral, PublicKeyToken=null]]",
                "System.Collections.Generic.List`1[[Shop.Order]]",
            ),
            ("Shop.Order, Shop, Version=1.4.0.0, Culture=neutral, PublicKeyToken=7cec85d7bea7798e", "Shop.Order"),
        ],
        apply: assemblies,
    },
    Rule {
        name: "tokens",
        matches: "tokens of metadata and ids of types behind a name",
        becomes: "nothing; the module stays",
        examples: &[
            ("<>c (System.Private.CoreLib 0x2000083)", "<>c (System.Private.CoreLib)"),
            ("Order (Shop 0x2000007) @ 0x7f2c1c3e5a28", "Order (Shop)"),
            ("[Shop.dll!0x02000012]", "[Shop.dll!#]"),
        ],
        apply: tokens,
    },
    Rule {
        name: "modules",
        matches: "identifiers of versions of modules, in braces or parentheses",
        becomes: "nothing",
        examples: &[("Shop {2f1c0a52-6d4e-4f0e-9d1b-0a1b2c3d4e5f}", "Shop")],
        apply: |text| {
            rewrite(text, " {", |_, after| {
                let closed = until_closed(after, '{', '}')?;
                (closed == 37).then_some(Edit { back: 0, put: "", forward: closed })
            })
        },
    },
    Rule {
        name: "closures, state machines, lambdas and local functions",
        matches: "the number behind the letter of what the compiler made: `c__DisplayClass`, `d__`, `b__`, `g__…|`, `o__`, `p__`, and of cached delegates, builders and hoisted variables",
        becomes: "nothing",
        examples: &[
            ("Shop.Cart+<>c__DisplayClass12_0", "Shop.Cart+<>c__DisplayClass"),
            ("<>c", "<>c"),
            ("<Run>d__7", "<Run>d"),
            ("<Items>d__3`1[System.String]", "<Items>d`1[System.String]"),
            ("<Main>g__Local|0_1", "<Main>g__Local"),
            ("<Main>b__0_1", "<Main>b"),
            ("<<Main>$>b__0_2", "<<Main>$>b"),
            ("<>9__4_0", "<>9"),
            ("<>o__2", "<>o"),
            ("<total>5__2", "<total>5"),
            ("<Name>k__BackingField", "<Name>k__BackingField"),
        ],
        apply: compiler_numbers,
    },
    Rule {
        name: "anonymous types",
        matches: "the number of an anonymous type, or of a delegate that the compiler made",
        becomes: "nothing",
        examples: &[
            ("<>f__AnonymousType0`2[System.String,System.Int32]", "<>f__AnonymousType`2[System.String,System.Int32]"),
            ("<>f__AnonymousDelegate3", "<>f__AnonymousDelegate"),
        ],
        apply: |text| {
            rewrite(text, "__Anonymous", |_, after| {
                let kind = after.bytes().take_while(u8::is_ascii_alphabetic).count();
                let number = digits(&after[kind..]);
                (number > 0).then(|| Edit {
                    back: 0,
                    put: if after.starts_with('D') { "__AnonymousDelegate" } else { "__AnonymousType" },
                    forward: kind + number,
                })
            })
        },
    },
    Rule {
        name: "types of one file",
        matches: "the hash of the file in names of file-local types",
        becomes: "nothing",
        examples: &[(
            "<Parsers>F5B41D4C0F3A2E6C9D7B8A1F0011223345B41D4C0F3A2E6C9D7B8A1F001122334__Reader",
            "<Parsers>F__Reader",
        )],
        apply: |text| {
            rewrite(text, ">F", |_, after| {
                drop_behind(">F", if hex(after) == 64 && after[64..].starts_with("__") { 64 } else { 0 })
            })
        },
    },
    Rule {
        name: "closures of F#",
        matches: "the line and the number behind `@`",
        becomes: "nothing; the `@` stays",
        examples: &[("Shop.total@12-1", "Shop.total@"), ("clo@48", "clo@")],
        apply: |text| {
            rewrite(text, "@", |before, after| {
                let line = digits(after);
                let more = after[line..].strip_prefix('-').map_or(0, |rest| digits(rest) + 1);
                drop_behind("@", if ends_in_identifier(before) { line + if line > 0 { more } else { 0 } } else { 0 })
            })
        },
    },
    Rule {
        name: "generated proxies and assemblies",
        matches: "numbers behind `Proxy_`, behind the readers and writers of `XmlSerializer`, and those of emitted assemblies",
        becomes: "nothing",
        examples: &[
            ("Castle.Proxies.IOrdersProxy_3", "Castle.Proxies.IOrdersProxy"),
            ("Castle.Proxies.OrderProxy", "Castle.Proxies.OrderProxy"),
            (
                "Microsoft.Xml.Serialization.GeneratedAssembly.XmlSerializationWriter12",
                "Microsoft.Xml.Serialization.GeneratedAssembly.XmlSerializationWriter",
            ),
        ],
        apply: generated,
    },
];

fn assemblies(text: &str) -> Option<String> {
    rewrite(text, ", Version=", |before, after| {
        let name = before.rfind([',', '[']).filter(|&at| before[at..].starts_with(", "))?;
        let end = after.find(']').unwrap_or(after.len());
        Some(Edit { back: before.len() - name, put: "", forward: end })
    })
}

fn tokens(text: &str) -> Option<String> {
    let number = |after: &str| Some(hex(after)).filter(|&length| length > 0 && !goes_on(&after[length..]));
    rewrite(text, " @ 0x", |_, after| Some(Edit { back: 0, put: "", forward: number(after)? }))
        .or_else(|| rewrite(text, "!0x", |_, after| Some(Edit { back: 0, put: "!#", forward: number(after)? })))
        .or_else(|| {
            rewrite(text, " 0x", |_, after| {
                let length = number(after).filter(|&length| after[length..].starts_with(')'))?;
                Some(Edit { back: 0, put: "", forward: length })
            })
        })
}

fn compiler_numbers(text: &str) -> Option<String> {
    rewrite(text, ">", |_, after| {
        let letter = after.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let name = after[letter..].strip_prefix("__")?;
        let class = if name.starts_with("DisplayClass") { "DisplayClass".len() } else { 0 };
        if let Some(bar) = name.find('|').filter(|&bar| letter == 1 && !name[..bar].contains(['<', '>', '.'])) {
            let number = numbers(&name[bar + 1..]);
            let kept = &text[text.len() - after.len() - 1..][..1 + letter + 2 + bar];
            return (number > 0).then_some(Edit { back: 0, put: kept, forward: letter + 3 + bar + number });
        }
        let number = numbers(&name[class..]);
        if number == 0 || goes_on(&name[class + number..]) {
            return None;
        }
        let kept = if class > 0 { 1 + letter + 2 + class } else { 1 + letter };
        let kept = &text[text.len() - after.len() - 1..][..kept];
        Some(Edit { back: 0, put: kept, forward: letter + 2 + class + number })
    })
}

/// Length of a leading `7`, `0_1`, `12_0`.
fn numbers(text: &str) -> usize {
    let first = digits(text);
    let second = text[first..].strip_prefix('_').map_or(0, digits);
    if first > 0 && second > 0 { first + 1 + second } else { first }
}

fn generated(text: &str) -> Option<String> {
    drop_number(text, "Proxy_", "Proxy")
        .or_else(|| drop_number(text, "XmlSerializationWriter", "XmlSerializationWriter"))
        .or_else(|| drop_number(text, "XmlSerializationReader", "XmlSerializationReader"))
}
