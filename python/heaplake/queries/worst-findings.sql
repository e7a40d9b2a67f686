-- Findings of all runs by fingerprint: how many runs and hosts have them, and the worst run
-- $label text host: Label that tells hosts apart
-- $severity text high: Severity: high, medium or low
-- $limit integer 20: Rows
SELECT rule,
       min(subject) AS subject,
       count(DISTINCT release || '/' || snapshot) AS runs,
       count(DISTINCT map_extract(labels, $label)[1]) AS hosts,
       CAST(median(bytes) AS BIGINT) AS median_bytes,
       max(bytes) AS max_bytes,
       first_value(release || '/' || snapshot ORDER BY bytes DESC, release, snapshot) AS worst_run,
       min(captured_at) AS first_seen,
       max(captured_at) AS last_seen,
       fingerprint
FROM findings
WHERE severity = $severity
GROUP BY fingerprint, rule
ORDER BY runs DESC, max_bytes DESC NULLS LAST, fingerprint
LIMIT $limit
