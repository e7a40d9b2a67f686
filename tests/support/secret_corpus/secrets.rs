//! The planted secrets.

use super::item::{Item, items};
use super::random::{ALPHANUMERIC, BASE64, BASE64_URL, DIGITS, HEX, Random, UPPER, base64, base64_url, iban, luhn};

/// Secrets of each kind.
const EACH: usize = 5;

type Made = (&'static str, &'static str, String, String);

/// The planted secrets: [`EACH`] of each kind.
pub fn secrets() -> Vec<Item> {
    let mut random = Random::new(20_240_501);
    let mut texts = Vec::new();
    for at in 0..EACH {
        clouds(&mut random, at, &mut texts);
        services(&mut random, at, &mut texts);
        transport(&mut random, at, &mut texts);
        people(&mut random, at, &mut texts);
        named(&mut random, at, &mut texts);
    }
    items("Plant", texts)
}

/// A text around a secret, in one of some forms: alone, in JSON, in a URL, in a line of a log, in a setting.
fn around(at: usize, secret: &str) -> String {
    match at % 5 {
        0 => secret.to_owned(),
        1 => format!("{{\"user\":\"alice\",\"credential\":\"{secret}\",\"ttl\":3600}}"),
        2 => format!("https://api.shop.internal/v2/orders?limit=20&key={secret}&sort=asc"),
        3 => format!("2024-05-01 10:11:12 INFO sent with {secret} to upstream"),
        _ => format!("CREDENTIAL={secret}\nREGION=eu-central-1\n"),
    }
}

fn clouds(random: &mut Random, at: usize, texts: &mut Vec<Made>) {
    let mut add = |kind, secret: String| texts.push((kind, "value", around(at, &secret), secret));
    add("aws access key", format!("{}{}", ["AKIA", "ASIA"][at % 2], random.mixed(UPPER, 16)));
    add("google api key", format!("AIza{}", random.mixed(BASE64_URL, 34) + "Q"));
    add("digitalocean", format!("dop_v1_{}", random.mixed(HEX, 64)));
    add("vault", format!("hvs.{}", random.mixed(ALPHANUMERIC, 95)));
    add("google oauth", format!("GOCSPX-{}", random.mixed(ALPHANUMERIC, 28)));
    let key = random.mixed(BASE64, 40);
    texts.push(("aws secret key", "value", format!("aws_secret_access_key = {key}"), key));
    let key = random.mixed(BASE64, 86) + "==";
    let text =
        format!("DefaultEndpointsProtocol=https;AccountName=shop{at};AccountKey={key};EndpointSuffix=core.windows.net");
    texts.push(("azure storage", "value", text, key));
}

fn services(random: &mut Random, at: usize, texts: &mut Vec<Made>) {
    let mut add = |kind, secret: String| texts.push((kind, "value", around(at, &secret), secret));
    add("github", format!("{}{}", ["ghp_", "gho_", "ghs_", "ghu_", "ghr_"][at], random.mixed(ALPHANUMERIC, 36)));
    let (first, second) = (random.mixed(ALPHANUMERIC, 22), random.mixed(ALPHANUMERIC, 59));
    add("github fine-grained", format!("github_pat_{first}_{second}"));
    add("gitlab", format!("glpat-{}", random.mixed(ALPHANUMERIC, 20)));
    let (team, user) = (random.of(DIGITS, 12), random.of(DIGITS, 12));
    let kind = ["xoxb", "xoxp", "xoxa", "xoxs", "xoxr"][at];
    add("slack", format!("{kind}-{team}-{user}-{}", random.mixed(ALPHANUMERIC, 24)));
    let (team, hook) = (random.of(UPPER, 9), random.mixed(ALPHANUMERIC, 24));
    add("slack webhook", format!("https://hooks.slack.com/services/T{team}/B{team}/{hook}"));
    let key = random.mixed(ALPHANUMERIC, 99);
    add("stripe", format!("{}_live_{}", ["sk", "rk"][at % 2], &key[..if at < 3 { 24 } else { 99 }]));
    add("npm", format!("npm_{}", random.mixed(ALPHANUMERIC, 36)));
    add("pypi", format!("pypi-AgEIcHlwaS5vcmc{}", random.mixed(BASE64_URL, 120)));
    add("sendgrid", format!("SG.{}.{}", random.mixed(BASE64_URL, 22), random.mixed(BASE64_URL, 42) + "k"));
    add("openai", format!("sk-proj-{}", random.mixed(ALPHANUMERIC, 48)));
    add("anthropic", format!("sk-ant-api03-{}AA", random.mixed(ALPHANUMERIC, 93)));
    add("shopify", format!("shpat_{}", random.mixed(HEX, 32)));
    add("telegram", format!("{}:AA{}", 1_000_000_000 + random.number(8_999_999_999), random.mixed(ALPHANUMERIC, 33)));
}

