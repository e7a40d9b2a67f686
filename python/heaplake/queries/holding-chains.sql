-- Reference chains of all runs by the bytes that they retain
-- $limit integer 20: Rows
SELECT min(text) AS chain,
       count(DISTINCT release || '/' || snapshot) AS runs,
       CAST(median(count) AS BIGINT) AS median_count,
       CAST(median(retained_bytes) AS BIGINT) AS median_retained_bytes,
       max(retained_bytes) AS max_retained_bytes,
       fingerprint
FROM chains
WHERE kind = 'reference'
GROUP BY fingerprint
ORDER BY max_retained_bytes DESC, fingerprint
LIMIT $limit
