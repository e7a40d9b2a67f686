-- Releases: runs, sizes of heaps, findings
SELECT release,
       count(*) AS runs,
       CAST(median(shallow_bytes) AS BIGINT) AS median_heap_bytes,
       max(shallow_bytes) AS max_heap_bytes,
       sum(high_findings) AS high_findings,
       sum(medium_findings) AS medium_findings,
       min(captured_at) AS first_seen,
       max(captured_at) AS last_seen
FROM runs
GROUP BY release
ORDER BY first_seen NULLS LAST, release
