//! Names of Java virtual machines.

use crate::rules::Rule;
use crate::scan::{Edit, digits, drop_behind, goes_on, hex, rewrite, until_closed, word};

/// The rules.
pub(crate) const RULES: &[Rule] = &[
    Rule {
        name: "loaders",
        matches: "class loaders of the platform and of the class path; addresses of others",
        becomes: "nothing; the class of other loaders stays",
        examples: &[
            ("App$Session (jdk.internal.loader.ClassLoaders$AppClassLoader)", "App$Session"),
            ("App$Session (sun.misc.Launcher$AppClassLoader)", "App$Session"),
            (
                "shop.Cart (org.apache.catalina.loader.ParallelWebappClassLoader @ 0x7011a3c8)",
                "shop.Cart (org.apache.catalina.loader.ParallelWebappClassLoader)",
            ),
        ],
        apply: loaders,
    },
    Rule {
        name: "lambdas",
        matches: "`$$Lambda` with its number and address, as all versions write them",
        becomes: "`$$Lambda`",
        examples: &[
            ("App$$Lambda$14/0x0000000840066840", "App$$Lambda"),
            ("App$$Lambda$1+0x00007f58a9002800", "App$$Lambda"),
            ("App$$Lambda/0x000079f1a8000a00", "App$$Lambda"),
            ("App$$Lambda.0x0000000131040400", "App$$Lambda"),
            ("App$$Lambda$7/1418481495", "App$$Lambda"),
        ],
        apply: |text| rewrite(text, "$$Lambda", |_, after| drop_behind("$$Lambda", number_and_address(after))),
    },
    Rule {
        name: "hidden classes",
        matches: "an address behind the name of a class",
        becomes: "nothing",
        examples: &[
            ("shop.Cart/0x0000000800c03000", "shop.Cart"),
            ("java.lang.invoke.LambdaForm$MH+0x00007f58a9001000", "java.lang.invoke.LambdaForm$MH"),
            ("java.lang.invoke.LambdaForm$DMH/1151020327", "java.lang.invoke.LambdaForm$DMH"),
            ("java.lang.invoke.BoundMethodHandle$Species_LLL", "java.lang.invoke.BoundMethodHandle$Species_LLL"),
        ],
        apply: hidden_classes,
    },
    Rule {
        name: "proxies",
        matches: "`$Proxy` with its number, and the package that the virtual machine makes for it",
        becomes: "`$Proxy`",
        examples: &[("$Proxy12", "$Proxy"), ("jdk.proxy2.$Proxy12", "$Proxy"), ("com.sun.proxy.$Proxy7", "$Proxy")],
        apply: proxies,
    },
    Rule {
        name: "accessors",
        matches: "numbers of accessors that reflection generates",
        becomes: "nothing",
        examples: &[
            ("jdk.internal.reflect.GeneratedMethodAccessor12", "jdk.internal.reflect.GeneratedMethodAccessor"),
            ("sun.reflect.GeneratedConstructorAccessor3", "sun.reflect.GeneratedConstructorAccessor"),
            (
                "jdk.internal.reflect.GeneratedSerializationConstructorAccessor1",
                "jdk.internal.reflect.GeneratedSerializationConstructorAccessor",
            ),
        ],
        apply: |text| rewrite(text, "Accessor", |_, after| drop_behind("Accessor", digits(after))),
    },
    Rule {
        name: "generated subclasses",
        matches: "the hash or number behind the mark of CGLIB, Spring, Byte Buddy, Hibernate, Mockito, Javassist",
        becomes: "nothing; the mark stays",
        examples: &[
            ("shop.Orders$$EnhancerBySpringCGLIB$$a1b2c3d", "shop.Orders$$EnhancerBySpringCGLIB"),
            ("shop.Orders$$FastClassBySpringCGLIB$$deadbee", "shop.Orders$$FastClassBySpringCGLIB"),
            ("shop.Orders$$SpringCGLIB$$0", "shop.Orders$$SpringCGLIB"),
            ("shop.Order$ByteBuddy$xY3kQ9aB", "shop.Order$ByteBuddy"),
            ("shop.Order$HibernateProxy$Qf2Zr8aK", "shop.Order$HibernateProxy"),
            ("shop.Order$MockitoMock$1749206518", "shop.Order$MockitoMock"),
            ("shop.Order_$$_jvst4c8_1a", "shop.Order_$$_jvst"),
            ("shop.Order_$$_javassist_12", "shop.Order_$$_javassist"),
        ],
        apply: generated_subclasses,
    },
    Rule {
        name: "numbered classes",
        matches: "numbers of anonymous and local classes, of lambdas and closures of Kotlin, Scala and Groovy, of functions of Clojure: those behind `$`, `closure` or `fn__`. They shift when code is added before",
        becomes: "`#`",
        examples: &[
            ("App$1", "App$#"),
            ("App$3$1", "App$#$#"),
            ("App$1Local", "App$#Local"),
            ("shop.OrdersKt$main$2", "shop.OrdersKt$main$#"),
            ("shop.Orders$$anonfun$total$1", "shop.Orders$$anonfun$total$#"),
            ("shop.Orders$$anon$2", "shop.Orders$$anon$#"),
            ("Jenkinsfile$_run_closure3", "Jenkinsfile$_run_closure#"),
            ("shop.core$fn__2318", "shop.core$fn__#"),
            ("java.util.concurrent.ConcurrentHashMap$Node", "java.util.concurrent.ConcurrentHashMap$Node"),
        ],
        apply: numbered,
    },
];

