//! Near misses: texts that look like secrets and are none.

use super::item::{Item, items};
use super::random::{ALPHANUMERIC, BASE64, DIGITS, HEX, Random, base64, luhn};

type Made = (&'static str, &'static str, String, String);

/// The near misses.
pub fn misses() -> Vec<Item> {
    let mut random = Random::new(20_240_502);
    let mut texts: Vec<Made> = Vec::new();
    let mut add = |kind, text: String| texts.push((kind, "value", text, String::new()));
    (0..15).for_each(|_| identifiers(&mut random, &mut add));
    (0..10).for_each(|at| numbers(&mut random, at, &mut add));
    (0..8).for_each(|at| documents(&mut random, at, &mut add));
    names(&mut random, &mut add);
    examples(&mut add);
    code(&mut add);
    fields(&mut random, &mut texts);
    items("Miss", texts)
}

fn identifiers(random: &mut Random, add: &mut impl FnMut(&'static str, String)) {
    let uuid = random.of(HEX, 32);
    let parts = [&uuid[..8], &uuid[8..12], &uuid[12..16], &uuid[16..20], &uuid[20..]];
    add("uuid", parts.join("-"));
    add("git hash", random.of(HEX, 40));
    add("sha-256", format!("sha256:{}", random.of(HEX, 64)));
    add("etag", format!("W/\"{}-{}\"", random.of(HEX, 4), random.of(ALPHANUMERIC, 27)));
}

fn numbers(random: &mut Random, at: usize, add: &mut impl FnMut(&'static str, String)) {
    let card = luhn(&format!("4{}", random.of(DIGITS, 14)));
    let wrong = format!("{}{}", &card[..15], (card.as_bytes()[15] - b'0' + 3) % 10);
    add("order number", wrong.clone());
    add("order number in a text", format!("order {wrong} was shipped"));
    add("digits of a fraction", format!("0.{card}"));
    add("longer number", format!("{card}{}", random.of(DIGITS, 5)));
    add("part of hexadecimal digits", format!("a{card}f{}", random.of(HEX, 15)));
    add("other issuer", luhn(&format!("9{}", random.of(DIGITS, 14))));
    add("iban with a wrong check", format!("DE{:02}{}", 90 + at, random.of(DIGITS, 18)));
    add("time", format!("{}", 1_714_550_000_000u64 + random.number(1_000_000_000)));
}

fn documents(random: &mut Random, at: usize, add: &mut impl FnMut(&'static str, String)) {
    let image = random.of(BASE64, 800);
    add("image", format!("data:image/png;base64,iVBORw0KGgo{image}=="));
    add("integrity", format!("sha512-{}==", random.of(BASE64, 86)));
    add("certificate", format!("-----BEGIN CERTIFICATE-----\n{image}\n-----END CERTIFICATE-----"));
    add("public key", format!("-----BEGIN PUBLIC KEY-----\n{image}\n-----END PUBLIC KEY-----"));
    add("parts with dots", format!("{}.{}.{}", random.of(ALPHANUMERIC, 20), random.of(ALPHANUMERIC, 30), at));
    add("url with a port", format!("https://host{at}.internal:8443/path/a@b?x=1"));
    add("url with a user", format!("ssh://git@git.internal:22/shop/app{at}.git"));
    add("base64 text", base64(format!("the quick brown fox {at} jumps over the lazy dog").as_bytes()));
}

fn names(random: &mut Random, add: &mut impl FnMut(&'static str, String)) {
    for at in 0..12 {
        let (word, number) = (random.word(), random.number(20));
        add("package with a version", format!("{word}@{number}.{at}.3"));
        add("path of a package", format!("/node_modules/.pnpm/{word}@{at}.2.1/node_modules/{word}/index.js"));
    }
    for name in ["icon@2x.png", "sprite@3x.webp", "@types/node@20.1.0", "@scope/pkg@latest", "foo@workspace:*"] {
        add("name with an at sign", name.to_owned());
    }
    for version in
        ["1.2.3-beta.4+build.5", "v20.11.1", "2024.05.01-rc1", "jdk-17.0.15+6-Debian-1deb12u1", "10.0.19045.4291"]
    {
        add("version", version.to_owned());
    }
}

fn examples(add: &mut impl FnMut(&'static str, String)) {
    let key = |start: &str, end: &str| format!("{start}{end}");
    let texts = [
        key("AKIA", "IOSFODNN7EXAMPLE"),
        format!("aws_secret_access_key = {}", key("wJalrXUtnFEMI/K7MDENG/", "bPxRfiCYEXAMPLEKEY")),
        key("ghp_", &"x".repeat(36)),
        key("glpat-", &"x".repeat(20)),
        key("sk_live_", &"0".repeat(24)),
        key("AIza", &"x".repeat(35)),
        key("npm_", &"0".repeat(36)),
        "password=${DB_PASSWORD}".to_owned(),
        "password={{ vault_password }}".to_owned(),
        "password=<your password>".to_owned(),
        "password=changeme".to_owned(),
        "password=********".to_owned(),
        "password: xxxxxxxx".to_owned(),
        "passwd=%s&user=%s".to_owned(),
        "api_key=YOUR_API_KEY".to_owned(),
        "access_token=process.env.ACCESS_TOKEN".to_owned(),
        "Authorization: Bearer <token>".to_owned(),
        "Authorization: Bearer ${token}".to_owned(),
        "Basic authentication is required".to_owned(),
        "Bearer authentication is required for this resource".to_owned(),
        "postgres://user:${PASSWORD}@host:5432/db".to_owned(),
        "https://user:password@example.com/".to_owned(),
        "mongodb://localhost:27017/orders".to_owned(),
        "enter your password: ".to_owned(),
        "The password must have at least 8 characters".to_owned(),
    ];
    texts.into_iter().for_each(|text| add("example or placeholder", text));
}

fn code(add: &mut impl FnMut(&'static str, String)) {
    let texts = [
        "function(e,t){var n=e.token=t.next(),r=n.value;return r.password=null,r}",
        "const token = parser.nextToken();",
        "if (password === confirmPassword) { submit(); }",
        "this.secret = crypto.randomBytes(32).toString('hex')",
        "var apiKey = options.apiKey || process.env.API_KEY;",
        "let accessToken = await getAccessToken(client);",
        "String password = request.getParameter(\"password\");",
        "public void setPassword(String password) { this.password = password; }",
        "export const TOKEN_TYPE_IDENTIFIER = 'identifier';",
        "!function(t,e){\"object\"==typeof exports?module.exports=e():t.jwt=e()}(this,function(){return 1})",
        "tokenizer=whitespace-tokenizer-v2",
        "sourceMappingURL=main.8f3a9b2c1d4e5f60.js.map",
        "SELECT password FROM users WHERE login = ?",
        "secretName: tls-certificate",
        "authorization: required",
        "Content-Type: multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW",
        "com.shop.security.TokenAuthenticationFilterConfiguration",
        "css-1q2w3e4r5t6y7u8i9o0p-MuiButtonBase-root",
        "M150 0 L75 200 L225 200 Z M10 80 C 40 10, 65 10, 95 80",
        "token_type=bearer&grant_type=client_credentials",
    ];
    texts.into_iter().for_each(|text| add("code", text.to_owned()));
}

/// Values of fields with telling names that are no secrets, and fields whose names only sound telling.
fn fields(random: &mut Random, texts: &mut Vec<Made>) {
    let trivial = [
        ("password", ""),
        ("password", "password"),
        ("password", "********"),
        ("password", "undefined"),
        ("passwd", "null"),
        ("token", "identifier"),
        ("token", "EOF"),
        ("secret", "true"),
        ("authorization", "Bearer"),
        ("apiKey", "YOUR_API_KEY"),
        ("passwordField", "the field below the name of the user"),
        ("tokenizer", "whitespace-tokenizer-v2"),
        ("secretary", "Alexandra Hamilton 2nd"),
        ("passwordPolicy", "min8-max64-mixed1"),
        ("accessTokenUrl", "https://login.internal/oauth2/v2/token"),
        ("tokenType", "urn:ietf:params:oauth:token-type:jwt"),
    ];
    texts.extend(trivial.map(|(field, text)| ("field", field, text.to_owned(), String::new())));
    for _ in 0..6 {
        texts.push(("field", "requestId", random.of(ALPHANUMERIC, 32), String::new()));
        texts.push(("field", "keyboard", random.of(ALPHANUMERIC, 24), String::new()));
    }
}
