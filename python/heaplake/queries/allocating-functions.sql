-- Functions of all runs by the bytes that they allocate themselves
-- $limit integer 20: Rows
SELECT min(function) AS function,
       min(coalesce(original_file, file)) AS file,
       count(DISTINCT release || '/' || snapshot) AS runs,
       CAST(median(exclusive_bytes) AS BIGINT) AS median_exclusive_bytes,
       max(exclusive_bytes) AS max_exclusive_bytes,
       fingerprint
FROM allocation_functions
GROUP BY fingerprint
ORDER BY max_exclusive_bytes DESC, fingerprint
LIMIT $limit
