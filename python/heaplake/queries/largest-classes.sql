-- Classes by the largest retained size that they have in any run
-- $limit integer 20: Rows
SELECT min(class) AS class,
       count(DISTINCT release || '/' || snapshot) AS runs,
       CAST(median(count) AS BIGINT) AS median_count,
       CAST(median(retained_bytes) AS BIGINT) AS median_retained_bytes,
       max(retained_bytes) AS max_retained_bytes,
       first_value(release || '/' || snapshot ORDER BY retained_bytes DESC, release, snapshot) AS worst_run,
       fingerprint
FROM classes
GROUP BY fingerprint
ORDER BY max_retained_bytes DESC, fingerprint
LIMIT $limit
