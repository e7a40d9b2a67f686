//! Conditions on a secret besides its pattern: check digits, and structure.

use base64::Engine;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;

/// A condition on the secret of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The number of a payment card: issuer, length and the check digit of Luhn.
    Card,
    /// An IBAN: length by country where known, remainder of 97.
    Iban,
    /// A JSON Web Token: a header with `alg`.
    Jwt,
    /// Base64 of a user, a colon and a password.
    Basic,
    /// A mail: not the name of a file, of a package or of a program's part.
    Mail,
    /// Letters and digits.
    Mixed,
}

impl Check {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Card, Self::Iban, Self::Jwt, Self::Basic, Self::Mail, Self::Mixed];

    /// Name in files of rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Iban => "iban",
            Self::Jwt => "jwt",
            Self::Basic => "basic",
            Self::Mail => "mail",
            Self::Mixed => "mixed",
        }
    }

    /// Whether a secret satisfies it.
    pub(crate) fn accepts(self, secret: &[u8]) -> bool {
        match self {
            Self::Card => is_card(secret),
            Self::Iban => is_iban(secret),
            Self::Jwt => is_jwt(secret),
            Self::Basic => is_basic(secret),
            Self::Mail => is_mail(secret),
            Self::Mixed => secret.iter().any(u8::is_ascii_digit) && secret.iter().any(u8::is_ascii_alphabetic),
        }
    }
}

/// Beginnings of card numbers from and to, and their lengths.
const ISSUERS: [(u32, u32, &[usize]); 10] = [
    (4000, 4999, &[13, 16, 19]),
    (5100, 5599, &[16]),
    (2221, 2720, &[16]),
    (3400, 3499, &[15]),
    (3700, 3799, &[15]),
    (6011, 6011, &[16, 19]),
    (6440, 6599, &[16, 19]),
    (3528, 3589, &[16, 19]),
    (3000, 3059, &[14]),
    (3600, 3999, &[14]),
];

fn is_card(secret: &[u8]) -> bool {
    let digits: Vec<u32> =
        secret.iter().filter(|byte| byte.is_ascii_digit()).map(|byte| u32::from(byte - b'0')).collect();
    let Some(first) = digits.get(..4) else { return false };
    let start = first.iter().fold(0, |number, digit| number * 10 + digit);
    let is_issued =
        |&(from, to, lengths): &(u32, u32, &[usize])| (from..=to).contains(&start) && lengths.contains(&digits.len());
    let double = |digit: u32| digit * 2 / 10 + digit * 2 % 10;
    let sum: u32 =
        digits.iter().rev().enumerate().map(|(at, &digit)| if at % 2 == 1 { double(digit) } else { digit }).sum();
    let is_varied = digits.iter().any(|&digit| digit != digits[digits.len() - 1]);
    ISSUERS.iter().any(is_issued) && sum.is_multiple_of(10) && is_varied
}

/// Lengths of IBANs by country; others are 15 to 34 characters long.
const LENGTHS: [(&[u8; 2], usize); 24] = [
    (b"AT", 20),
    (b"BE", 16),
    (b"CH", 21),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DK", 18),
    (b"EE", 20),
    (b"ES", 24),
    (b"FI", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GR", 27),
    (b"HU", 28),
    (b"IE", 22),
    (b"IT", 27),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"NL", 18),
    (b"NO", 15),
    (b"PL", 28),
    (b"PT", 25),
    (b"RO", 24),
    (b"SE", 24),
];

fn is_iban(secret: &[u8]) -> bool {
    let text: Vec<u8> = secret.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    let Some(country) = text.first_chunk::<2>() else { return false };
    let is_long = match LENGTHS.iter().find(|(of, _)| *of == country) {
        Some((_, length)) => text.len() == *length,
        None => (15..=34).contains(&text.len()),
    };
    let rotated = text[4.min(text.len())..].iter().chain(&text[..4.min(text.len())]);
    let rest = rotated.fold(0u32, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        _ => (rest * 100 + u32::from(byte.to_ascii_uppercase() - b'A') + 10) % 97,
    });
    is_long && rest == 1
}

/// Base64 with or without padding.
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let is_for_urls = text.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let letters = if is_for_urls { &alphabet::URL_SAFE } else { &alphabet::STANDARD };
    GeneralPurpose::new(letters, config).decode(text).ok()
}

