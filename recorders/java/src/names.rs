//! Names of classes: from descriptors to source code form.

/// Converts a descriptor: `[Ljava/lang/String;` is `java.lang.String[]`.
///
/// A hidden class, such as that of a lambda expression, has an address behind its name. It is left out: equal programs
/// have equal names, and a program that makes new hidden classes all the time does not fill memory.
pub fn readable(descriptor: &[u8]) -> Vec<u8> {
    let depth = descriptor.iter().take_while(|&&byte| byte == b'[').count();
    let element = &descriptor[depth..];
    let name = match element {
        [b'L', name @ .., b';'] => name,
        b"B" => b"byte",
        b"C" => b"char",
        b"D" => b"double",
        b"F" => b"float",
        b"I" => b"int",
        b"J" => b"long",
        b"S" => b"short",
        b"Z" => b"boolean",
        other => other,
    };
    let hidden = [&b".0x"[..], b"/0x", b"+0x"].iter().find_map(|mark| {
        let at = name.windows(mark.len()).rposition(|part| part == *mark)?;
        name[at + mark.len()..].iter().all(u8::is_ascii_hexdigit).then_some(at)
    });
    let name = &name[..hidden.unwrap_or(name.len())];
    let mut readable: Vec<u8> = name.iter().map(|&byte| if byte == b'/' { b'.' } else { byte }).collect();
    (0..depth.min(255)).for_each(|_| readable.extend_from_slice(b"[]"));
    readable
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn classes_are_written_as_in_programs() {
        for (name, shown) in [
            ("Ljava/util/HashMap$Node;", "java.util.HashMap$Node"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("[[B", "byte[][]"),
            ("I", "int"),
            ("LMain$$Lambda.0x00007fab40007a08;", "Main$$Lambda"),
            ("Lshop/Main$$Lambda$14.0x0000000800c03000;", "shop.Main$$Lambda$14"),
            ("[LMain$$Lambda+0x1f;", "Main$$Lambda[]"),
            ("La.0xyz;", "a.0xyz"),
            ("", ""),
        ] {
            assert_eq!(String::from_utf8(readable(name.as_bytes())).unwrap(), shown);
        }
    }
}