const PLATFORM_LOADERS: [&str; 2] = ["jdk.internal.loader.ClassLoaders$", "sun.misc.Launcher$"];

/// Whether a class is a loader of the platform or of the class path.
pub(crate) fn is_platform_loader(class: &str) -> bool {
    PLATFORM_LOADERS.iter().any(|loader| class.starts_with(loader))
}

fn loaders(text: &str) -> Option<String> {
    rewrite(text, " (", |_, after| {
        let closed = until_closed(after, '(', ')')?;
        let loader = &after[..closed - 1];
        if is_platform_loader(loader) {
            return Some(Edit { back: 0, put: "", forward: closed });
        }
        let class = loader.find(" @ 0x").filter(|&at| hex(&loader[at + 5..]) == loader.len() - at - 5)?;
        // Keeps the marker and the text up to the address.
        let whole = text.len() - after.len() - 2;
        Some(Edit { back: 0, put: &text[whole..whole + 2 + class], forward: closed - 1 })
    })
}

/// Length of a leading `$14/0x00…`, `+0x…`, `/0x…`, `.0x…`, `$7/1418…`.
fn number_and_address(text: &str) -> usize {
    let number = text.strip_prefix('$').map_or(0, |rest| digits(rest) + 1);
    let number = if number == 1 { 0 } else { number };
    number + address(&text[number..])
}

/// Length of a leading address after a name.
fn address(text: &str) -> usize {
    let Some(rest) = text.strip_prefix(['/', '+', '.']) else { return 0 };
    match rest.strip_prefix("0x").map(|rest| (rest, hex(rest))) {
        Some((rest, length @ 4..)) if !goes_on(&rest[length..]) => 3 + length,
        Some(_) => 0,
        None if !text.starts_with('/') => 0,
        None => {
            if digits(rest) > 4 {
                1 + digits(rest)
            } else {
                0
            }
        }
    }
}

fn hidden_classes(text: &str) -> Option<String> {
    let of = |text: &str, marker| {
        rewrite(text, marker, |before, after| {
            let start = text.len() - after.len() - marker.len();
            let forward = address(&text[start..]);
            (forward > 0 && !before.is_empty()).then(|| Edit { back: 0, put: "", forward: forward - marker.len() })
        })
    };
    of(text, "/").or_else(|| of(text, "+")).or_else(|| of(text, ".0x"))
}

fn proxies(text: &str) -> Option<String> {
    rewrite(text, "$Proxy", |before, after| {
        let package = ["com.sun.proxy.", "jdk.proxy"].iter().find_map(|start| {
            let at = before.rfind(start)?;
            let number = digits(&before[at + start.len()..]);
            let end = &before[at + start.len() + number..];
            (end.is_empty() || end == ".").then_some(before.len() - at)
        });
        let forward = if goes_on(&after[digits(after)..]) { 0 } else { digits(after) };
        (package.is_some() || forward > 0).then(|| Edit { back: package.unwrap_or(0), put: "$Proxy", forward })
    })
}

fn generated_subclasses(text: &str) -> Option<String> {
    let marked = |text: &str, marker: &'static str, behind: &str| {
        rewrite(text, marker, |_, after| {
            let rest = after.strip_prefix(behind)?;
            let length = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            drop_behind(marker, if length > 0 { behind.len() + length } else { 0 })
        })
    };
    marked(text, "CGLIB", "$$")
        .or_else(|| marked(text, "$ByteBuddy", "$"))
        .or_else(|| marked(text, "$HibernateProxy", "$"))
        .or_else(|| marked(text, "$MockitoMock", "$"))
        .or_else(|| marked(text, "_$$_jvst", ""))
        .or_else(|| marked(text, "_$$_javassist", "_"))
}

fn numbered(text: &str) -> Option<String> {
    let behind = |text: &str, marker: &'static str, put: &'static str| {
        rewrite(text, marker, |_, after| {
            let number = digits(after);
            // `Foo$3D` is a human-made name; a local class begins with a capital and goes on.
            let is_name = word(after) == number + 1 && number > 0;
            (number > 0 && !is_name).then_some(Edit { back: 0, put, forward: number })
        })
    };
    behind(text, "$", "$#").or_else(|| behind(text, "closure", "closure#")).or_else(|| behind(text, "fn__", "fn__#"))
}
