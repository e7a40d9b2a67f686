-- Exact duplicates of all runs by fingerprint: what merging them would free
-- $limit integer 20: Rows
SELECT min(class) AS class,
       count(DISTINCT release || '/' || snapshot) AS runs,
       max(members) AS max_members,
       CAST(median(additional_bytes) AS BIGINT) AS median_additional_bytes,
       max(additional_bytes) AS max_additional_bytes,
       min(preview) AS preview,
       fingerprint
FROM duplicate_sets
WHERE status = 'exact'
GROUP BY fingerprint
ORDER BY max_additional_bytes DESC, fingerprint
LIMIT $limit
