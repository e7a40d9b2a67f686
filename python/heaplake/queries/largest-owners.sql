-- Owners (packages, scripts, teams) by the bytes that they retain over all runs
-- $limit integer 20: Rows
SELECT owner,
       count(DISTINCT release || '/' || snapshot) AS runs,
       CAST(median(retained_bytes) AS BIGINT) AS median_retained_bytes,
       max(retained_bytes) AS max_retained_bytes,
       max(freed_bytes) AS max_freed_bytes
FROM owners
GROUP BY owner
ORDER BY max_retained_bytes DESC, owner
LIMIT $limit