fn is_jwt(secret: &[u8]) -> bool {
    let header = secret.split(|&byte| byte == b'.').next().and_then(decoded);
    let value = header.and_then(|header| serde_json::from_slice::<Value>(&header).ok());
    value.is_some_and(|value| value.get("alg").is_some_and(Value::is_string))
}

fn is_basic(secret: &[u8]) -> bool {
    let text = decoded(secret).unwrap_or_default();
    let is_text = text.iter().all(|byte| (b' '..0x7f).contains(byte));
    let colon = text.iter().position(|&byte| byte == b':');
    is_text && colon.is_some_and(|colon| colon + 1 < text.len())
}

/// Top-level domains of more than two letters that mails often have, and those of networks inside of organizations.
const DOMAINS: [&str; 48] = [
    "com",
    "org",
    "net",
    "edu",
    "gov",
    "mil",
    "int",
    "info",
    "biz",
    "name",
    "pro",
    "museum",
    "aero",
    "coop",
    "jobs",
    "mobi",
    "travel",
    "cat",
    "tel",
    "app",
    "dev",
    "cloud",
    "online",
    "shop",
    "site",
    "store",
    "tech",
    "xyz",
    "email",
    "company",
    "group",
    "agency",
    "digital",
    "solutions",
    "services",
    "bank",
    "health",
    "school",
    "academy",
    "systems",
    "network",
    "software",
    "berlin",
    "london",
    "paris",
    "local",
    "lan",
    "corp",
];

/// Domains of documents.
const OF_DOCUMENTS: [&str; 4] = ["example.com", "example.org", "example.net", "domain.com"];

/// Endings of files that no country has as its domain.
const ENDINGS: [&str; 3] = ["js", "ts", "gz"];

fn is_mail(secret: &[u8]) -> bool {
    let text = String::from_utf8_lossy(secret).to_ascii_lowercase();
    let Some((user, domain)) = text.rsplit_once('@') else { return false };
    let last = domain.rsplit('.').next().unwrap_or_default();
    let is_known = DOMAINS.contains(&last) || (last.len() == 2 && !ENDINGS.contains(&last));
    // Repositories are named so: git@host:path.
    user != "git" && is_known && !OF_DOCUMENTS.contains(&domain) && !user.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_are_checked() {
        let accepts = |check: Check, text: &str| check.accepts(text.as_bytes());
        // Numbers that issuers publish for tests.
        for card in
            ["4111 1111 1111 1111", "378282246310005", "6011-1111-1111-1117", "3530111333300000", "30569309025904"]
        {
            assert!(accepts(Check::Card, card), "{card}");
        }
        for card in ["4111111111111112", "9111111111111111", "0000000000000000", "411111111111", ""] {
            assert!(!accepts(Check::Card, card), "{card}");
        }
        assert!(accepts(Check::Iban, "GB82 WEST 1234 5698 7654 32") && accepts(Check::Iban, "DE89370400440532013000"));
        for iban in ["DE89370400440532013001", "DE8937040044053201300", "", "DE", "GB82"] {
            assert!(!accepts(Check::Iban, iban), "{iban}");
        }
    }

    #[test]
    fn structure_is_checked() {
        let accepts = |check: Check, text: &str| check.accepts(text.as_bytes());
        assert!(accepts(Check::Jwt, "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x"));
        assert!(!accepts(Check::Jwt, "abcdef.ghi.jkl") && !accepts(Check::Jwt, ""));
        assert!(accepts(Check::Basic, "YWxpY2U6aHVudGVyMg==") && accepts(Check::Basic, "YWxpY2U6aHVudGVyMg"));
        assert!(!accepts(Check::Basic, "YWxpY2U=") && !accepts(Check::Basic, "authentication"));
        for mail in ["anna.berg@gmail.com", "a@shop.example.org", "b+c@web.de", "d@ulm.museum"] {
            assert!(accepts(Check::Mail, mail), "{mail}");
        }
        for text in ["git@github.com", "icon@2x.png", "a@example.com", "value@this.state", "pkg@bundle.js", "a"] {
            assert!(!accepts(Check::Mail, text), "{text}");
        }
        assert!(accepts(Check::Mixed, "a1") && !accepts(Check::Mixed, "ab") && !accepts(Check::Mixed, "12"));
    }
}
