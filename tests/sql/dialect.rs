//! The forms that `docs/sql.md` names, and the owners of nodes.

use crate::shared::{fleet, one, rows};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// Forms of the page, each with a statement that uses it and its only value.
fn forms() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("`labels['host']`", "SELECT max(labels['host']) FROM runs", json!("web2")),
        ("`map_keys(labels)`", "SELECT count(*) FROM runs WHERE map_keys(labels) = ['host']", json!(3)),
        ("`map_values(labels)`", "SELECT count(*) FROM runs WHERE map_values(labels) = ['web1']", json!(2)),
        (
            "`class LIKE 'com.acme.%'`",
            "SELECT 'com.acme.Shop' LIKE 'com.acme.%' AND NOT 'com.acm' LIKE 'com.acme.%'",
            json!(true),
        ),
        ("`ILIKE`", "SELECT count(DISTINCT class) FROM classes WHERE class ILIKE 'OBJECT'", json!(1)),
        ("`class ~ '^Map'`", "SELECT count(*) > 0 FROM classes WHERE class ~ '^Map'", json!(true)),
        (
            "`regexp_like(class, '^Map')`",
            "SELECT count(*) > 0 FROM classes WHERE regexp_like(class, '^Map')",
            json!(true),
        ),
        ("`median(x)`", "SELECT median(x) FROM (VALUES (1), (2), (9)) AS of (x)", json!(2.0)),
        (
            "`approx_percentile_cont(0.9) WITHIN GROUP (ORDER BY x)`",
            "SELECT approx_percentile_cont(0.9) WITHIN GROUP (ORDER BY x) FROM (VALUES (1), (2), (9)) AS of (x)",
            json!(9.0),
        ),
        (
            "with `QUALIFY`",
            "SELECT count(*) FROM (SELECT release FROM classes QUALIFY row_number() OVER (PARTITION BY release \
             ORDER BY retained_bytes DESC) <= 3)",
            json!(6),
        ),
        (
            "`captured_at > now() - INTERVAL '7 days'`",
            "SELECT now() > now() - INTERVAL '7 days' AND NOT now() > now() + INTERVAL '7 days'",
            json!(true),
        ),
        (
            "`date_trunc('day', captured_at)`",
            "SELECT date_trunc('day', TIMESTAMP '2026-11-29T13:00:00Z') = TIMESTAMP '2026-11-29T00:00:00Z'",
            json!(true),
        ),
        (
            "`TIMESTAMP '2026-11-29T00:00:00Z'`",
            "SELECT TIMESTAMP '2026-11-29T00:00:00Z' = TIMESTAMP '2026-11-29T01:00:00+01:00'",
            json!(true),
        ),
        (r"`\|\|`", "SELECT 'a' || 'b'", json!("ab")),
        ("`split_part(class, '.', 1)`", "SELECT split_part('com.acme', '.', 1)", json!("com")),
        ("`substr`", "SELECT substr('heap', 2, 2)", json!("ea")),
        ("`replace`", "SELECT replace('heap', 'h', 'l')", json!("leap")),
        ("`lower`", "SELECT lower('Heap')", json!("heap")),
        ("`retained_bytes / 1e6` is a fraction", "SELECT 3 / 2 = 1 AND 3 / 2e0 = 1.5", json!(true)),
        (
            "`GROUPING SETS`",
            "SELECT count(*) FROM (SELECT release, snapshot, count(*) FROM runs GROUP BY GROUPING SETS ((release), (snapshot)))",
            json!(6),
        ),
        ("`ROLLUP`", "SELECT count(*) FROM (SELECT release, count(*) FROM runs GROUP BY ROLLUP (release))", json!(3)),
        ("`FILTER`", "SELECT count(*) FILTER (WHERE release = '1.0') FROM runs", json!(2)),
        ("`HAVING`", "SELECT max(release) FROM runs HAVING count(*) > 3", json!("1.1")),
    ]
}

#[test]
fn every_form_of_the_page_works() {
    let lake = fleet();
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/sql.md")).unwrap();
    for (form, statement, expected) in forms() {
        assert!(page.contains(form), "docs/sql.md lacks {form}");
        assert_eq!(one(&lake, statement), expected, "{statement}");
    }
}

#[test]
fn functions_are_listed() {
    let lake = fleet();
    let listed = rows(&lake, "SHOW FUNCTIONS");
    assert!(listed.iter().any(|row| row["function_name"] == "split_part"), "{} rows", listed.len());
}

#[test]
fn nodes_sum_up_to_their_owners() {
    let lake = fleet();
    let off = "SELECT count(*) FROM (SELECT release, snapshot, owner, sum(shallow_bytes) AS bytes FROM nodes GROUP BY 1, 2, 3) \
               FULL JOIN owners USING (release, snapshot, owner) \
               WHERE coalesce(bytes, 0) <> coalesce(retained_bytes, 0)";
    assert_eq!(one(&lake, off), 0);
    assert_eq!(one(&lake, "SELECT count(DISTINCT package) > 0 FROM nodes"), json!(true));
}