fn transport(random: &mut Random, at: usize, texts: &mut Vec<Made>) {
    let mut add = |kind, text: String, secret: String| texts.push((kind, "value", text, secret));
    let (header, payload) =
        (r#"{"alg":"HS256","typ":"JWT"}"#, format!(r#"{{"sub":"{}","iat":1714550000}}"#, random.number(99_999)));
    let parts = [base64_url(header.as_bytes()), base64_url(payload.as_bytes()), random.mixed(BASE64_URL, 43)];
    let token = parts.join(".");
    add("jwt", around(at, &token), token);
    let name = ["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "ENCRYPTED PRIVATE KEY"][at];
    let lines: Vec<String> = (0..6).map(|_| random.mixed(BASE64, 64)).collect();
    let body = lines.join("\n");
    add("private key", format!("-----BEGIN {name}-----\n{body}\n-----END {name}-----\n"), lines[2].clone());
    let scheme = ["postgres", "mysql", "mongodb+srv", "redis", "amqp"][at];
    let password = random.password();
    add("database url", format!("{scheme}://shop:{password}@db{at}.internal:5432/orders?ssl=true"), password);
    let password = random.password();
    add("url password", format!("GET https://deploy:{password}@repo.shop.example/artifacts/app.tgz"), password);
    let password = random.password();
    let jdbc =
        format!("jdbc:sqlserver://db.internal:1433;databaseName=orders;user=sa;password={password};encrypt=true");
    add("jdbc", jdbc, password);
    let token = random.mixed(BASE64_URL, 40);
    add("bearer", format!("Authorization: Bearer {token}"), token);
    let token = base64(format!("deploy:{}", random.password()).as_bytes());
    add("basic", format!("Authorization: Basic {token}"), token);
    let password = random.password();
    let text = match at {
        0 => format!("password={password}"),
        1 => format!("{{\"login\":\"root\",\"password\":\"{password}\"}}"),
        2 => format!("spring.datasource.password: {password}"),
        3 => format!("user=bob&passwd={password}&next=/home"),
        _ => format!("DB_PASSWORD='{password}'"),
    };
    add("password assignment", text, password);
    let secret = random.mixed(ALPHANUMERIC, 32);
    let text = match at {
        0 => format!("api_key={secret}"),
        1 => format!("{{\"clientSecret\":\"{secret}\"}}"),
        2 => format!("X-Api-Key: {secret}"),
        3 => format!("access_token={secret}&expires_in=3600"),
        _ => format!("SESSION_SECRET=\"{secret}\""),
    };
    add("key assignment", text, secret);
}

fn people(random: &mut Random, at: usize, texts: &mut Vec<Made>) {
    let mut add = |kind, secret: String| texts.push((kind, "value", around(at, &secret), secret));
    let (first, last) = (random.word(), random.word());
    let domain = ["gmail.com", "shop.example.org", "web.de", "mail.co.uk", "ulm.museum"][at];
    add("mail", format!("{first}.{last}{}@{domain}", random.number(90) + 10));
    let card = match at {
        0 => luhn(&format!("4{}", random.of(DIGITS, 14))),
        1 => luhn(&format!("53{}", random.of(DIGITS, 13))),
        2 => luhn(&format!("37{}", random.of(DIGITS, 12))),
        3 => luhn(&format!("6011{}", random.of(DIGITS, 11))),
        _ => luhn(&format!("4{}", random.of(DIGITS, 14))),
    };
    let card = match at {
        3 => format!("{} {} {} {}", &card[..4], &card[4..8], &card[8..12], &card[12..]),
        4 => format!("{}-{}-{}-{}", &card[..4], &card[4..8], &card[8..12], &card[12..]),
        _ => card,
    };
    add("card", card);
    let account = random.of(DIGITS, 20);
    let number = match at {
        0 | 1 => iban("DE", &account[..18]),
        2 => iban("GB", &format!("NWBK{}", &account[..14])),
        3 => iban("FR", &format!("{}0{}", &account[..10], &account[..12])),
        _ => iban("CH", &account[..17]),
    };
    let grouped = || {
        let parts: Vec<String> = number.as_bytes().chunks(4).map(|part| String::from_utf8_lossy(part).into()).collect();
        parts.join(" ")
    };
    add("iban", if at == 1 { grouped() } else { number });
}

/// Secrets that only the name of their field gives away.
fn named(random: &mut Random, at: usize, texts: &mut Vec<Made>) {
    let password = random.password();
    let field = ["password", "dbPassword", "passwd", "passphrase", "user_password"][at];
    texts.push(("password field", field, password.clone(), password));
    let token = random.mixed(ALPHANUMERIC, 32);
    let field = ["apiKey", "accessToken", "clientSecret", "authorization", "sessionToken"][at];
    texts.push(("token field", field, token.clone(), token));
}
